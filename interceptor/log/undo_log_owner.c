/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_owner - see undo_log_owner.h.
 */
#include "interceptor/log/undo_log_owner.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/sys/sys.h"

enum { MAX_LOCK_FILE = 64 << 10 };

static json_t *read_note(struct undo_log *log)
{
    g_autofree char *text = NULL;
    size_t len;

    if (fd_read_file(log->dir, "lock", MAX_LOCK_FILE, &text, &len) < 0)
        return NULL;
    return json_loadb(text, len, JSON_DISABLE_EOF_CHECK, NULL);
}

int64_t undo_log_read_owner(struct undo_log *log, const char *key)
{
    json_t *note = read_note(log);
    int64_t value = json_integer_value(json_object_get(note, key));

    json_decref(note);
    return value;
}

bool undo_log_owner_serves(struct undo_log *log)
{
    json_t *note = read_note(log);
    json_int_t pid = json_integer_value(json_object_get(note, "pid"));
    bool serves = json_object_get(note, "socket") && pid > 0 &&
                  (kill((pid_t)pid, 0) == 0 || errno == EPERM);

    json_decref(note);
    return serves;
}

void undo_log_note_owner_gone(struct undo_log *log)
{
    /* Slack for a delayed beat on a busy machine. */
    enum { HELD_UP_MS = 1000, MAX_BEAT_MS = 3600 * 1000 };
    int64_t beat_ms = undo_log_read_owner(log, "beat_ms");
    int64_t alive_us = undo_log_read_owner(log, "alive_us");
    struct stat st;

    log->owner_gone = log->owner_seen = INT64_MAX;
    log->owner_beat = log->noted_beat = beat_ms;
    if (beat_ms > 0 && beat_ms <= MAX_BEAT_MS &&
        sys_stat_fd(log->lock, &st) == 0)
        log->owner_seen = alive_us > 0 ? alive_us : sys_time_us(&st.st_mtim);
    if (log->owner_seen < INT64_MAX)
        log->owner_gone = log->owner_seen + (2 * beat_ms + HELD_UP_MS) * 1000;
}

/* A failure is not fatal: the note helps clients find the owner, but a full
 * disk must not prevent a rollback. */
void undo_log_note_owner(struct undo_log *log, int64_t beat_ms,
                         int64_t alive_us)
{
    json_t *note = json_pack("{s:i, s:s*, s:I}", "pid", (int)getpid(), "socket",
                             log->socket, "beat_ms", (json_int_t)beat_ms);
    char *text = NULL;
    int rc = -ENOMEM;

    if (alive_us)
        json_object_set_new(note, "alive_us", json_integer(alive_us));
    text = json_dumps(note, JSON_COMPACT);
    /* A kill between the two calls leaves the end of the old note after the new
     * one. */
    if (text)
        rc = sys_pwrite_all(log->lock, text, strlen(text), 0);
    if (rc == 0)
        rc = sys_ftruncate(log->lock, (off_t)strlen(text));
    free(text);
    json_decref(note);
    log->noted_beat = rc == 0 && !alive_us ? beat_ms : -1;
    if (rc < 0)
        log_warn(LOG_UNDO, "undo log: cannot record its owner: %s",
                 g_strerror(-rc));
}

void undo_log_note_heir(struct undo_log *log)
{
    bool known = log->owner_seen < INT64_MAX;

    undo_log_note_owner(log, log->owner_beat, known ? log->owner_seen : 0);
}

void undo_log_take_over(struct undo_log *log, unsigned beat_ms)
{
    log->beat_ms = beat_ms;
    undo_log_note_owner(log, beat_ms, 0);
    log->owner_gone = INT64_MAX;
}

void undo_log_beat(struct undo_log *log)
{
    /* Until a former owner's step is finished, the mtime is that owner's. */
    if (log->owner_gone == INT64_MAX)
        sys_touch_fd(log->lock);
}

int64_t undo_log_owner_gone(const struct undo_log *log)
{
    return log->owner_gone;
}

int64_t undo_log_owner_doubt(const struct undo_log *log)
{
    /* Slack for the watcher's report of an edit. */
    enum { BEFORE_US = 2000000 };

    return log->owner_gone == INT64_MAX ? INT64_MAX
                                        : log->owner_seen - BEFORE_US;
}

static void begin(struct undo_log *log, int64_t beat_ms)
{
    if (log->noted_beat != beat_ms)
        undo_log_note_owner(log, beat_ms, 0);
    log->owner_gone = INT64_MAX;
    undo_log_beat(log);
}

void undo_log_begin_ownership(struct undo_log *log)
{
    begin(log, log->beat_ms);
}

void undo_log_begin_rollback(struct undo_log *log)
{
    begin(log, log->beat_ms ? log->beat_ms : UNDO_LOG_BEAT_MS);
}

void undo_log_inherit(struct undo_log *log)
{
    if (log->owner_gone == INT64_MAX)
        undo_log_begin_rollback(log);
}
