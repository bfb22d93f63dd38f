/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_open - open and close a log (undo_log.h).
 */

#include "interceptor/log/undo_log_open.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/ctime_ledger.h"
#include "interceptor/log/step.h"
#include "interceptor/log/undo_log_history.h"
#include "interceptor/log/undo_log_names.h"
#include "interceptor/log/undo_log_origin.h"
#include "interceptor/log/undo_log_owner.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/log/undo_log_redo.h"
#include "interceptor/log/undo_log_steps.h"
#include "interceptor/log/undo_log_trash.h"
#include "interceptor/sys/project.h"
#include "interceptor/sys/sys.h"

static bool fail(GError **error, int code, const char *path, int rc,
                 const char *what)
{
    g_set_error(error, STEPBACK_ERROR, code, "%s: %s: %s", path, what,
                g_strerror(-rc));
    return false;
}

/* Wait while the lock may become free, or its owner ready to be asked. */
static bool wait_for_lock(struct undo_log *log)
{
    enum { WAIT_MS = 2000, PAUSE_MS = 5 };

    for (int waited = 0; flock(log->lock, LOCK_EX | LOCK_NB) < 0;
         waited += PAUSE_MS) {
        if (errno != EWOULDBLOCK || waited >= WAIT_MS ||
            undo_log_owner_serves(log))
            return false;
        g_usleep(PAUSE_MS * 1000);
    }
    return true;
}

static bool take_lock(struct undo_log *log, const char *path, GError **error)
{
    log->lock = sys_openat(log->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW,
                           0600);
    if (log->lock < 0)
        return fail(error, ERROR_IO_ERROR, path, log->lock, "lock");
    if (!wait_for_lock(log)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "the undo log %s is in use by process %d; wait for its end",
                    path, (int)undo_log_read_owner(log, "pid"));
        return false;
    }
    undo_log_note_owner_gone(log);
    return true;
}

int undo_log_write_version(struct undo_log *log)
{
    g_autofree char *text = g_strdup_printf("%d\n", UNDO_LOG_FORMAT);

    return undo_log_write_text(log, "version", text);
}

static bool check_version(struct undo_log *log, const char *path,
                          GError **error)
{
    g_autofree char *found = NULL;
    g_autofree char *wanted = g_strdup_printf("%d\n", UNDO_LOG_FORMAT);
    int rc = fd_read_file(log->dir, "version", 64, &found, NULL);

    if (rc == 0 && strcmp(found, wanted) == 0)
        return true;
    if (rc == -ENOENT) {
        rc = undo_log_write_version(log);
        return rc == 0 || fail(error, ERROR_IO_ERROR, path, rc, "version");
    }
    if (rc < 0 && rc != -EFBIG)
        return fail(error, ERROR_IO_ERROR, path, rc, "version");
    log->other_version = found ? g_utf8_make_valid(g_strstrip(found), -1)
                               : g_strdup("?");
    return true;
}

/* A folder with other files does not become a log. */
static bool check_new(struct undo_log *log, const char *path, GError **error)
{
    struct stat st;
    int rc = sys_stat_name(log->dir, "version", &st);

    if (rc == -ENOENT)
        rc = undo_log_check_names(log);
    if (rc == 0)
        return true;
    if (rc != -EEXIST)
        return fail(error, ERROR_IO_ERROR, path, rc, "undo log");
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "%s: contains files that belong to no undo log; choose a "
                "folder that is empty or does not exist",
                path);
    return false;
}

const char *undo_log_other_version(const struct undo_log *log)
{
    return log->other_version;
}

/* Fill the entry from the first and the last line of a step's manifest. */
static int read_entry(struct undo_log *log, struct undo_log_entry *entry)
{
    fd_auto int dir = undo_log_open_step(log, entry->id);
    g_autoptr(step_auto) step = NULL;
    int rc = dir < 0 ? dir : step_load_summary(dir, &step);

    if (rc < 0)
        return rc;
    if (step->id != entry->id)
        return -EBADMSG;
    entry->seq = step->seq;
    entry->unprotected = step->unprotected;
    entry->unchanged = step_is_unchanged(step);
    entry->moved = json_integer_value(json_object_get(step->end, "moved"));
    entry->moved = CLAMP(entry->moved, 0, STEP_MAX_NUMBER);
    /* The missing end may have followed more lines. */
    return step->end ? 0 : -ENODATA;
}

/* A step with an unreadable record keeps its place: undo must not skip it for
 * older ones. The history usually has its seq; else it counts as the newest. */
static void take_damaged(struct undo_log *log, struct undo_log_entry *entry)
{
    const int64_t *seq = g_hash_table_lookup(log->seqs, &entry->id);

    entry->damaged = true;
    entry->seq = seq && *seq > 0 && *seq <= STEP_MAX_NUMBER
                     ? *seq
                     : undo_log_next_seq(log);
}

bool undo_log_is_damage(int rc)
{
    return rc == -EBADMSG || rc == -ENODATA || rc == -ENOENT ||
           rc == -ENOTDIR || rc == -ELOOP || rc == -EFBIG;
}

static int take_step(int fd, const struct dirent *entry, void *opaque)
{
    struct undo_log *log = opaque;
    const char *name = entry->d_name;
    struct undo_log_entry found = { .id = g_ascii_strtoll(name, NULL, 10) };
    int rc;

    if (name[0] == '.')
        return 0;
    if (strcmp(undo_log_name(found.id).text, name) != 0 ||
        found.id < -STEP_MAX_NUMBER || found.id > STEP_MAX_NUMBER) {
        log_warn(LOG_UNDO, "undo log: unexpected entry steps/%s; ignored",
                 name);
        return 0;
    }
    rc = read_entry(log, &found);
    /* Not damage, only a failure to read: a later start may succeed. */
    if (rc < 0 && !undo_log_is_damage(rc))
        return rc;
    if (rc < 0) {
        log_warn(LOG_UNDO, "undo log: cannot read steps/%s: %s", name,
                 g_strerror(-rc));
        take_damaged(log, &found);
    }
    g_array_append_val(log->entries, found);
    undo_log_use(log, found.id, found.seq);
    return 0;
}

static int find_steps(struct undo_log *log)
{
    int rc = sys_dir_each(log->steps, ".", take_step, log);

    if (rc < 0)
        return rc;
    undo_log_sort(log);
    for (guint i = 0; i < log->entries->len; i++)
        undo_log_measure(log, i);
    return 0;
}

int undo_log_open_parts(struct undo_log *log, bool *ret_damaged)
{
    struct stat st;
    int rc;

    log->wal = undo_log_open_subdir(log->dir, "wal");
    if (log->wal < 0)
        return log->wal;
    log->steps = undo_log_open_subdir(log->dir, "steps");
    if (log->steps < 0)
        return log->steps;
    log->ledger = ctime_ledger_new(log->dir);
    rc = undo_log_open_history(log, ret_damaged);
    if (rc == 0)
        rc = find_steps(log);
    if (rc == 0)
        rc = undo_log_find_redos(log);
    if (rc == 0)
        rc = sys_stat_fd(log->dir, &st);
    if (rc < 0)
        return rc;
    log->dev = st.st_dev;
    undo_log_drop_links(log);
    return undo_log_trash_discarded(log);
}

void undo_log_close_parts(struct undo_log *log)
{
    undo_log_close_history(log);
    g_clear_pointer(&log->ledger, ctime_ledger_free);
    g_array_set_size(log->entries, 0);
    g_array_set_size(log->redos, 0);
    fd_close(&log->steps);
    fd_close(&log->wal);
}

static bool open_parts(struct undo_log *log, const char *path, GError **error)
{
    bool damaged = false;
    int rc = log->other_version ? 0 : undo_log_open_parts(log, &damaged);

    if (rc < 0)
        return fail(error, ERROR_IO_ERROR, path, rc, "undo log");
    if (damaged)
        log_warn(LOG_UNDO, "%s: the history has damaged lines", path);
    return true;
}

static bool has_unfinished(struct undo_log *log)
{
    struct stat st;

    return sys_stat_name(log->wal, "in_progress", &st) == 0;
}

/* Make the log's folder if it is missing, and open it. */
static int open_dir(const char *path, GError **error)
{
    int rc = sys_make_path(path, 0700);

    if (rc < 0) {
        fail(error, ERROR_INVALID_DIRECTORY, path, rc,
             "cannot make the undo log's folder");
        return rc;
    }
    rc = sys_openat(AT_FDCWD, path, UNDO_LOG_DIR_FLAGS, 0);
    if (rc < 0)
        fail(
            error, ERROR_INVALID_DIRECTORY, path, rc,
            rc == -EACCES
                ? "cannot open the undo log's folder, which only its owner can "
                  "open (run as that user, or use --undo-dir for another log)"
                : "cannot open the undo log's folder");
    return rc;
}

struct undo_log *undo_log_open(const char *path, const char *socket, bool look,
                               GError **error)
{
    struct undo_log *log = g_new0(struct undo_log, 1);

    log->wal = log->steps = log->lock = -1;
    log->socket = g_strdup(socket);
    log->trash = undo_log_trash_new();
    log->entries = g_array_new(FALSE, FALSE, sizeof(struct undo_log_entry));
    log->redos = g_array_new(FALSE, FALSE, sizeof(int64_t));
    log->dir = open_dir(path, error);
    if (log->dir < 0) {
        undo_log_close(log);
        return NULL;
    }
    project_stop(log->dir); /* new entries must not inherit a project either */
    if (look)
        undo_log_mark_empty(log->dir);
    if (check_new(log, path, error) &&
        (look || undo_log_check_origin(log->dir, path, error)) &&
        take_lock(log, path, error) && check_version(log, path, error) &&
        open_parts(log, path, error)) {
        ic_hide_undo_dir(path);
        if (!has_unfinished(log))
            undo_log_note_owner(log, 0, 0);
        else if (!look)
            undo_log_note_heir(log);
        return log;
    }
    undo_log_close(log);
    return NULL;
}

void undo_log_close(struct undo_log *log)
{
    if (!log)
        return;
    undo_log_trash_free(log->trash);
    undo_log_close_parts(log);
    g_array_unref(log->entries);
    g_array_unref(log->redos);
    g_free(log->other_version);
    g_free(log->socket);
    fd_close(&log->dir);
    fd_close(&log->lock); /* last: this releases the lock */
    g_free(log);
}
