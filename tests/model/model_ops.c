/* SPDX-License-Identifier: Apache-2.0
 *
 * model_ops - see model_run.h: the changes of the tree.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/model/model_run.h"

enum { MAX_DATA = 1 << 20, USER = 1234 };

/* Pattern 0 is all zeros: data, not a hole. */
static char *make_data(int64_t len, int64_t pattern)
{
    char *data = g_malloc0((gsize)len + 1);

    for (int64_t i = 0; pattern && i < len; i++)
        data[i] = (char)(pattern * (i >> 9) + i + pattern);
    return data;
}

static int change_put(struct model *m, const struct model_op *op)
{
    int64_t len = CLAMP(op->numbers[1], 0, MAX_DATA);
    g_autofree char *data = make_data(len, op->numbers[3]);

    return m->w->backend->put(m->w, op->names[0], (int)op->numbers[0], data,
                              (size_t)len, op->numbers[2]);
}

static int change_put_user(struct model *m, const struct model_op *op)
{
    int64_t len = CLAMP(op->numbers[0], 0, MAX_DATA);
    g_autofree char *data = make_data(len, 7);

    return m->w->backend->write_as(m->w, op->names[0], USER, data, (size_t)len,
                                   op->numbers[1]);
}

static int change_deep(struct model *m, const struct model_op *op)
{
    g_autoptr(GString) path = g_string_new(op->names[0]);
    int rc = m->w->backend->mkdir(m->w, path->str, 0755);

    for (int64_t i = 1; rc == 0 && i < op->numbers[0]; i++) {
        g_string_append(path, "/n");
        rc = m->w->backend->mkdir(m->w, path->str, 0755);
    }
    return rc;
}

static int change_remove(struct model *m, const struct model_op *op)
{
    int rc = m->w->backend->unlink(m->w, op->names[0]);

    return rc == -EISDIR ? m->w->backend->rmdir(m->w, op->names[0]) : rc;
}

/* List the directory's content, on the host. */
static GPtrArray *list(struct model *m, const char *path)
{
    g_autofree char *full = world_host_path(m->w, path);
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    int fd = open(full, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            g_ptr_array_add(names, g_strdup(entry->d_name));
    }
    if (dir)
        closedir(dir);
    return names;
}

static int remove_tree(struct model *m, const char *path)
{
    g_autoptr(GPtrArray) names = NULL;
    int rc = m->w->backend->unlink(m->w, path);

    if (rc != -EISDIR)
        return rc;
    names = list(m, path);
    for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        g_autofree char *child = g_strdup_printf("%s/%s", path, name);

        rc = remove_tree(m, child);
        if (rc < 0)
            return rc;
    }
    return m->w->backend->rmdir(m->w, path);
}

static int change_utimes(struct model *m, const struct model_op *op)
{
    struct timespec times[2] = {
        { .tv_sec = 5 },
        { .tv_sec = op->numbers[0], .tv_nsec = op->numbers[1] },
    };

    return m->w->backend->utimes(m->w, op->names[0], times);
}

static int change_setxattr(struct model *m, const struct model_op *op)
{
    int64_t len = CLAMP(op->numbers[0], 0, 65536);
    g_autofree char *value = make_data(len, op->numbers[1]);

    return m->w->backend->setxattr(m->w, op->names[0], op->names[1], value,
                                   (size_t)len);
}

/* acl(5) in the kernel's format: a version, then tag, permissions, id. */
static void add_acl_entry(GByteArray *acl, guint16 tag, guint16 bits,
                          guint32 id)
{
    guint16 head[2] = { GUINT16_TO_LE(tag), GUINT16_TO_LE(bits) };

    id = GUINT32_TO_LE(id);
    g_byte_array_append(acl, (guint8 *)head, sizeof(head));
    g_byte_array_append(acl, (guint8 *)&id, sizeof(id));
}

static int change_acl(struct model *m, const struct model_op *op)
{
    enum { OWNER = 1, USER_ID = 2, GROUP = 4, MASK = 16, OTHER = 32 };
    const guint32 version = GUINT32_TO_LE(2), none = G_MAXUINT32;
    g_autoptr(GByteArray) acl = g_byte_array_new();
    gint64 users = CLAMP(op->numbers[0], 0, 20);

    g_byte_array_append(acl, (const guint8 *)&version, sizeof(version));
    add_acl_entry(acl, OWNER, 7, none);
    for (gint64 i = 0; i < users; i++)
        add_acl_entry(acl, USER_ID, (guint16)(i % 8), (guint32)(1000 + i));
    add_acl_entry(acl, GROUP, 5, none);
    if (users > 0)
        add_acl_entry(acl, MASK, 6, none);
    add_acl_entry(acl, OTHER, (guint16)(users % 8), none);
    return m->w->backend->setxattr(m->w, op->names[0], op->names[1], acl->data,
                                   acl->len);
}

/* ---- handles ------------------------------------------------------------- */

static void **slot_of(struct model *m, int64_t number)
{
    return &m->handles[(uint64_t)number % MODEL_SLOTS];
}

static void close_slot(struct model *m, void **slot)
{
    if (*slot)
        m->w->backend->close(m->w, *slot);
    *slot = NULL;
}

void model_close_handles(struct model *m)
{
    for (guint i = 0; i < MODEL_SLOTS; i++)
        close_slot(m, &m->handles[i]);
}

static int change_open(struct model *m, const struct model_op *op)
{
    void **slot = slot_of(m, op->numbers[0]);
    struct stat st;

    close_slot(m, slot);
    if (op->kind == MODEL_TMPFILE)
        *slot = m->w->backend->tmpfile(m->w, op->names[0], O_RDWR);
    else
        *slot = m->w->backend->open(m->w, op->names[0], (int)op->numbers[1]);
    if (!*slot)
        return -errno;
    if (m->w->backend->handle_stat(m->w, *slot, &st) < 0 ||
        !S_ISREG(st.st_mode))
        close_slot(m, slot); /* a folder */
    return 0;
}

static int change_handle(struct model *m, const struct model_op *op)
{
    bool link = op->kind == MODEL_HLINK;
    void **slot = slot_of(m, op->numbers[0]);
    int64_t len = CLAMP(op->numbers[1], 0, MAX_DATA);
    g_autofree char *data = NULL;

    if (!*slot)
        return -ENOENT;
    m->linked |= link;
    m->ever_linked |= link;
    if (link)
        return m->w->backend->handle_link(m->w, *slot, op->names[0]);
    if (op->kind == MODEL_HTRUNC)
        return m->w->backend->handle_truncate(m->w, *slot, op->numbers[1]);
    if (op->kind == MODEL_HCLOSE) {
        close_slot(m, slot);
        return 0;
    }
    data = make_data(len, op->numbers[3]);
    return m->w->backend->write(m->w, *slot, data, (size_t)len, op->numbers[2]);
}

/* ---- dispatch ------------------------------------------------------------ */

int model_change(struct model *m, const struct model_op *op)
{
    const struct world_backend *b = m->w->backend;
    const char *a = op->names[0], *c = op->names[1];
    const int64_t *n = op->numbers;

    switch (op->kind) {
    case MODEL_PUT:
        return change_put(m, op);
    case MODEL_PUT_USER:
        return change_put_user(m, op);
    case MODEL_MKDIR:
        return b->mkdir(m->w, a, (mode_t)n[0]);
    case MODEL_DEEP:
        return change_deep(m, op);
    case MODEL_MKNOD:
        return b->mknod(m->w, a, (mode_t)n[0], (dev_t)n[1]);
    case MODEL_SYMLINK:
        return b->symlink(m->w, a, c);
    case MODEL_LINK:
        m->linked = m->ever_linked = true;
        return b->link(m->w, a, c);
    case MODEL_REMOVE:
        return change_remove(m, op);
    case MODEL_RMTREE:
        return remove_tree(m, a);
    case MODEL_RENAME:
        return b->rename(m->w, a, c, (unsigned)n[0]);
    case MODEL_CHMOD:
        return b->chmod(m->w, a, (mode_t)n[0]);
    case MODEL_CHOWN:
        return b->chown(m->w, a, (uid_t)n[0], (gid_t)n[1]);
    case MODEL_UTIMES:
        return change_utimes(m, op);
    case MODEL_TRUNCATE:
        return b->truncate(m->w, a, n[0]);
    case MODEL_SETXATTR:
        return change_setxattr(m, op);
    case MODEL_ACL:
        return change_acl(m, op);
    case MODEL_RMXATTR:
        return b->removexattr(m->w, a, c);
    case MODEL_ALLOCATE:
        return b->fallocate(m->w, a, (int)n[0], n[1], n[2]);
    case MODEL_COPY:
        return b->copy_range(m->w, a, c, n[0], n[1], (size_t)n[2]);
    case MODEL_OPEN:
    case MODEL_TMPFILE:
        return change_open(m, op);
    default:
        return change_handle(m, op);
    }
}
