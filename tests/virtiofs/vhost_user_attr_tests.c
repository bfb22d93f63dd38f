/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user_attr_tests - attributes and extended attributes.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/virtiofs/fuse_client.h"
#include "tests/virtiofs/vhost_user_tests.h"

static struct stat host_stat(const struct client *client, const char *name)
{
    g_autofree char *path = client_host_path(client, name);
    struct stat st;

    g_assert_cmpint(lstat(path, &st), ==, 0);
    return st;
}

static void test_attributes(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_setattr_in in = { .valid = FATTR_MODE | FATTR_SIZE |
                                           FATTR_MTIME | FATTR_FH,
                                  .mode = 0640,
                                  .size = 12345,
                                  .mtime = 1000000000,
                                  .mtimensec = 123456789 };
    struct fuse_attr attr;
    struct stat st;
    uint64_t node, fh;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    in.fh = fh;
    g_assert_cmpint(fuse_client_setattr(client, node, &in, &attr), ==, 0);
    g_assert_cmphex(attr.mode, ==, S_IFREG | 0640);
    g_assert_cmpuint(attr.size, ==, 12345);
    g_assert_cmpuint(attr.mtime, ==, 1000000000);
    g_assert_cmpuint(attr.mtimensec, ==, 123456789);
    st = host_stat(client, "f");
    g_assert_cmpint(st.st_size, ==, 12345);
    g_assert_cmpint(st.st_mtim.tv_nsec, ==, 123456789);
    g_assert_cmpuint(attr.ino, ==, st.st_ino);
    in = (struct fuse_setattr_in){ .valid = FATTR_MTIME | FATTR_MTIME_NOW };
    g_assert_cmpint(fuse_client_setattr(client, node, &in, &attr), ==, 0);
    g_assert_cmpuint(attr.mtime, >, 1000000000);
    if (geteuid() == 0) {
        in = (struct fuse_setattr_in){ .valid = FATTR_UID | FATTR_GID,
                                       .uid = 12,
                                       .gid = 34 };
        g_assert_cmpint(fuse_client_setattr(client, node, &in, &attr), ==, 0);
        g_assert_cmpuint(host_stat(client, "f").st_uid, ==, 12);
        g_assert_cmpuint(host_stat(client, "f").st_gid, ==, 34);
    }
    in = (struct fuse_setattr_in){ .valid = FATTR_SIZE, .size = 1ull << 63 };
    g_assert_cmpint(fuse_client_setattr(client, node, &in, &attr), ==, -EINVAL);
    client_free(client);
}

static void test_statx(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_statx_in in = { .sx_mask = STATX_BASIC_STATS | STATX_BTIME };
    struct iovec args[] = { PIECE(in) };
    const struct fuse_statx_out *out;
    const void *reply;
    struct stat st = host_stat(client, "");

    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_STATX, ROOT, args,
                                     1, sizeof(*out), &reply, NULL),
                    ==, 0);
    out = reply;
    g_assert_cmpuint(out->stat.ino, ==, st.st_ino);
    g_assert_cmpuint(out->stat.mode, ==, st.st_mode);
    g_assert_cmpint(out->stat.mtime.tv_sec, ==, st.st_mtim.tv_sec);
    client_free(client);
}

static int set_xattr(struct client *client, uint64_t node, const char *name,
                     const void *value, uint32_t size, uint32_t flags)
{
    uint32_t in[2] = { size, flags };
    struct iovec args[] = { PIECE(in), TEXT(name), { (void *)value, size } };

    return fuse_client_call(client, FUSE_QUEUE, FUSE_SETXATTR, node, args, 3, 0,
                            NULL, NULL);
}

static int get_xattr(struct client *client, uint32_t opcode, uint64_t node,
                     const char *name, uint32_t size, const void **ret_value,
                     uint32_t *ret_len)
{
    struct fuse_getxattr_in in = { .size = size };
    struct iovec args[] = { PIECE(in), TEXT(name) };

    return fuse_client_call(client, FUSE_QUEUE, opcode, node, args,
                            opcode == FUSE_GETXATTR ? 2 : 1, MAX(size, 8),
                            ret_value, ret_len);
}

static void test_xattrs(void)
{
    struct client *client = fuse_client_new(0, NULL);
    const char *name = "user.test";
    struct iovec remove_args[] = { TEXT(name) };
    const struct fuse_getxattr_out *out;
    const void *value;
    uint64_t node, fh;
    uint32_t len;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    g_assert_cmpint(set_xattr(client, node, name, "\0v", 2, XATTR_REPLACE), ==,
                    -ENODATA);
    g_assert_cmpint(set_xattr(client, node, name, "\0value", 6, XATTR_CREATE),
                    ==, 0);
    g_assert_cmpint(
        get_xattr(client, FUSE_GETXATTR, node, name, 0, &value, &len), ==, 0);
    out = value;
    g_assert_cmpuint(out->size, ==, 6);
    g_assert_cmpint(
        get_xattr(client, FUSE_GETXATTR, node, name, 3, &value, &len), ==,
        -ERANGE);
    g_assert_cmpint(
        get_xattr(client, FUSE_GETXATTR, node, name, 100, &value, &len), ==, 0);
    g_assert_cmpmem(value, len, "\0value", 6);
    g_assert_cmpint(
        get_xattr(client, FUSE_LISTXATTR, node, "", 100, &value, &len), ==, 0);
    g_assert_cmpmem(value, len, "user.test", 10);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_REMOVEXATTR, node,
                                     remove_args, 1, 0, NULL, NULL),
                    ==, 0);
    g_assert_cmpint(
        get_xattr(client, FUSE_GETXATTR, node, name, 100, &value, &len), ==,
        -ENODATA);
    client_free(client);
}

/* The guest's trusted attributes are user attributes of the host. */
static void test_xattr_map(void)
{
    static const char *const arguments[] = {
        "--xattrmap", ":map:trusted.:user.virtiofs.:", NULL
    };
    struct client *client = fuse_client_new(0, arguments);
    g_autofree char *path = client_host_path(client, "f");
    struct iovec remove_args[] = { TEXT("trusted.t") };
    const void *value;
    uint64_t node, fh;
    uint32_t len;
    char found[8];

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    g_assert_cmpint(set_xattr(client, node, "trusted.t", "v", 1, 0), ==, 0);
    g_assert_cmpint(
        getxattr(path, "user.virtiofs.trusted.t", found, sizeof(found)), ==, 1);
    g_assert_cmpint(
        set_xattr(client, node, "user.virtiofs.trusted.t", "w", 1, 0), ==,
        -EPERM);
    g_assert_cmpint(get_xattr(client, FUSE_GETXATTR, node,
                              "user.virtiofs.trusted.t", 9, &value, &len),
                    ==, -ENODATA);
    g_assert_cmpint(
        get_xattr(client, FUSE_GETXATTR, node, "trusted.t", 9, &value, &len),
        ==, 0);
    g_assert_cmpmem(value, len, "v", 1);
    g_assert_cmpint(
        get_xattr(client, FUSE_LISTXATTR, node, "", 100, &value, &len), ==, 0);
    g_assert_cmpmem(value, len, "trusted.t", 10);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_REMOVEXATTR, node,
                                     remove_args, 1, 0, NULL, NULL),
                    ==, 0);
    g_assert_cmpint(listxattr(path, found, sizeof(found)), ==, 0);
    client_free(client);
}

/* A chown() that changes no owner clears suid bits; this checks the result, and
 * that a client with a write cache gets a new ctime, too. */
static void test_chown_to_nobody(void)
{
    static const char *const arguments[] = { "--allow-suid", NULL };
    static const uint32_t valid[] = { 0, FATTR_CTIME };
    struct client *client = fuse_client_new(0, arguments);
    uint64_t node, fh;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(valid); i++) {
        struct fuse_setattr_in suid = { .valid = FATTR_MODE, .mode = 04755 };
        struct fuse_setattr_in in = { .valid = valid[i], .ctime = 1 };
        struct fuse_attr attr;

        g_assert_cmpint(fuse_client_setattr(client, node, &suid, &attr), ==, 0);
        g_assert_cmpuint(attr.mode & 07777, ==, 04755);
        g_assert_cmpint(fuse_client_setattr(client, node, &in, &attr), ==, 0);
        g_assert_cmpuint(attr.mode & 07777, ==, 0755);
    }
    client_free(client);
}

/* By default no file remains that grants other users of the host rights. */
static void test_grants(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_setattr_in suid = { .valid = FATTR_MODE | FATTR_UID,
                                    .mode = 04755,
                                    .uid = geteuid() };
    struct fuse_mknod_in mknod = { .mode = S_IFBLK | 0600, .rdev = 8 << 8 };
    struct iovec args[] = { PIECE(mknod), { (void *)"new", 4 } };
    struct fuse_attr attr;
    uint64_t node, fh;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    g_assert_cmpint(fuse_client_setattr(client, node, &suid, &attr), ==,
                    -EPERM);
    g_assert_cmpint(set_xattr(client, node, "security.capability", "v", 1, 0),
                    ==, -EPERM);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_MKNOD, ROOT, args,
                                     2, sizeof(struct fuse_entry_out), NULL,
                                     NULL),
                    ==, -EPERM);
    mknod.mode = S_IFREG | 04755;
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_MKNOD, ROOT, args,
                                     2, sizeof(struct fuse_entry_out), NULL,
                                     NULL),
                    ==, -EPERM);
    client_free(client);
}

/* A write clears a file's capabilities, even if the host's kernel does not
 * recognise them. */
static void test_capabilities(void)
{
    static const char *const arguments[] = { "--xattrmap",
                                             ":map::user.virtiofs.:", NULL };
    struct client *client = fuse_client_new(0, arguments);
    static const char name[] = "security.capability";
    const void *value;
    uint64_t node, fh;
    uint32_t len;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    g_assert_cmpint(set_xattr(client, node, name, "v", 1, 0), ==, 0);
    g_assert_cmpint(fuse_client_write(client, fh, 0, "", 0, 0), ==, 0);
    g_assert_cmpint(
        get_xattr(client, FUSE_GETXATTR, node, name, 9, &value, &len), ==, 0);
    g_assert_cmpint(fuse_client_write(client, fh, 0, "x", 1, 0), ==, 1);
    g_assert_cmpint(
        get_xattr(client, FUSE_GETXATTR, node, name, 9, &value, &len), ==,
        -ENODATA);
    client_free(client);
}

void add_vhost_user_attr_tests(void)
{
    g_test_add_func("/vhost-user/attributes/set", test_attributes);
    g_test_add_func("/vhost-user/attributes/statx", test_statx);
    g_test_add_func("/vhost-user/attributes/xattrs", test_xattrs);
    g_test_add_func("/vhost-user/attributes/xattrmap", test_xattr_map);
    g_test_add_func("/vhost-user/attributes/grants", test_grants);
    g_test_add_func("/vhost-user/attributes/chown-to-nobody",
                    test_chown_to_nobody);
    g_test_add_func("/vhost-user/attributes/capabilities", test_capabilities);
}
