/* SPDX-License-Identifier: Apache-2.0
 *
 * world_folder - the engine in this process, through its C interface.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/engine/engine.h"
#include "tests/lib/control_client.h"
#include "tests/lib/world_folder.h"

static struct folder *open_folder(struct world *w, bool no_timer,
                                  GError **error)
{
    struct ic_options options = {
        .share = w->share,
        .undo_dir = w->undo_dir,
        .ambient_ms = w->ambient_ms,
        .allow_suid = true,
        .allow_devices = true,
        .no_timer = no_timer,
    };
    struct ic *ic = ic_open_share(&options, error);
    struct folder *f;

    if (!ic)
        return NULL;
    /* As under the agent: what is noted must not disturb anything. */
    ic_follow_writers(ic);
    ic_set_writer(getpid());
    f = g_new0(struct folder, 1);
    f->ic = ic;
    f->way = g_ptr_array_new_with_free_func((GDestroyNotify)ic_inode_unref);
    f->cred.uid = getuid();
    f->cred.gid = getgid();
    return f;
}

bool world_folder_open(struct world *w, GError **error)
{
    w->state = open_folder(w, true, error);
    return w->state != NULL;
}

struct ic *world_folder_ic(struct world *w)
{
    struct folder *f = w->state;

    return f ? f->ic : NULL;
}

static bool folder_start(struct world *w)
{
    g_autoptr(GError) error = NULL;
    struct folder *f = open_folder(w, false, &error);
    json_t *status, *recovery;
    int pair[2];

    g_assert_no_error(error);
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair),
                    ==, 0);
    f->client = control_client_new(pair[0]);
    g_assert_true(ic_control_attach(f->ic, pair[1], &error));
    w->state = f;
    status = control_client_request(f->client, "status", NULL, &error);
    g_assert_no_error(error);
    json_decref(status);
    json_decref(w->recovery);
    recovery = control_client_event(f->client, "event.recovery");
    w->recovery = json_incref(recovery);
    return true;
}

static void folder_stop(struct world *w)
{
    struct folder *f = g_steal_pointer(&w->state);

    control_client_free(f->client);
    g_ptr_array_unref(f->way);
    ic_close(f->ic);
    g_free(f);
}

/* The log on disk is always what a SIGKILL would leave, so forget the open step
 * without closing it. */
static void folder_kill(struct world *w)
{
    struct folder *f = w->state;

    pthread_rwlock_wrlock(&f->ic->gate);
    capture_clear(&f->ic->wal);
    pthread_rwlock_unlock(&f->ic->gate);
    folder_stop(w);
}

/* ---- paths --------------------------------------------------------------- */

static struct ic_inode *here(struct folder *f)
{
    return f->way->len > 0 ? g_ptr_array_index(f->way, f->way->len - 1)
                           : ic_root(f->ic);
}

int folder_resolve(struct folder *f, const char *path,
                   struct ic_inode **ret_inode)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    struct ic_inode *at = ic_inode_ref(here(f));

    for (char **part = parts; *part; part++) {
        struct ic_inode *next;
        int rc;

        if (**part == '\0' || strcmp(*part, ".") == 0)
            continue;
        rc = ic_lookup(f->ic, at, *part, &next, NULL);
        ic_inode_unref(at);
        if (rc < 0)
            return rc;
        at = next;
    }
    *ret_inode = at;
    return 0;
}

int folder_resolve_parent(struct folder *f, const char *path,
                          struct ic_inode **ret_dir, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    g_autofree char *dir = slash ? g_strndup(path, (gsize)(slash - path))
                                 : g_strdup("");

    *ret_name = slash ? slash + 1 : path;
    return folder_resolve(f, dir, ret_dir);
}

static int folder_chdir(struct world *w, const char *name)
{
    struct folder *f = w->state;
    struct ic_inode *next;
    int rc;

    if (!name) {
        g_ptr_array_set_size(f->way, 0);
    } else if (strcmp(name, "..") == 0) {
        g_ptr_array_set_size(f->way, (gint)f->way->len - 1);
    } else {
        rc = folder_resolve(f, name, &next);
        if (rc < 0)
            return rc;
        g_ptr_array_add(f->way, next);
    }
    return 0;
}

static void drop(int rc, struct ic_inode *inode)
{
    if (rc == 0)
        ic_inode_unref(inode);
}

/* ---- names --------------------------------------------------------------- */

static int folder_put(struct world *w, const char *path, int flags,
                      const void *data, size_t len, off_t offset)
{
    struct folder *f = w->state;
    struct iovec iov = { (void *)data, len };
    struct ic_inode *dir, *inode;
    const char *name;
    int fd, rc = folder_resolve_parent(f, path, &dir, &name);

    if (rc < 0)
        return rc;
    if (flags & O_CREAT) {
        rc = ic_create(f->ic, &f->cred, dir, name, flags | O_RDWR, 0644, &inode,
                       NULL, &fd);
    } else {
        rc = ic_lookup(f->ic, dir, name, &inode, NULL);
        if (rc == 0) {
            rc = ic_open(f->ic, inode, flags | O_RDWR, &fd);
            if (rc < 0)
                ic_inode_unref(inode);
        }
    }
    ic_inode_unref(dir);
    if (rc < 0)
        return rc;
    if (len > 0) {
        ssize_t n = ic_pwritev(f->ic, inode, fd, &iov, 1, offset,
                               flags & O_APPEND ? RWF_APPEND : 0, false);

        rc = n < 0 ? (int)n : n == (ssize_t)len ? 0 : -EIO;
    }
    close(fd);
    ic_inode_unref(inode);
    return rc;
}

/* Make a name: of type S_IFDIR or S_IFLNK (to target), else by mknod(2). */
static int make(struct world *w, const char *path, mode_t mode, dev_t dev,
                const char *target)
{
    struct folder *f = w->state;
    struct ic_inode *dir, *inode;
    const char *name;
    int rc = folder_resolve_parent(f, path, &dir, &name);

    if (rc < 0)
        return rc;
    if (S_ISDIR(mode))
        rc = ic_mkdirat(f->ic, &f->cred, dir, name, mode & 07777, &inode, NULL);
    else if (S_ISLNK(mode))
        rc = ic_symlinkat(f->ic, &f->cred, target, dir, name, &inode, NULL);
    else
        rc = ic_mknodat(f->ic, &f->cred, dir, name, mode, dev, &inode, NULL);
    drop(rc, inode);
    ic_inode_unref(dir);
    return rc;
}

static int folder_mkdir(struct world *w, const char *path, mode_t mode)
{
    return make(w, path, S_IFDIR | mode, 0, NULL);
}

static int folder_mknod(struct world *w, const char *path, mode_t mode,
                        dev_t dev)
{
    return make(w, path, mode, dev, NULL);
}

static int folder_symlink(struct world *w, const char *target, const char *path)
{
    return make(w, path, S_IFLNK, 0, target);
}

static int folder_link(struct world *w, const char *from, const char *path)
{
    struct folder *f = w->state;
    struct ic_inode *dir, *inode;
    const char *name;
    int rc = folder_resolve(f, from, &inode);

    if (rc < 0)
        return rc;
    rc = folder_resolve_parent(f, path, &dir, &name);
    if (rc == 0) {
        rc = ic_linkat(f->ic, inode, dir, name, NULL);
        ic_inode_unref(dir);
    }
    ic_inode_unref(inode);
    return rc;
}

static int remove_path(struct folder *f, const char *path, int flags)
{
    struct ic_inode *dir;
    const char *name;
    int rc = folder_resolve_parent(f, path, &dir, &name);

    if (rc < 0)
        return rc;
    rc = ic_unlinkat(f->ic, dir, name, flags);
    ic_inode_unref(dir);
    return rc;
}

static int folder_unlink(struct world *w, const char *path)
{
    return remove_path(w->state, path, 0);
}

static int folder_rmdir(struct world *w, const char *path)
{
    return remove_path(w->state, path, AT_REMOVEDIR);
}

static int folder_rename(struct world *w, const char *from, const char *to,
                         unsigned flags)
{
    struct folder *f = w->state;
    struct ic_inode *from_dir, *to_dir;
    const char *from_name, *to_name;
    int rc = folder_resolve_parent(f, from, &from_dir, &from_name);

    if (rc < 0)
        return rc;
    rc = folder_resolve_parent(f, to, &to_dir, &to_name);
    if (rc == 0) {
        rc = ic_renameat2(f->ic, from_dir, from_name, to_dir, to_name, flags);
        ic_inode_unref(to_dir);
    }
    ic_inode_unref(from_dir);
    return rc;
}

/* ---- inodes -------------------------------------------------------------- */

static int set_attr(struct world *w, const char *path,
                    const struct ic_setattr *attr)
{
    struct folder *f = w->state;
    struct ic_inode *inode;
    int rc = folder_resolve(f, path, &inode);

    if (rc < 0)
        return rc;
    rc = ic_setattr(f->ic, inode, -1, attr, NULL);
    ic_inode_unref(inode);
    return rc;
}

static int folder_chmod(struct world *w, const char *path, mode_t mode)
{
    struct ic_setattr attr = { .valid = IC_SET_MODE, .mode = mode };

    return set_attr(w, path, &attr);
}

static int folder_chown(struct world *w, const char *path, uid_t uid, gid_t gid)
{
    struct ic_setattr attr = { .valid = IC_SET_UID | IC_SET_GID,
                               .uid = uid,
                               .gid = gid };

    return set_attr(w, path, &attr);
}

static int folder_utimes(struct world *w, const char *path,
                         const struct timespec times[2])
{
    struct ic_setattr attr = { .valid = IC_SET_ATIME | IC_SET_MTIME,
                               .atime = times[0],
                               .mtime = times[1] };

    return set_attr(w, path, &attr);
}

static int folder_truncate(struct world *w, const char *path, off_t size)
{
    struct ic_setattr attr = { .valid = IC_SET_SIZE, .size = size };

    return set_attr(w, path, &attr);
}

static int folder_setxattr(struct world *w, const char *path, const char *name,
                           const void *value, size_t len)
{
    struct folder *f = w->state;
    struct ic_inode *inode;
    int rc = folder_resolve(f, path, &inode);

    if (rc < 0)
        return rc;
    rc = ic_setxattr(f->ic, inode, name, value, len, 0);
    ic_inode_unref(inode);
    return rc;
}

static int folder_removexattr(struct world *w, const char *path,
                              const char *name)
{
    struct folder *f = w->state;
    struct ic_inode *inode;
    int rc = folder_resolve(f, path, &inode);

    if (rc < 0)
        return rc;
    rc = ic_removexattr(f->ic, inode, name);
    ic_inode_unref(inode);
    return rc;
}

static int folder_stat(struct world *w, const char *path, struct stat *ret_stat)
{
    struct folder *f = w->state;
    struct ic_inode *inode;
    int rc = folder_resolve(f, path, &inode);

    if (rc < 0)
        return rc;
    rc = ic_stat(f->ic, inode, ret_stat);
    ic_inode_unref(inode);
    return rc;
}

static json_t *folder_request(struct world *w, const char *type,
                              json_t *payload, GError **error)
{
    struct folder *f = w->state;

    return control_client_request(f->client, type, payload, error);
}

static json_t *folder_event(struct world *w, const char *type)
{
    struct folder *f = w->state;

    return control_client_take_event(f->client, type);
}

static struct ic *folder_engine(struct world *w)
{
    struct folder *f = w->state;

    return f->ic;
}

static json_t *folder_error_data(struct world *w)
{
    struct folder *f = w->state;

    return control_client_error_data(f->client);
}

static json_t *folder_wait_event(struct world *w, const char *type)
{
    struct folder *f = w->state;

    return control_client_wait_event(f->client, type);
}

#define FOLDER_OPERATIONS                                                      \
    .start = folder_start, .stop = folder_stop, .kill = folder_kill,           \
    .put = folder_put, .mkdir = folder_mkdir, .mknod = folder_mknod,           \
    .symlink = folder_symlink, .link = folder_link, .unlink = folder_unlink,   \
    .rmdir = folder_rmdir, .rename = folder_rename, .chmod = folder_chmod,     \
    .chown = folder_chown, .utimes = folder_utimes,                            \
    .truncate = folder_truncate, .setxattr = folder_setxattr,                  \
    .removexattr = folder_removexattr, .fallocate = folder_fallocate,          \
    .copy_range = folder_copy_range, .stat = folder_stat,                      \
    .chdir = folder_chdir, .open = folder_open, .tmpfile = folder_tmpfile,     \
    .write = folder_write, .write_as = folder_write_as,                        \
    .mmap_write = folder_mmap_write,                                           \
    .handle_truncate = folder_handle_truncate,                                 \
    .handle_link = folder_handle_link, .handle_stat = folder_handle_stat,      \
    .close = folder_close, .request = folder_request, .event = folder_event,   \
    .wait_event = folder_wait_event, .error_data = folder_error_data,          \
    .engine = folder_engine

const struct world_backend world_folder = { .name = "folder",
                                            FOLDER_OPERATIONS };
const struct world_backend world_folder_copy = { .name = "folder-copy",
                                                 .log_elsewhere = true,
                                                 FOLDER_OPERATIONS };
