/* SPDX-License-Identifier: Apache-2.0
 *
 * template_store - see template_store.h.
 */
#include "agent/vm/template_store.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/machine/guest_image.h"
#include "agent/vm/template_file.h"
#include "agent/vm/template_thin.h"
#include "common/errors.h"
#include "common/fd.h"

#define SUFFIX       ".template"
#define FAILED       ".failed"
#define DRAFT_SUFFIX ".draft"
#define DRAFT        ".XXXXXX" DRAFT_SUFFIX
#define LOCK         "lock"

/* A template takes 60 to 200 MiB. */
#define ROOM ((guint64)256 << 20)

enum {
    REFUSED_S = 600,
    WAIT_S = 600, /* for writers of other templates */
    WAIT_US = 200000,
};

struct template_draft {
    char *key, *path;
    int fd, lock;
    guint64 bytes;
    bool done;
};

static char *path_of(const char *key, const char *suffix)
{
    g_autofree char *dir = guest_image_templates();
    g_autofree char *name = g_strconcat(key, suffix, NULL);

    return g_build_filename(dir, name, NULL);
}

G_GNUC_PRINTF(2, 3)
static void set_error(GError **error, const char *format, ...)
{
    g_autofree char *dir = guest_image_templates();
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "%s: %s", dir, text);
}

/* ---- use ----------------------------------------------------------------- */

/* Remove a template that no start can use, so that it is made again. Return the
 * end of the message about it. */
static const char *remove_useless(const char *path)
{
    struct stat st;

    if (g_unlink(path) == 0)
        return "; removed it";
    return lstat(path, &st) == 0 ? "; remove it" : "";
}

int template_store_open(const char *key, GError **error)
{
    g_autofree char *path = path_of(key, SUFFIX);
    fd_auto int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const char *remedy = "";
    struct stat st;
    int rc;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return -1;
    if (fd < 0 || fstat(fd, &st) < 0)
        rc = -errno;
    else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
             (st.st_mode & 077))
        rc = -EPERM; /* another user may have written it */
    else
        rc = template_file_check(fd, key);
    if (rc == 0) {
        futimens(fd, NULL); /* the order of removal */
        return fd_steal(&fd);
    }
    if (rc == -EBADMSG || rc == -EPERM || rc == -EACCES || rc == -ELOOP)
        remedy = remove_useless(path);
    set_error(error, "%s" SUFFIX ": %s%s", key,
              rc == -EBADMSG ? "damaged"
              : rc == -EPERM ? "not a file that only you can access"
                             : g_strerror(-rc),
              remedy);
    return -1;
}

bool template_store_exists(const char *key)
{
    g_autofree char *path = path_of(key, SUFFIX);

    return access(path, F_OK) == 0;
}

void template_store_refuse(const char *key, const char *reason)
{
    g_autofree char *path = path_of(key, SUFFIX);
    g_autofree char *failed = path_of(key, FAILED);

    g_unlink(path);
    g_file_set_contents_full(failed, reason, -1, G_FILE_SET_CONTENTS_NONE, 0600,
                             NULL);
}

bool template_store_is_refused(const char *key)
{
    g_autofree char *failed = path_of(key, FAILED);
    struct stat st;
    gint64 age;

    if (stat(failed, &st) < 0)
        return false;
    age = g_get_real_time() / G_TIME_SPAN_SECOND - st.st_mtime;
    return age >= 0 && age < REFUSED_S;
}

/* ---- removal ------------------------------------------------------------- */

struct entry {
    char *path;
    guint64 bytes;
    struct timespec used;
};

static void free_entry(gpointer data)
{
    struct entry *entry = data;

    g_free(entry->path);
    g_free(entry);
}

static gint compare_use(gconstpointer a, gconstpointer b)
{
    const struct entry *x = *(struct entry *const *)a;
    const struct entry *y = *(struct entry *const *)b;

    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
}

/* Return the files with this suffix, NULL: all but the lock; the one that was
 * used first comes first. */
static GPtrArray *list_entries(const char *suffix)
{
    GPtrArray *entries = g_ptr_array_new_with_free_func(free_entry);
    g_autofree char *dir = guest_image_templates();
    g_autoptr(GDir) files = g_dir_open(dir, 0, NULL);
    const char *name;
    struct stat st;

    while (files && (name = g_dir_read_name(files))) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        struct entry *entry;

        if (strcmp(name, LOCK) == 0 ||
            (suffix && !g_str_has_suffix(name, suffix)) ||
            lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        entry = g_new(struct entry, 1);
        *entry = (struct entry){ g_steal_pointer(&path), (guint64)st.st_size,
                                 st.st_mtim };
        g_ptr_array_add(entries, entry);
    }
    g_ptr_array_sort(entries, compare_use);
    return entries;
}

guint64 template_store_size(void)
{
    g_autoptr(GPtrArray) entries = list_entries(SUFFIX);
    guint64 bytes = 0;

    for (guint i = 0; i < entries->len; i++)
        bytes += ((struct entry *)g_ptr_array_index(entries, i))->bytes;
    return bytes;
}

guint template_store_clear(guint64 *ret_bytes)
{
    g_autoptr(GPtrArray) entries = list_entries(NULL);
    guint count = 0;

    *ret_bytes = 0;
    for (guint i = 0; i < entries->len; i++) {
        const struct entry *entry = g_ptr_array_index(entries, i);

        if (g_unlink(entry->path) < 0 || !g_str_has_suffix(entry->path, SUFFIX))
            continue;
        count++;
        *ret_bytes += entry->bytes;
    }
    return count;
}

/* Make room for a template of this size. */
static void limit(guint64 bytes)
{
    g_autoptr(GPtrArray) entries = list_entries(SUFFIX);
    guint64 total = bytes;

    for (guint i = 0; i < entries->len; i++)
        total += ((struct entry *)g_ptr_array_index(entries, i))->bytes;
    for (guint i = 0; i < entries->len && total > TEMPLATE_STORE_MAX; i++) {
        const struct entry *entry = g_ptr_array_index(entries, i);

        if (g_unlink(entry->path) == 0)
            total -= entry->bytes;
    }
}

/* The caller has the lock: files that are neither templates nor failures belong
 * to a writer that was killed. */
static void remove_leftovers(void)
{
    g_autoptr(GPtrArray) entries = list_entries(NULL);

    for (guint i = 0; i < entries->len; i++) {
        const struct entry *entry = g_ptr_array_index(entries, i);

        if (!g_str_has_suffix(entry->path, SUFFIX) &&
            !g_str_has_suffix(entry->path, FAILED))
            g_unlink(entry->path);
    }
}

/* ---- making -------------------------------------------------------------- */

bool template_store_is_locked(void)
{
    g_autofree char *path = path_of(LOCK, "");
    fd_auto int lock = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) < 0 &&
           errno == EWOULDBLOCK;
}

gboolean template_store_prepare(GError **error)
{
    g_autofree char *dir = guest_image_templates();
    struct statvfs fs;

    if (g_mkdir_with_parents(dir, 0700) < 0 || access(dir, W_OK | X_OK) < 0 ||
        statvfs(dir, &fs) < 0) {
        set_error(error, "%s", g_strerror(errno));
        return FALSE;
    }
    if ((guint64)fs.f_bavail * fs.f_frsize >= ROOM)
        return TRUE;
    set_error(error, "less than %u MiB are free", (unsigned)(ROOM >> 20));
    return FALSE;
}

/* Return whether another process writes this template. */
static bool is_written(const char *key)
{
    g_autoptr(GPtrArray) entries = list_entries(DRAFT_SUFFIX);

    for (guint i = 0; i < entries->len; i++) {
        const struct entry *entry = g_ptr_array_index(entries, i);
        g_autofree char *name = g_path_get_basename(entry->path);

        if (g_str_has_prefix(name, key) && name[strlen(key)] == '.')
            return true;
    }
    return false;
}

/* Take the lock (the fd of its file). Return 0, or -EEXIST if this template
 * exists or another process writes it, or -errno. */
static int take_lock(int lock, const char *key)
{
    g_autofree char *path = path_of(key, SUFFIX);
    gint64 limit = g_get_monotonic_time() + WAIT_S * G_TIME_SPAN_SECOND;

    while (flock(lock, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return -errno;
        if (access(path, F_OK) == 0 || is_written(key))
            return -EEXIST;
        if (g_get_monotonic_time() > limit)
            return -ETIMEDOUT;
        g_usleep(WAIT_US);
    }
    return access(path, F_OK) == 0 ? -EEXIST : 0;
}

struct template_draft *template_store_begin(const char *key, GError **error)
{
    struct template_draft *draft = g_new0(struct template_draft, 1);
    g_autofree char *lock = path_of(LOCK, "");
    int rc;

    draft->key = g_strdup(key);
    draft->path = path_of(key, DRAFT);
    draft->fd = -1;
    draft->lock = open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    rc = draft->lock < 0 ? -errno : take_lock(draft->lock, key);
    if (rc == 0) {
        remove_leftovers();
        draft->fd = g_mkstemp_full(draft->path, O_RDWR | O_CLOEXEC, 0600);
        if (draft->fd >= 0 &&
            lseek(draft->fd, TEMPLATE_FILE_HEADER, SEEK_SET) >= 0)
            return draft;
        set_error(error, "%s", g_strerror(errno));
    } else if (rc != -EEXIST) {
        set_error(error, LOCK ": %s", g_strerror(-rc));
    }
    template_store_end(draft);
    return NULL;
}

gboolean template_store_write(struct template_draft *draft, const void *data,
                              size_t len, GError **error)
{
    int rc;

    draft->bytes += len;
    if (draft->bytes > TEMPLATE_STATE_MAX) {
        set_error(error, "a template of more than %u MiB",
                  (unsigned)(TEMPLATE_STATE_MAX >> 20));
        return FALSE;
    }
    rc = fd_write_all(draft->fd, data, len);
    if (rc)
        set_error(error, "%s", g_strerror(-rc));
    return rc == 0;
}

gboolean template_store_commit(struct template_draft *draft, GError **error)
{
    g_autofree char *path = path_of(draft->key, SUFFIX);
    g_autofree char *failed = path_of(draft->key, FAILED);
    int rc = template_thin_file(draft->fd, TEMPLATE_FILE_HEADER);

    if (rc == 0)
        rc = template_file_seal(draft->fd, draft->key);
    if (rc == 0) {
        limit(draft->bytes);
        g_unlink(failed);
        if (g_rename(draft->path, path) < 0 && errno != ENOENT)
            rc = -errno;
    }
    if (rc)
        set_error(error, "%s", g_strerror(-rc));
    draft->done = rc == 0;
    return draft->done;
}

void template_store_end(struct template_draft *draft)
{
    if (!draft)
        return;
    if (draft->fd >= 0 && !draft->done)
        g_unlink(draft->path);
    fd_close(&draft->fd);
    fd_close(&draft->lock);
    g_free(draft->key);
    g_free(draft->path);
    g_free(draft);
}
