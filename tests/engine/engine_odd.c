/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_odd - cases of engine_cases.h: rarely used ways of changing a tree.
 *
 * What the file system or the mount does not support is skipped.
 */
#include "tests/lib/engine_cases.h"

#include <errno.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Not possible here: make some other change, so that there is a step. */
static void skip(struct world *w, const char *why)
{
    g_test_skip(why);
    WRITE("run.sh", "in place of what cannot be done here");
}

static bool is_unsupported(int rc)
{
    return rc == -EOPNOTSUPP || rc == -ENODEV || rc == -ENOSYS;
}

static void host_xattr(struct world *w, const char *path, const char *name,
                       const void *value, size_t len)
{
    g_autofree char *full = world_host_path(w, path);

    if (lsetxattr(full, name, value, len, 0) < 0)
        g_assert_cmpint(errno, ==, EOPNOTSUPP);
}

static void host_mode(struct world *w, const char *path, mode_t mode)
{
    g_autofree char *full = world_host_path(w, path);

    OK(chmod(full, mode));
}

/* ---- content ------------------------------------------------------------- */

static void append(struct world *w)
{
    void *handle = w->backend->open(w, "large.bin", O_RDWR | O_APPEND);

    g_assert_nonnull(handle);
    OK(w->backend->put(w, "small.txt", O_APPEND, " and more", 9, 0));
    OK(w->backend->write(w, handle, "appended", 8, 0)); /* appends despite
                                                         * offset 0 */
    DO(truncate, "large.bin", 500000);
    OK(w->backend->write(w, handle, "appended again", 14, 0));
    w->backend->close(w, handle);
}

static void append_check(struct world *w, G_GNUC_UNUSED json_t *report)
{
    struct stat st;

    DO(stat, "large.bin", &st);
    g_assert_cmpint(st.st_size, ==, 500014);
}

static void mapped(struct world *w)
{
    int rc = w->backend->mmap_write(w, "large.bin", "through a mapping", 17,
                                    300000);

    if (rc == 0)
        rc = w->backend->mmap_write(w, "small.txt", "MAPPED", 6, 2);
    if (is_unsupported(rc))
        skip(w, "there are no shared mappings here");
    else
        OK(rc);
}

static void allocate(struct world *w, int mode, off_t offset, off_t len)
{
    int rc = w->backend->fallocate(w, "large.bin", mode, offset, len);

    if (is_unsupported(rc))
        skip(w, "this way of fallocate(2) is not known here");
    else
        OK(rc);
}

static void allocate_extend(struct world *w)
{
    allocate(w, 0, 900000, 300000);
}

static void allocate_keep_size(struct world *w)
{
    allocate(w, FALLOC_FL_KEEP_SIZE, 1000000, 300000);
    OK(w->backend->put(w, "large.bin", O_APPEND, "into it", 7, 0));
}

static void allocate_punch(struct world *w)
{
    allocate(w, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 400000);
    allocate(w, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 900000, 200000);
}

static void allocate_zero(struct world *w)
{
    allocate(w, FALLOC_FL_ZERO_RANGE, 130000, 2);
    allocate(w, FALLOC_FL_ZERO_RANGE, 900000, 400000);
}

static void allocate_zero_keep(struct world *w)
{
    allocate(w, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 262144, 800000);
}

static void allocate_collapse(struct world *w)
{
    allocate(w, FALLOC_FL_COLLAPSE_RANGE, 65536, 131072);
}

static void allocate_insert(struct world *w)
{
    allocate(w, FALLOC_FL_INSERT_RANGE, 65536, 131072);
}

static void copy_to_middle(struct world *w)
{
    OK(w->backend->put(w, "large.bin", 0, "0123456789", 10, 700000));
    DO(copy_range, "large.bin", "large.bin", 650000, 100000, 200000);
    DO(copy_range, "small.txt", "large.bin", 2, 131070, 6);
    DO(copy_range, "large.bin", "src/main.c", 699990, 10, 100);
}

static void tmpfile_link(struct world *w)
{
    void *handle = w->backend->tmpfile(w, "src", O_RDWR), *gone;
    struct stat st;

    if (!handle && is_unsupported(-errno)) {
        skip(w, "no O_TMPFILE here");
        return;
    }
    g_assert_nonnull(handle);
    OK(w->backend->write(w, handle, "without a name", 14, 0));
    OK(w->backend->handle_link(w, handle, "src/named"));
    OK(w->backend->write(w, handle, "with a name", 11, 0));
    DO(link, "src/named", "named-too");
    DO(stat, "named-too", &st);
    g_assert_cmpint(st.st_nlink, ==, 2);
    g_assert_cmpint(st.st_size, ==, 14);
    w->backend->close(w, handle);
    gone = w->backend->tmpfile(w, ".", O_RDWR); /* and one that never gets a
                                                 * name */
    g_assert_nonnull(gone);
    OK(w->backend->write(w, gone, "never", 5, 0));
    w->backend->close(w, gone);
}

static void tmpfile_check(struct world *w, json_t *report)
{
    struct stat st;

    if (w->backend->stat(w, "src/named", &st) == 0)
        world_assert_affected(report, "src/named", "named-too", NULL);
}

static void fill_sparse(struct world *w)
{
    g_autofree char *path = world_host_path(w, "sparse");
    int fd;

    engine_fill_small(w);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    OK(ftruncate(fd, (8 << 20) + 100)); /* the end is in a hole, too */
    g_assert_cmpint(pwrite(fd, "middle", 6, 4 << 20), ==, 6);
    g_assert_cmpint(pwrite(fd, "\0\0\0", 3, 5 << 20), ==, 3);
    close(fd);
}

static void sparse_change(struct world *w)
{
    OK(w->backend->put(w, "sparse", 0, "in a hole", 9, 1 << 20));
    OK(w->backend->put(w, "sparse", 0, "between", 7, (4 << 20) - 3));
    OK(w->backend->put(w, "sparse", O_APPEND, "at the end", 10, 0));
    OK(w->backend->put(w, "sparse", 0, "zeros were here", 15, 5 << 20));
}

static void sparse_append(struct world *w)
{
    OK(w->backend->put(w, "sparse", O_APPEND, "only this", 9, 0));
}

static void after_unlink(struct world *w)
{
    void *large = w->backend->open(w, "large.bin", O_RDWR);
    void *hard = w->backend->open(w, "third", O_RDWR);

    OK(w->backend->write(w, large, "before", 6, 131000));
    DO(unlink, "large.bin");
    OK(w->backend->write(w, large, "after", 5, 400000));
    OK(w->backend->handle_truncate(w, large, 10));
    DO(unlink, "third");
    OK(w->backend->write(w, hard, "other names see this", 20, 0));
    CREATE("large.bin", "another");
    w->backend->close(w, large);
    w->backend->close(w, hard);
}

/* ---- names --------------------------------------------------------------- */

static void exchange_file_dir(struct world *w)
{
    DO(rename, "small.txt", "src", RENAME_EXCHANGE);
    OK(engine_put(w, "src", 0, "a file now"));
    DO(unlink, "small.txt/main.c");
    CREATE("small.txt/main.c", "a directory now");
}

static void exchange_dir_dir(struct world *w)
{
    DO(mkdir, "src/components/deep", 0700);
    DO(rename, "src/components", "empty-dir", RENAME_EXCHANGE);
    DO(rename, "empty-dir/deep", "src/components/deep", 0);
    DO(rename, "src", "empty-dir", RENAME_EXCHANGE);
    g_assert_cmpint(w->backend->rename(w, "src", "src/app.c", RENAME_EXCHANGE),
                    ==, -EINVAL);
}

static void noreplace(struct world *w)
{
    g_assert_cmpint(
        w->backend->rename(w, "small.txt", "large.bin", RENAME_NOREPLACE), ==,
        -EEXIST);
    g_assert_cmpint(w->backend->rename(w, "src", "empty-dir", RENAME_NOREPLACE),
                    ==, -EEXIST);
    DO(rename, "small.txt", "free", RENAME_NOREPLACE);
    DO(rename, "src", "empty-dir/src", RENAME_NOREPLACE);
}

static void noreplace_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "small.txt", "free", "src", "empty-dir/src",
                          NULL);
}

static void three_links(struct world *w)
{
    struct stat st;

    DO(rename, "run.sh", "src/hard", 0); /* over one of three names */
    WRITE("third", "both that are left");
    DO(stat, "small.txt", &st);
    g_assert_cmpint(st.st_nlink, ==, 2);
    DO(rename, "third", "large.bin", 0);
    DO(link, "large.bin", "run.sh");
}

/* ---- attributes ---------------------------------------------------------- */

struct acl_entry {
    guint16 tag, bits;
    guint32 id;
};

/* acl(5) in the kernel's format: a version, then these entries. */
static GByteArray *acl_new(const struct acl_entry *entries, size_t count)
{
    const guint32 version = GUINT32_TO_LE(2);
    GByteArray *acl = g_byte_array_new();

    g_byte_array_append(acl, (const guint8 *)&version, sizeof(version));
    for (size_t i = 0; i < count; i++) {
        struct acl_entry entry = { GUINT16_TO_LE(entries[i].tag),
                                   GUINT16_TO_LE(entries[i].bits),
                                   GUINT32_TO_LE(entries[i].id) };

        g_byte_array_append(acl, (const guint8 *)&entry, sizeof(entry));
    }
    return acl;
}

static GByteArray *acl_for(guint32 user, guint16 bits)
{
    const struct acl_entry entries[] = {
        { 1, 7, G_MAXUINT32 },  /* owner */
        { 2, bits, user },      /* a user */
        { 4, 5, G_MAXUINT32 },  /* group */
        { 16, 7, G_MAXUINT32 }, /* mask */
        { 32, 0, G_MAXUINT32 }, /* others */
    };

    return acl_new(entries, G_N_ELEMENTS(entries));
}

#define ACL_ACCESS  "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"

static void fill_acl(struct world *w)
{
    g_autoptr(GByteArray) acl = acl_for(1234, 6);

    engine_fill_small(w);
    host_xattr(w, "small.txt", ACL_ACCESS, acl->data, acl->len);
    host_xattr(w, "src", ACL_DEFAULT, acl->data, acl->len);
}

static void acl_change(struct world *w)
{
    g_autoptr(GByteArray) acl = acl_for(4321, 1);
    int rc = w->backend->setxattr(w, "run.sh", ACL_ACCESS, acl->data, acl->len);

    CREATE("src/inherits", "from the folder");
    DO(mkdir, "src/inherits-too", 0755);
    if (is_unsupported(rc)) {
        skip(w, "there are no ACLs here");
        return;
    }
    OK(rc);
    DO(setxattr, "small.txt", ACL_ACCESS, acl->data, acl->len);
    DO(chmod, "small.txt", 0604); /* changes the mask */
    DO(setxattr, "src", ACL_DEFAULT, acl->data, acl->len);
    CREATE("src/inherits-that", "from the folder");
    DO(setxattr, "empty-dir", ACL_DEFAULT, acl->data, acl->len);
}

static void acl_remove(struct world *w)
{
    int rc = w->backend->removexattr(w, "src", ACL_DEFAULT);

    if (is_unsupported(rc) || rc == -ENODATA) {
        skip(w, "there are no ACLs here");
        return;
    }
    OK(rc);
    DO(removexattr, "small.txt", ACL_ACCESS);
    DO(unlink, "small.txt");
}

static void fill_suid(struct world *w)
{
    engine_fill_small(w);
    host_mode(w, "large.bin", 06777);
    host_mode(w, "small.txt", 06777);
    host_mode(w, "run.sh", 04755);
    host_mode(w, "src", 03777);
}

/* The kernel clears these bits itself. */
static void suid_cleared(struct world *w)
{
    struct stat st;

    if (geteuid() != 0) {
        skip(w, "only root can change the user");
        return;
    }
    OK(w->backend->write_as(w, "large.bin", 1234, "by another", 10, 200000));
    DO(stat, "large.bin", &st);
    g_assert_cmpint(st.st_mode & 06000, ==, 0);
    DO(chown, "small.txt", 1234, 4321);
    DO(stat, "small.txt", &st);
    g_assert_cmpint(st.st_mode & 06000, ==, 0);
    DO(chown, "src", 1234, 4321);
    DO(truncate, "run.sh", 3);
}

/* VFS_CAP_REVISION_2, effective, and one capability. */
static const guint32 capability[5] = { GUINT32_TO_LE(0x02000001),
                                       GUINT32_TO_LE(1 << 10) };

static void fill_capability(struct world *w)
{
    engine_fill_small(w);
    if (geteuid() == 0) {
        host_xattr(w, "small.txt", "security.capability", capability,
                   sizeof(capability));
        host_xattr(w, "large.bin", "security.capability", capability,
                   sizeof(capability));
    }
}

static void capability_change(struct world *w)
{
    int rc = geteuid() == 0
                 ? w->backend->setxattr(w, "run.sh", "security.capability",
                                        capability, sizeof(capability))
                 : -EOPNOTSUPP;

    if (is_unsupported(rc)) {
        skip(w, "no file capabilities here");
        return;
    }
    OK(rc);
    OK(w->backend->write_as(w, "large.bin", 0, "a write drops it", 16, 0));
    DO(chown, "small.txt", 1234, 4321); /* and so does this */
}

/* ---- nodes --------------------------------------------------------------- */

static void fill_nodes(struct world *w)
{
    g_autofree char *fifo = world_host_path(w, "fifo");
    g_autofree char *sock = world_host_path(w, "sock");
    g_autofree char *null = world_host_path(w, "null");

    engine_fill_small(w);
    OK(mknod(fifo, S_IFIFO | 0640, 0));
    OK(mknod(sock, S_IFSOCK | 0600, 0));
    if (geteuid() == 0)
        OK(mknod(null, S_IFCHR | 0666, makedev(1, 3)));
}

static void nodes_change(struct world *w)
{
    struct timespec times[2] = { { 1, 1 }, { -5, 999999999 } };

    DO(chmod, "fifo", 0606);
    DO(utimes, "fifo", times);
    DO(link, "sock", "sock2");
    DO(rename, "fifo", "sock", 0);
    DO(mknod, "fifo", S_IFSOCK | 0777, 0);
    DO(rename, "src/main.c", "sock2", 0);
    if (geteuid() != 0)
        return;
    DO(chown, "null", 1234, 4321);
    DO(rename, "null", "src/null", 0);
    DO(mknod, "null", S_IFBLK | 0600, makedev(259, 1048575));
    DO(mknod, "null2", S_IFCHR | 0600, makedev(4095, 0));
    DO(unlink, "src/null");
}

const struct undo_case engine_odd_cases[] = {
    { "odd/append", engine_fill_small, append, append_check },
    { "odd/mmap", engine_fill_small, mapped },
    { "odd/fallocate-extend", engine_fill_small, allocate_extend },
    { "odd/fallocate-keep-size", engine_fill_small, allocate_keep_size },
    { "odd/fallocate-punch", engine_fill_small, allocate_punch },
    { "odd/fallocate-zero", engine_fill_small, allocate_zero },
    { "odd/fallocate-zero-keep-size", engine_fill_small, allocate_zero_keep },
    { "odd/fallocate-collapse", engine_fill_small, allocate_collapse },
    { "odd/fallocate-insert", engine_fill_small, allocate_insert },
    { "odd/copy-file-range-middle", engine_fill_small, copy_to_middle },
    { "odd/tmpfile-link", engine_fill_small, tmpfile_link, tmpfile_check },
    { "odd/sparse", fill_sparse, sparse_change },
    { "odd/sparse-append", fill_sparse, sparse_append },
    { "odd/write-after-unlink", engine_fill_links, after_unlink },
    { "odd/exchange-file-dir", engine_fill_small, exchange_file_dir },
    { "odd/exchange-dir-dir", engine_fill_small, exchange_dir_dir },
    { "odd/noreplace", engine_fill_small, noreplace, noreplace_check },
    { "odd/three-links", engine_fill_links, three_links },
    { "odd/acl", fill_acl, acl_change },
    { "odd/acl-remove", fill_acl, acl_remove },
    { "odd/suid-cleared", fill_suid, suid_cleared },
    { "odd/capability", fill_capability, capability_change },
    { "odd/nodes", fill_nodes, nodes_change },
};

const size_t engine_odd_cases_count = G_N_ELEMENTS(engine_odd_cases);
