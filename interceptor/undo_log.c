/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log - see undo_log.h.
 */
#include "interceptor/undo_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/journal.h"
#include "interceptor/step.h"
#include "interceptor/sys.h"

#define HISTORY     "history.jsonl"
#define IN_PROGRESS "in_progress"
#define TRASH       "trash"

enum { DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW };

struct alias {
    uint64_t to;
    int64_t seq, at;
};

struct undo_log {
    int dir, wal, steps, lock;
    dev_t dev;
    struct journal *history;
    GArray *entries;     /* of undo_log_entry, by seq */
    GHashTable *aliases; /* owned uint64_t from -> GArray of alias */
    int64_t last_id, least_id, last_seq;
};

struct id_text {
    char text[24];
};

static struct id_text id_text(int64_t id)
{
    struct id_text name;

    snprintf(name.text, sizeof(name.text), "%" PRId64, id);
    return name;
}

/* ---- entries ------------------------------------------------------------- */

static void note_used(struct undo_log *log, int64_t id, int64_t seq)
{
    log->last_id = MAX(log->last_id, id);
    log->least_id = MIN(log->least_id, id);
    log->last_seq = MAX(log->last_seq, seq);
}

static int compare_seq(gconstpointer a, gconstpointer b)
{
    const struct undo_log_entry *x = a, *y = b;

    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void entries_remove(struct undo_log *log, int64_t id)
{
    for (guint i = 0; i < log->entries->len; i++) {
        if (g_array_index(log->entries, struct undo_log_entry, i).id == id) {
            g_array_remove_index(log->entries, i);
            return;
        }
    }
}

const struct undo_log_entry *undo_log_entries(struct undo_log *log,
                                              size_t *ret_count)
{
    *ret_count = log->entries->len;
    return (const struct undo_log_entry *)(void *)log->entries->data;
}

bool undo_log_has(struct undo_log *log, int64_t id)
{
    for (guint i = 0; i < log->entries->len; i++) {
        if (g_array_index(log->entries, struct undo_log_entry, i).id == id)
            return true;
    }
    return false;
}

int64_t undo_log_last_id(struct undo_log *log)
{
    return log->last_id;
}

int64_t undo_log_least_id(struct undo_log *log)
{
    return log->least_id;
}

int64_t undo_log_next_seq(struct undo_log *log)
{
    return ++log->last_seq;
}

dev_t undo_log_dev(struct undo_log *log)
{
    return log->dev;
}

/* ---- history ------------------------------------------------------------- */

static void note_alias(struct undo_log *log, uint64_t from,
                       const struct alias *alias)
{
    GArray *list = g_hash_table_lookup(log->aliases, &from);

    if (!list) {
        list = g_array_new(FALSE, FALSE, sizeof(struct alias));
        g_hash_table_insert(log->aliases, g_memdup2(&from, sizeof(from)), list);
    }
    g_array_append_vals(list, alias, 1);
}

static int read_history_record(json_t *record, void *opaque)
{
    struct undo_log *log = opaque;
    const char *type = json_string_value(json_object_get(record, "t"));
    int64_t seq = json_integer_value(json_object_get(record, "seq"));

    if (g_strcmp0(type, "alias") == 0) {
        struct alias alias = {
            .to = (uint64_t)json_integer_value(json_object_get(record, "to")),
            .seq = seq,
            .at = json_integer_value(json_object_get(record, "at")),
        };

        note_alias(
            log, (uint64_t)json_integer_value(json_object_get(record, "from")),
            &alias);
    } else {
        int64_t id = json_integer_value(json_object_get(record, "id"));

        if (id >= -STEP_MAX_NUMBER && id <= STEP_MAX_NUMBER && seq >= 0 &&
            seq <= STEP_MAX_NUMBER)
            note_used(log, id, seq);
    }
    return 0;
}

static int append_history(struct undo_log *log, const char *type, int64_t id,
                          int64_t seq)
{
    return journal_append(log->history,
                          json_pack("{s:s, s:I, s:I}", "t", type, "id",
                                    (json_int_t)id, "seq", (json_int_t)seq));
}

int undo_log_add_alias(struct undo_log *log, uint64_t from, uint64_t to,
                       int64_t seq)
{
    struct alias alias = { to, seq, log->last_seq };
    int rc = journal_append(log->history,
                            json_pack("{s:s, s:I, s:I, s:I, s:I}", "t", "alias",
                                      "from", (json_int_t)from, "to",
                                      (json_int_t)to, "seq", (json_int_t)seq,
                                      "at", (json_int_t)alias.at));

    if (rc == 0)
        note_alias(log, from, &alias);
    return rc;
}

/* The first loss of this number after step seq; of an interrupted rollback
 * that was run again, the last. */
static const struct alias *next_alias(struct undo_log *log, uint64_t ino,
                                      int64_t seq)
{
    GArray *list = g_hash_table_lookup(log->aliases, &ino);
    const struct alias *found = NULL;

    for (guint i = 0; list && i < list->len; i++) {
        const struct alias *alias = &g_array_index(list, struct alias, i);

        if (alias->seq > seq && (!found || alias->seq <= found->seq))
            found = alias;
    }
    return found;
}

uint64_t undo_log_alias(uint64_t ino, int64_t seq, void *opaque)
{
    struct undo_log *log = opaque;
    const struct alias *alias;

    while ((alias = next_alias(log, ino, seq))) {
        ino = alias->to;
        seq = MAX(alias->at, alias->seq); /* rises: the loop ends */
    }
    return ino;
}

/* ---- opening ------------------------------------------------------------- */

static bool fail(GError **error, int code, const char *path, int rc,
                 const char *what)
{
    g_set_error(error, STEPBACK_ERROR, code, "%s: %s: %s", path, what,
                g_strerror(-rc));
    return false;
}

static int open_subdir(int dirfd, const char *name)
{
    int rc = sys_mkdirat(dirfd, name, 0700);

    if (rc < 0 && rc != -EEXIST)
        return rc;
    return sys_openat(dirfd, name, DIR_FLAGS, 0);
}

static bool take_lock(struct undo_log *log, const char *path,
                      const char *socket, GError **error)
{
    g_autofree char *owner = NULL;
    json_t *note;
    char *text;
    int rc;

    log->lock = sys_openat(log->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW,
                           0600);
    if (log->lock < 0)
        return fail(error, ERROR_IO_ERROR, path, log->lock, "lock");
    if (flock(log->lock, LOCK_EX | LOCK_NB) < 0) {
        fd_read_file(log->dir, "lock", 65536, &owner, NULL);
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "%s: this undo log is in use by another process: %s", path,
                    owner ? g_strchomp(owner) : "?");
        return false;
    }
    note = json_pack("{s:i, s:s*}", "pid", (int)getpid(), "socket", socket);
    text = json_dumps(note, JSON_COMPACT);
    rc = sys_ftruncate(log->lock, 0);
    if (rc == 0 && text)
        rc = sys_pwrite_all(log->lock, text, strlen(text), 0);
    free(text);
    json_decref(note);
    return rc == 0 || fail(error, ERROR_IO_ERROR, path, rc, "lock");
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
        int fd = sys_openat(log->dir, "version.tmp",
                            O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);

        rc = fd < 0 ? fd : sys_write_all(fd, wanted, strlen(wanted));
        fd_close(&fd);
        if (rc == 0)
            rc = sys_renameat2(log->dir, "version.tmp", log->dir, "version", 0);
        return rc == 0 || fail(error, ERROR_IO_ERROR, path, rc, "version");
    }
    if (rc < 0 && rc != -EFBIG)
        return fail(error, ERROR_IO_ERROR, path, rc, "version");
    g_set_error(error, STEPBACK_ERROR, ERROR_UNDO_VERSION_MISMATCH,
                "%s: this undo log has the format '%s', this program knows %d; "
                "use the program that wrote it, or move the folder away",
                path, found ? g_strchomp(found) : "?", UNDO_LOG_FORMAT);
    return false;
}

/* The seq of a step, from the first line of its manifest. */
static int read_seq(struct undo_log *log, int64_t id, int64_t *ret_seq)
{
    fd_auto int dir = undo_log_open_step(log, id);
    struct step *step;
    int rc = dir < 0 ? dir : step_load_summary(dir, &step);

    if (rc == 0) {
        *ret_seq = step->seq;
        step_free(step);
    }
    return rc;
}

static int find_steps(struct undo_log *log)
{
    int fd = sys_openat(log->steps, ".", DIR_FLAGS, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!dir)
        return fd < 0 ? fd : -errno;
    while ((entry = readdir(dir))) {
        struct undo_log_entry found;
        char *end;
        int rc;

        if (entry->d_name[0] == '.')
            continue;
        found.id = strtoll(entry->d_name, &end, 10);
        rc = *end == '\0' ? read_seq(log, found.id, &found.seq) : -EBADMSG;
        if (rc < 0) {
            log_warn(LOG_UNDO, "steps/%s in the undo log is not readable: %s",
                     entry->d_name, g_strerror(-rc));
            continue;
        }
        g_array_append_val(log->entries, found);
        note_used(log, found.id, found.seq);
    }
    closedir(dir);
    g_array_sort(log->entries, compare_seq);
    return 0;
}

/* What cannot be removed now can be another time; nothing depends on it. */
static void empty_trash(struct undo_log *log)
{
    int fd = sys_openat(log->wal, TRASH, DIR_FLAGS, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        int rc = entry->d_name[0] == '.' ? 0
                                         : sys_remove_tree(fd, entry->d_name);

        if (rc < 0)
            log_warn(LOG_UNDO, "removing old parts of the undo log: %s",
                     g_strerror(-rc));
    }
    if (dir)
        closedir(dir);
}

static bool open_parts(struct undo_log *log, const char *path, GError **error)
{
    bool damaged = false;
    struct stat st;
    int rc;

    log->wal = open_subdir(log->dir, "wal");
    if (log->wal < 0)
        return fail(error, ERROR_IO_ERROR, path, log->wal, "wal");
    log->steps = open_subdir(log->dir, "steps");
    if (log->steps < 0)
        return fail(error, ERROR_IO_ERROR, path, log->steps, "steps");
    rc = journal_open(log->dir, HISTORY, &log->history);
    if (rc == 0)
        rc = journal_read(log->dir, HISTORY, read_history_record, log,
                          &damaged);
    if (rc == 0)
        rc = find_steps(log);
    if (rc == 0)
        rc = sys_stat_fd(log->dir, &st);
    if (rc < 0)
        return fail(error, ERROR_IO_ERROR, path, rc, "undo log");
    log->dev = st.st_dev;
    empty_trash(log);
    if (damaged)
        log_warn(LOG_UNDO, "%s/" HISTORY " has damaged lines", path);
    return true;
}

struct undo_log *undo_log_open(const char *path, const char *socket,
                               GError **error)
{
    struct undo_log *log = g_new0(struct undo_log, 1);

    log->wal = log->steps = log->lock = -1;
    log->entries = g_array_new(FALSE, FALSE, sizeof(struct undo_log_entry));
    log->aliases = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                         (GDestroyNotify)g_array_unref);
    log->dir = sys_make_path(path, 0700);
    if (log->dir == 0)
        log->dir = sys_openat(AT_FDCWD, path, DIR_FLAGS, 0);
    if (log->dir < 0) {
        fail(error, ERROR_INVALID_DIRECTORY, path, log->dir,
             "cannot make the undo log's folder");
    } else if (take_lock(log, path, socket, error) &&
               check_version(log, path, error) &&
               open_parts(log, path, error)) {
        return log;
    }
    undo_log_close(log);
    return NULL;
}

void undo_log_close(struct undo_log *log)
{
    if (!log)
        return;
    journal_close(log->history);
    g_array_unref(log->entries);
    g_hash_table_unref(log->aliases);
    fd_close(&log->steps);
    fd_close(&log->wal);
    fd_close(&log->dir);
    fd_close(&log->lock); /* last: the lock ends here */
    g_free(log);
}

/* ---- reserve ------------------------------------------------------------- */

enum { RESERVE_BYTES = 1 << 20 };

void undo_log_release_reserve(struct undo_log *log)
{
    sys_unlinkat(log->dir, "reserve", 0);
}

void undo_log_take_reserve(struct undo_log *log)
{
    fd_auto int fd = sys_openat(log->dir, "reserve",
                                O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);

    /* Without it a rollback may want for room, no more. */
    if (fd >= 0)
        sys_fallocate(fd, 0, 0, RESERVE_BYTES);
}

/* ---- steps --------------------------------------------------------------- */

int undo_log_open_wal(struct undo_log *log)
{
    return sys_openat(log->wal, IN_PROGRESS, DIR_FLAGS, 0);
}

int undo_log_create_wal(struct undo_log *log, int *ret_dirfd)
{
    fd_auto int dir = -1;
    int rc = sys_mkdirat(log->wal, IN_PROGRESS, 0700);

    if (rc < 0)
        return rc;
    dir = undo_log_open_wal(log);
    if (dir < 0)
        return dir;
    rc = sys_mkdirat(dir, STEP_BLOBS, 0700);
    if (rc < 0)
        return rc;
    *ret_dirfd = fd_steal(&dir);
    return 0;
}

int undo_log_commit(struct undo_log *log, int64_t id, int64_t seq)
{
    struct undo_log_entry entry = { id, seq };
    int rc = sys_renameat2(log->wal, IN_PROGRESS, log->steps, id_text(id).text,
                           RENAME_NOREPLACE);

    if (rc < 0)
        return rc;
    g_array_append_val(log->entries, entry);
    note_used(log, id, seq);
    /* The step is committed by the rename; the note only saves its id from
     * being used again after the step is gone. */
    rc = append_history(log, "done", id, seq);
    if (rc < 0)
        log_warn(LOG_UNDO, "history of the undo log: %s", g_strerror(-rc));
    return 0;
}

int undo_log_open_step(struct undo_log *log, int64_t id)
{
    return sys_openat(log->steps, id_text(id).text, DIR_FLAGS, 0);
}

int undo_log_reopen(struct undo_log *log, int64_t id)
{
    int rc = sys_rename_noreplace(log->steps, id_text(id).text, log->wal,
                                  IN_PROGRESS);

    if (rc == 0)
        entries_remove(log, id);
    return rc;
}

/* A fresh name in wal/trash for what is in wal/in_progress. */
static int move_to_trash(struct undo_log *log)
{
    fd_auto int trash = open_subdir(log->wal, TRASH);
    int rc = trash < 0 ? trash : -EEXIST;

    for (int64_t i = 0; rc == -EEXIST && i < INT16_MAX; i++)
        rc = sys_rename_noreplace(log->wal, IN_PROGRESS, trash,
                                  id_text(i).text);
    return rc;
}

int undo_log_discard_wal(struct undo_log *log, int64_t id, int64_t seq,
                         bool popped)
{
    int rc = append_history(log, popped ? "popped" : "done", id, seq);

    note_used(log, id, seq);
    if (rc == 0)
        rc = move_to_trash(log);
    if (rc < 0)
        return rc;
    empty_trash(log);
    return 0;
}
