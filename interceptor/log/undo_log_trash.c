/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_trash - removal of old data, and the reserve (undo_log.h).
 *
 * A step may hold a million files, and the caller that drops it holds the
 * engine's locks. So a drop removes at most NAMES_AT_ONCE names and
 * BYTES_AT_ONCE bytes at once; a thread, started at first use, does the rest.
 * The next start removes what the thread could not remove or had not removed at
 * close; nothing depends on it.
 */

#include "interceptor/log/undo_log_trash.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/ctime_ledger.h"
#include "interceptor/log/step.h"
#include "interceptor/log/undo_log_names.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/sys.h"
#include "interceptor/sys/thread.h"
#include "interceptor/sys/tree_walk.h"

#define TRASH "trash"

enum {
    NAMES_AT_ONCE = 256,
    BYTES_AT_ONCE = 64 << 20,
};

struct trash {
    int (*forget)(int blobs, uint64_t ino, void *opaque);
    void *opaque;
    int64_t next_name; /* under the engine's locks, like the log */

    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    pthread_t thread;
    bool started, stop, work, busy;

    _Atomic int64_t bytes; /* waiting to be removed, approximately */
    atomic_bool cancel;    /* tells the thread to stop removing */
};

/* The amount that may be removed now; NULL: all. */
struct budget {
    int64_t names, bytes;
};

/* ---- removing ------------------------------------------------------------ */

static bool spend(struct budget *budget, int dirfd, const char *name)
{
    struct stat st;

    if (!budget)
        return true;
    if (budget->names <= 0 || budget->bytes <= 0)
        return false;
    budget->names--;
    if (sys_stat_name(dirfd, name, &st) == 0)
        budget->bytes -= st.st_blocks * 512;
    return true;
}

/* Return whether open failed because the folder is missing or not a folder. */
static bool is_absent(int fd)
{
    return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP;
}

static void warn_left(int rc)
{
    log_warn(
        LOG_UNDO,
        "undo log: cannot remove old parts: %s; the next start tries again",
        g_strerror(-rc));
}

struct removal {
    struct trash *trash;
    struct budget *budget;
};

/* Returns 1 if the budget is spent or the log is being closed. */
static int remove_blob(int fd, const struct dirent *entry, void *opaque)
{
    const struct removal *removal = opaque;
    struct trash *trash = removal->trash;
    const char *name = entry->d_name;
    int rc = 0;

    if (name[0] == '.')
        return 0;
    if (atomic_load(&trash->cancel) || !spend(removal->budget, fd, name))
        return 1;
    if (name[0] == 'i' && trash->forget)
        rc = trash->forget(fd, strtoull(name + 1, NULL, 10), trash->opaque);
    return rc < 0 ? rc : sys_remove_tree(fd, name);
}

static int remove_folder(int fd, const struct dirent *entry, void *opaque)
{
    struct removal *removal = opaque;
    const char *name = entry->d_name;
    fd_auto int folder = -1;
    struct stat st;
    int blobs, rc;

    if (name[0] == '.')
        return 0;
    folder = sys_openat(fd, name, UNDO_LOG_DIR_FLAGS, 0);
    blobs = folder < 0 ? folder
                       : sys_openat(folder, STEP_BLOBS, UNDO_LOG_DIR_FLAGS, 0);
    rc = is_absent(blobs) ? 0 : sys_dir_each_fd(blobs, remove_blob, removal);
    /* A whole discarded log has an unknown size: leave it to the thread. */
    if (rc == 0 && removal->budget && folder >= 0 &&
        sys_stat_name(folder, "steps", &st) == 0)
        return 1;
    /* Not before all links are forgotten: another file may get the number. */
    if (rc == 0)
        rc = sys_remove_tree(fd, name);
    if (rc < 0)
        warn_left(rc);
    return rc > 0;
}

/* Return 1 if something is left to remove. */
static int remove_all(struct undo_log *log, struct budget *budget)
{
    struct removal removal = { log->trash, budget };
    int rc = sys_dir_each(log->wal, TRASH, remove_folder, &removal);

    if (rc < 0 && !is_absent(rc))
        warn_left(rc);
    return rc == 1;
}

/* ---- the thread ---------------------------------------------------------- */

static void *run_thread(void *data)
{
    struct undo_log *log = data;
    struct trash *trash = log->trash;

    pthread_mutex_lock(&trash->lock);
    while (!trash->stop) {
        if (!trash->work) {
            trash->busy = false;
            atomic_store(&trash->bytes, 0);
            pthread_cond_broadcast(&trash->changed);
            pthread_cond_wait(&trash->changed, &trash->lock);
            continue;
        }
        trash->work = false;
        pthread_mutex_unlock(&trash->lock);
        remove_all(log, NULL);
        pthread_mutex_lock(&trash->lock);
    }
    trash->busy = false;
    pthread_cond_broadcast(&trash->changed);
    pthread_mutex_unlock(&trash->lock);
    return NULL;
}

static void wake_thread(struct undo_log *log)
{
    struct trash *trash = log->trash;

    pthread_mutex_lock(&trash->lock);
    trash->work = trash->busy = true;
    if (!trash->started)
        trash->started = thread_start(&trash->thread, "undo-trash", run_thread,
                                      log) == 0;
    if (!trash->started) /* the next start removes it */
        trash->work = trash->busy = false;
    pthread_cond_broadcast(&trash->changed);
    pthread_mutex_unlock(&trash->lock);
}

static bool is_busy(struct trash *trash)
{
    bool busy;

    pthread_mutex_lock(&trash->lock);
    busy = trash->busy;
    pthread_mutex_unlock(&trash->lock);
    return busy;
}

void undo_log_empty_trash(struct undo_log *log)
{
    struct budget budget = { NAMES_AT_ONCE, BYTES_AT_ONCE };

    /* Two threads removing the same names would get in each other's way. */
    if (is_busy(log->trash) || remove_all(log, &budget))
        wake_thread(log);
    else
        atomic_store(&log->trash->bytes, 0);
}

void undo_log_drain_trash(struct undo_log *log)
{
    struct trash *trash = log->trash;

    pthread_mutex_lock(&trash->lock);
    while (trash->busy)
        pthread_cond_wait(&trash->changed, &trash->lock);
    pthread_mutex_unlock(&trash->lock);
}

/* ---- links to inodes of the share --------------------------------------- */

/* An inode of the share may have a link in the log. Unlinking it changes the
 * ctime, which the ledger must record as undo's own change. So such links are
 * removed at once, while nothing else changes the inode, and not in the thread.
 */
static void drop_link(struct undo_log *log, int blobs, const char *name)
{
    fd_auto int fd = -1;
    struct ctime_state before, after;
    struct stat st;

    if (sys_stat_name(blobs, name, &st) < 0 || S_ISDIR(st.st_mode) ||
        st.st_nlink < 2)
        return;
    fd = sys_openat(blobs, name, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0 || sys_stat_fd(fd, &st) < 0)
        return;
    before = (struct ctime_state){ st.st_ino, clock_ns(&st.st_ctim) };
    ctime_ledger_loosen(log->ledger, &before, log->last_seq);
    if (sys_unlinkat(blobs, name, 0) < 0)
        return;
    if (log->trash->forget)
        log->trash->forget(-1, st.st_ino, log->trash->opaque);
    if (sys_stat_fd(fd, &st) < 0)
        return;
    after = (struct ctime_state){ st.st_ino, clock_ns(&st.st_ctim) };
    ctime_ledger_add(log->ledger, &before, &after, log->last_seq);
}

/* Links inside a folder that an undo has put aside. */
static int drop_inner_link(int dirfd, const struct dirent *entry, void *opaque)
{
    drop_link(opaque, dirfd, entry->d_name);
    return entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN ? TREE_ENTER
                                                                  : TREE_SKIP;
}

static void drop_links_in(struct undo_log *log, int blobs, const char *name)
{
    fd_auto int fd = sys_openat(blobs, name, O_PATH | O_DIRECTORY | O_NOFOLLOW,
                                0);

    if (fd >= 0)
        tree_walk(fd, drop_inner_link, NULL, log);
}

static int drop_links_at(int fd, const struct dirent *entry, void *opaque)
{
    struct undo_log *log = opaque;

    if (entry->d_name[0] != 'i')
        return 0;
    drop_link(log, fd, entry->d_name);
    drop_links_in(log, fd, entry->d_name);
    return 0;
}

static int drop_links(int blobs, void *opaque)
{
    return sys_dir_each(blobs, ".", drop_links_at, opaque);
}

static void drop_links_of(struct undo_log *log, int trash, const char *name)
{
    fd_auto int folder = sys_openat(trash, name, UNDO_LOG_DIR_FLAGS, 0);
    fd_auto int blobs = folder < 0 ? folder
                                   : sys_openat(folder, STEP_BLOBS,
                                                UNDO_LOG_DIR_FLAGS, 0);
    int rc = 0;

    if (blobs >= 0 && (log->entries->len > 0 || log->redos->len > 0 ||
                       undo_log_has_inverse(log)))
        rc = drop_links(blobs, log);
    if (rc < 0)
        warn_left(rc);
}

void undo_log_drop_links(struct undo_log *log)
{
    int rc = log->entries->len > 0 ? undo_log_each_trash(log, drop_links, log)
                                   : 0;

    if (rc < 0)
        warn_left(rc);
}

/* ---- the trash ----------------------------------------------------------- */

struct trash *undo_log_trash_new(void)
{
    struct trash *trash = g_new0(struct trash, 1);

    pthread_mutex_init(&trash->lock, NULL);
    pthread_cond_init(&trash->changed, NULL);
    return trash;
}

void undo_log_trash_free(struct trash *trash)
{
    if (!trash)
        return;
    pthread_mutex_lock(&trash->lock);
    trash->stop = true;
    atomic_store(&trash->cancel, true);
    pthread_cond_broadcast(&trash->changed);
    pthread_mutex_unlock(&trash->lock);
    if (trash->started)
        pthread_join(trash->thread, NULL);
    pthread_cond_destroy(&trash->changed);
    pthread_mutex_destroy(&trash->lock);
    g_free(trash);
}

void undo_log_on_forget(struct undo_log *log,
                        int (*forget)(int blobs, uint64_t ino, void *opaque),
                        void *opaque)
{
    log->trash->forget = forget;
    log->trash->opaque = opaque;
}

int64_t undo_log_trash_bytes(const struct undo_log *log)
{
    return atomic_load(&log->trash->bytes);
}

int undo_log_move_to_trash(struct undo_log *log, int dirfd, const char *name,
                           int64_t bytes)
{
    fd_auto int fd = undo_log_open_subdir(log->wal, TRASH);
    int rc = fd < 0 ? fd : -EEXIST;
    struct undo_log_name fresh;

    /* An earlier process may have left names from the counter on. */
    while (rc == -EEXIST) {
        fresh = undo_log_name(log->trash->next_name++);
        rc = sys_rename_noreplace(dirfd, name, fd, fresh.text);
    }
    if (rc < 0)
        return rc;
    drop_links_of(log, fd, fresh.text);
    atomic_fetch_add(&log->trash->bytes, bytes);
    undo_log_empty_trash(log);
    return 0;
}

int undo_log_drop_blobs(struct undo_log *log, int64_t bytes)
{
    fd_auto int wal = undo_log_open_wal(log);
    fd_auto int trash = undo_log_open_subdir(log->wal, TRASH);
    fd_auto int folder = -1;
    int rc = wal < 0 ? wal : trash < 0 ? trash : -EEXIST;
    struct undo_log_name name;

    while (rc == -EEXIST) {
        name = undo_log_name(log->trash->next_name++);
        rc = sys_mkdirat(trash, name.text, 0700);
    }
    if (rc < 0)
        return rc;
    folder = sys_openat(trash, name.text, UNDO_LOG_DIR_FLAGS, 0);
    rc = folder < 0 ? folder
                    : sys_renameat2(wal, STEP_BLOBS, folder, STEP_BLOBS, 0);
    if (rc < 0)
        return rc;
    drop_links_of(log, trash, name.text);
    atomic_fetch_add(&log->trash->bytes, bytes);
    undo_log_empty_trash(log);
    return 0;
}

int undo_log_trash_discarded(struct undo_log *log)
{
    int rc = undo_log_move_to_trash(log, log->dir, UNDO_LOG_DISCARDED, 0);

    return rc == -ENOENT ? 0 : rc;
}

static int trash_entry(int damaged, const struct dirent *entry, void *log)
{
    int rc = undo_log_move_to_trash(log, damaged, entry->d_name, 0);

    return rc == -ENOENT ? 0 : rc;
}

int undo_log_trash_damaged(struct undo_log *log)
{
    int rc = sys_dir_each(log->dir, UNDO_LOG_DAMAGED, trash_entry, log);

    if (rc == 0)
        rc = sys_unlinkat(log->dir, UNDO_LOG_DAMAGED, AT_REMOVEDIR);
    return rc == -ENOENT ? 0 : rc;
}

struct each_blobs {
    int (*each)(int blobs, void *opaque);
    void *opaque;
};

static int open_blobs_of(int fd, const struct dirent *entry, void *opaque)
{
    const struct each_blobs *each = opaque;
    fd_auto int folder = -1, blobs = -1;

    if (entry->d_name[0] == '.')
        return 0;
    folder = sys_openat(fd, entry->d_name, UNDO_LOG_DIR_FLAGS, 0);
    if (folder < 0)
        return is_absent(folder) ? 0 : folder;
    blobs = sys_openat(folder, STEP_BLOBS, UNDO_LOG_DIR_FLAGS, 0);
    if (blobs < 0)
        return is_absent(blobs) ? 0 : blobs;
    return each->each(blobs, each->opaque);
}

static int each_blobs(int dirfd, const char *name,
                      int (*each)(int blobs, void *opaque), void *opaque)
{
    struct each_blobs all = { each, opaque };
    int rc = sys_dir_each(dirfd, name, open_blobs_of, &all);

    return rc < 0 && is_absent(rc) ? 0 : rc;
}

int undo_log_each_trash(struct undo_log *log,
                        int (*each)(int blobs, void *opaque), void *opaque)
{
    return each_blobs(log->wal, TRASH, each, opaque);
}

int undo_log_each_damaged(struct undo_log *log,
                          int (*each)(int blobs, void *opaque), void *opaque)
{
    return each_blobs(log->dir, UNDO_LOG_DAMAGED, each, opaque);
}

/* ---- reserve ------------------------------------------------------------- */

#define SPARE "spare"

enum { RESERVE_BYTES = 1 << 20, RESERVE_LEAST = 128 << 10 };

bool undo_log_release_reserve(struct undo_log *log)
{
    log->has_reserve = false;
    return sys_unlinkat(log->dir, "reserve", 0) == 0;
}

void undo_log_take_reserve(struct undo_log *log)
{
    fd_auto int fd = -1;

    if (!log->has_spare) {
        int rc = sys_mkdirat(log->dir, SPARE, 0700);

        log->has_spare = rc == 0 || rc == -EEXIST;
    }
    if (log->has_reserve)
        return;
    fd = sys_openat(log->dir, "reserve", O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
    /* With a smaller reserve, or none, a rollback may only run short of room.
     */
    for (off_t bytes = RESERVE_BYTES; fd >= 0 && bytes >= RESERVE_LEAST;
         bytes /= 2) {
        log->has_reserve = sys_fallocate(fd, 0, 0, bytes) == 0;
        if (log->has_reserve)
            return;
    }
}

int undo_log_give_spare(struct undo_log *log, int dirfd, const char *name)
{
    int rc = sys_rename_noreplace(log->dir, SPARE, dirfd, name);

    log->has_spare = false;
    return rc;
}
