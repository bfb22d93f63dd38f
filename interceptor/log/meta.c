/* SPDX-License-Identifier: Apache-2.0
 *
 * meta - see meta.h.
 */
#include "common/proc_fd.h"
#include "interceptor/log/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "common/json_bytes.h"
#include "common/log.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/rights.h"
#include "interceptor/sys/sys.h"

enum { XATTR_TRIES = 8 }; /* a list may grow between size and read */

static int read_list(int fd, char **ret_names, ssize_t *ret_len)
{
    struct proc_fd_path path = proc_fd_path(fd);

    for (int i = 0; i < XATTR_TRIES; i++) {
        ssize_t len = listxattr(path.text, NULL, 0);
        g_autofree char *names = NULL;

        if (len < 0)
            return -errno;
        names = g_malloc((size_t)len + 1);
        len = listxattr(path.text, names, (size_t)len);
        if (len < 0 && errno == ERANGE)
            continue;
        if (len < 0)
            return -errno;
        names[len] = '\0';
        *ret_names = g_steal_pointer(&names);
        *ret_len = len;
        return 0;
    }
    return -EAGAIN;
}

static int read_value(int fd, const char *name, GBytes **ret_value)
{
    struct proc_fd_path path = proc_fd_path(fd);

    for (int i = 0; i < XATTR_TRIES; i++) {
        ssize_t len = getxattr(path.text, name, NULL, 0);
        g_autofree char *value = NULL;

        if (len < 0)
            return -errno;
        value = g_malloc((size_t)len + 1);
        len = getxattr(path.text, name, value, (size_t)len);
        if (len < 0 && errno == ERANGE)
            continue;
        if (len < 0)
            return -errno;
        *ret_value = g_bytes_new(value, (gsize)len);
        return 0;
    }
    return -EAGAIN;
}

static int read_xattrs(int fd, GHashTable **ret_xattrs)
{
    g_autofree char *names = NULL;
    ssize_t len = 0;
    int rc = read_list(fd, &names, &len);

    *ret_xattrs = NULL;
    /* ENOTSUP: the filesystem has no attributes. */
    if (rc == -ENOTSUP || (rc == 0 && len == 0))
        return 0;
    if (rc < 0)
        return rc;

    g_autoptr(GHashTable) xattrs = g_hash_table_new_full(
        g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
    for (const char *name = names; name < names + len;
         name += strlen(name) + 1) {
        GBytes *value = NULL;

        rc = read_value(fd, name, &value);
        if (rc == -ENODATA)
            continue;
        if (rc < 0)
            return rc;
        g_hash_table_insert(xattrs, g_strdup(name), value);
    }
    *ret_xattrs = g_steal_pointer(&xattrs);
    return 0;
}

static int read_target(int fd, char **ret_target)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(fd, "", target, sizeof(target) - 1);

    if (len < 0)
        return -errno;
    target[len] = '\0';
    *ret_target = g_strdup(target);
    return 0;
}

static struct project read_project(int fd)
{
    struct project project = project_of_fd(fd);

    return project.inherits ? project : (struct project){ 0 };
}

int meta_read(int fd, struct meta **ret_meta)
{
    g_autoptr(meta_auto) meta = g_new0(struct meta, 1);
    struct stat st;
    int rc = sys_stat_fd(fd, &st);

    if (rc < 0)
        return rc;
    meta->mode = st.st_mode;
    meta->uid = rights_uid(st.st_uid);
    meta->gid = rights_gid(st.st_gid);
    meta->mtime = st.st_mtim;
    meta->changed = clock_ns(&st.st_ctim);
    if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
        meta->rdev = st.st_rdev;
    if (S_ISLNK(st.st_mode))
        rc = read_target(fd, &meta->target);
    if (S_ISDIR(st.st_mode))
        meta->project = read_project(fd);
    if (rc == 0)
        rc = read_xattrs(fd, &meta->xattrs);
    if (rc < 0)
        return rc;
    *ret_meta = g_steal_pointer(&meta);
    return 0;
}

void meta_free(struct meta *meta)
{
    if (!meta)
        return;
    g_free(meta->target);
    g_clear_pointer(&meta->xattrs, g_hash_table_unref);
    g_free(meta);
}

static json_t *bytes_member(const void *data, size_t len)
{
    json_t *object = json_object();

    json_bytes_set(object, "v", data, len);
    return object;
}

void meta_to_record(const struct meta *meta, json_t *record)
{
    json_object_set_new(record, "mode", json_integer(meta->mode));
    json_object_set_new(record, "uid", json_integer(meta->uid));
    json_object_set_new(record, "gid", json_integer(meta->gid));
    json_object_set_new(record, "mtime",
                        json_pack("[I, I]", (json_int_t)meta->mtime.tv_sec,
                                  (json_int_t)meta->mtime.tv_nsec));
    json_object_set_new(record, "ct", json_integer(meta->changed));
    if (meta->rdev)
        json_object_set_new(record, "rdev",
                            json_integer((json_int_t)meta->rdev));
    if (meta->project.inherits)
        json_object_set_new(record, "project", json_integer(meta->project.id));
    if (meta->target)
        json_object_set_new(record, "target",
                            bytes_member(meta->target, strlen(meta->target)));
    if (meta->xattrs) {
        json_t *list = json_array();
        GHashTableIter iter;
        gpointer name, value;

        g_hash_table_iter_init(&iter, meta->xattrs);
        while (g_hash_table_iter_next(&iter, &name, &value)) {
            gsize len;
            const void *data = g_bytes_get_data(value, &len);
            json_t *entry = bytes_member(data, len);

            /* Attribute names may contain any byte, too. */
            json_object_set_new(entry, "n", bytes_member(name, strlen(name)));
            json_array_append_new(list, entry);
        }
        json_object_set_new(record, "xattrs", list);
    }
}

static bool get_number(json_t *record, const char *key, json_int_t max,
                       json_int_t *ret_value)
{
    json_t *member = json_object_get(record, key);

    if (!json_is_integer(member) || json_integer_value(member) < 0 ||
        json_integer_value(member) > max)
        return false;
    *ret_value = json_integer_value(member);
    return true;
}

/* A NUL inside would turn it into another name. */
static char *get_text(json_t *object)
{
    size_t len;
    g_autofree char *text = json_bytes_get(object, "v", &len);

    return text && strlen(text) == len ? g_steal_pointer(&text) : NULL;
}

static bool xattrs_from_record(json_t *list, struct meta *meta)
{
    size_t i;
    json_t *entry;

    if (!list)
        return true;
    meta->xattrs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                         (GDestroyNotify)g_bytes_unref);
    json_array_foreach(list, i, entry)
    {
        size_t len;
        char *name = get_text(json_object_get(entry, "n"));
        char *value = json_bytes_get(entry, "v", &len);

        if (!name || !value) {
            g_free(name);
            g_free(value);
            return false;
        }
        g_hash_table_insert(meta->xattrs, name, g_bytes_new_take(value, len));
    }
    return json_is_array(list);
}

struct meta *meta_from_record(json_t *record)
{
    g_autoptr(meta_auto) meta = g_new0(struct meta, 1);
    json_t *mtime = json_object_get(record, "mtime");
    json_t *target = json_object_get(record, "target");
    json_int_t mode, uid, gid, id = 0, rdev = 0;

    if (!get_number(record, "mode", 0177777, &mode) ||
        !get_number(record, "uid", UINT32_MAX, &uid) ||
        !get_number(record, "gid", UINT32_MAX, &gid) ||
        !json_is_integer(json_array_get(mtime, 0)) ||
        !json_is_integer(json_array_get(mtime, 1)))
        return NULL;
    if (json_object_get(record, "rdev") &&
        !get_number(record, "rdev", INT64_MAX, &rdev))
        return NULL;
    meta->mode = (mode_t)mode;
    meta->uid = (uid_t)uid;
    meta->gid = (gid_t)gid;
    meta->rdev = (dev_t)rdev;
    meta->mtime.tv_sec = json_integer_value(json_array_get(mtime, 0));
    meta->mtime.tv_nsec = json_integer_value(json_array_get(mtime, 1));
    meta->changed = json_integer_value(json_object_get(record, "ct"));
    meta->project.inherits = S_ISDIR(meta->mode) &&
                             get_number(record, "project", UINT32_MAX, &id);
    meta->project.id = meta->project.inherits ? (uint32_t)id : 0;
    if (meta->mtime.tv_nsec < 0 || meta->mtime.tv_nsec > 999999999)
        return NULL;
    if (target)
        meta->target = get_text(target);
    if (S_ISLNK(meta->mode) != (meta->target != NULL) ||
        !xattrs_from_record(json_object_get(record, "xattrs"), meta))
        return NULL;
    return g_steal_pointer(&meta);
}

static bool has_same(GHashTable *in, const char *name, GBytes *value)
{
    GBytes *other = in ? g_hash_table_lookup(in, name) : NULL;

    return other && g_bytes_equal(other, value);
}

/* A process that could read such attributes could set them, or it refused the
 * change (capture_rights.c). But another process, without that right, may
 * finish the undo. */
static bool is_privileged(const char *name)
{
    return g_str_has_prefix(name, "trusted.") ||
           (g_str_has_prefix(name, "security.") &&
            strcmp(name, "security.capability") != 0);
}

static void warn_lost(const char *name)
{
    g_autofree char *valid = g_utf8_make_valid(name, -1);

    log_warn(LOG_UNDO,
             "undo: cannot restore the extended attribute '%s' of a file "
             "without CAP_SYS_ADMIN",
             valid);
}

/* Change fd's attributes from "current" to "wanted". */
static int apply_xattrs(GHashTable *wanted, GHashTable *current, int fd)
{
    GHashTableIter iter;
    gpointer name, value;

    if (current) {
        g_hash_table_iter_init(&iter, current);
        while (g_hash_table_iter_next(&iter, &name, NULL)) {
            int rc;

            if (wanted && g_hash_table_contains(wanted, name))
                continue;
            rc = sys_removexattr_fd(fd, name);
            if (rc == -EPERM && is_privileged(name))
                warn_lost(name);
            else if (rc < 0 && rc != -ENODATA)
                return rc;
        }
    }
    if (!wanted)
        return 0;
    g_hash_table_iter_init(&iter, wanted);
    while (g_hash_table_iter_next(&iter, &name, &value)) {
        gsize len;
        const void *data = g_bytes_get_data(value, &len);
        int rc;

        if (has_same(current, name, value))
            continue;
        rc = sys_setxattr_fd(fd, name, data, len, 0);
        if (rc == -EPERM && is_privileged(name))
            warn_lost(name);
        else if (rc < 0)
            return rc;
    }
    return 0;
}

/* The owner cannot read the attributes of a file whose mode a step has closed.
 */
static int read_or_open(int fd, mode_t wanted, struct meta **ret_meta)
{
    struct stat st;
    int rc = meta_read(fd, ret_meta);

    if (rc != -EACCES || S_ISLNK(wanted))
        return rc;
    rc = sys_stat_fd(fd, &st);
    if (rc == 0 && (st.st_mode & S_IFMT) != (wanted & S_IFMT))
        rc = -ESTALE;
    if (rc == 0)
        rc = sys_chmod_fd(fd, (wanted & 07777) | 0600);
    return rc < 0 ? rc : meta_read(fd, ret_meta);
}

static bool owner_differs(const struct meta *a, const struct meta *b)
{
    return rights_differ(a->uid, b->uid) || rights_differ(a->gid, b->gid);
}

static int set_owner(const struct meta *current, const struct meta *meta,
                     int fd)
{
    return sys_chown_fd(
        fd, rights_differ(current->uid, meta->uid) ? meta->uid : (uid_t)-1,
        rights_differ(current->gid, meta->gid) ? meta->gid : (gid_t)-1);
}

int meta_apply(const struct meta *meta, int fd)
{
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, meta->mtime };
    g_autoptr(meta_auto) current = NULL;
    int rc = read_or_open(fd, meta->mode, &current);
    bool symlink = S_ISLNK(meta->mode);

    if (rc == 0 && (current->mode & S_IFMT) != (meta->mode & S_IFMT))
        return -ESTALE;
    if (rc == 0 && owner_differs(current, meta)) {
        rc = set_owner(current, meta, fd);
        /* chown(2) clears suid, sgid and security.capability. */
        if (rc == 0) {
            g_clear_pointer(&current, meta_free);
            rc = read_or_open(fd, meta->mode, &current);
        }
    }
    /* Undo has cleared the flag to move entries in, or the folder is a new one.
     */
    if (rc == 0 && meta->project.inherits && !current->project.inherits)
        project_set(fd, meta->project);
    /* ACLs are attributes and their mask is the mode's group bits. So set the
     * attributes first; the mode then leaves them unchanged. */
    if (rc == 0)
        rc = apply_xattrs(meta->xattrs, current->xattrs, fd);
    if (rc == -EACCES && !symlink) { /* own file, but read-only */
        rc = sys_chmod_fd(fd, (meta->mode & 07777) | 0600);
        if (rc == 0)
            rc = apply_xattrs(meta->xattrs, current->xattrs, fd);
    }
    if (rc == 0 && !symlink) {
        struct stat st;

        rc = sys_stat_fd(fd, &st);
        if (rc == 0 && st.st_mode != meta->mode)
            rc = sys_chmod_fd(fd, meta->mode & 07777);
    }
    /* Set the mtime only if it differs: only the owner may, and a file that a
     * step failed to change may belong to another user. */
    if (rc == 0 && (current->mtime.tv_sec != meta->mtime.tv_sec ||
                    current->mtime.tv_nsec != meta->mtime.tv_nsec))
        rc = sys_utimens_fd(fd, times);
    return rc;
}

static bool xattrs_equal(GHashTable *a, GHashTable *b)
{
    GHashTableIter iter;
    gpointer name, value;

    if ((a ? g_hash_table_size(a) : 0) != (b ? g_hash_table_size(b) : 0))
        return false;
    if (!a)
        return true;
    g_hash_table_iter_init(&iter, a);
    while (g_hash_table_iter_next(&iter, &name, &value)) {
        if (!has_same(b, name, value))
            return false;
    }
    return true;
}

bool meta_equal(const struct meta *a, const struct meta *b, bool with_mtime)
{
    return a->mode == b->mode && !owner_differs(a, b) && a->rdev == b->rdev &&
           g_strcmp0(a->target, b->target) == 0 &&
           xattrs_equal(a->xattrs, b->xattrs) &&
           (!with_mtime || (a->mtime.tv_sec == b->mtime.tv_sec &&
                            a->mtime.tv_nsec == b->mtime.tv_nsec));
}

uint32_t meta_digest(const struct meta *meta)
{
    uint64_t mode = meta->mode;
    uint32_t digest = crc32c(&mode, sizeof(mode));
    GHashTableIter iter;
    gpointer name, value;

    if (!meta->xattrs)
        return digest;
    /* Add the checksums of all attributes: the kernel lists them in no fixed
     * order. */
    g_hash_table_iter_init(&iter, meta->xattrs);
    while (g_hash_table_iter_next(&iter, &name, &value)) {
        gsize len;
        const void *data = g_bytes_get_data(value, &len);
        uint32_t pair[] = { crc32c(name, strlen(name)), crc32c(data, len) };

        digest += crc32c(pair, sizeof(pair));
    }
    return digest;
}

int meta_create_inode(const struct meta *meta, int dirfd, const char *name)
{
    int fd;

    if (S_ISDIR(meta->mode))
        return sys_mkdirat(dirfd, name, 0700);
    if (S_ISLNK(meta->mode))
        return sys_symlinkat(meta->target, dirfd, name);
    if (!S_ISREG(meta->mode))
        return sys_mknodat(dirfd, name, (meta->mode & S_IFMT) | 0600,
                           meta->rdev);
    fd = sys_openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                    0600);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}
