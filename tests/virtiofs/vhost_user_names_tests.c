/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user_names_tests - invalid names, and the cost of lookups.
 *
 * Also extended attributes that are shorter than announced, and how long an
 * inode that was looked up is kept.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/virtiofs/fuse_client.h"
#include "tests/virtiofs/vhost_user_tests.h"

static int call_name(struct client *client, uint32_t opcode, size_t struct_size,
                     const void *name, size_t size)
{
    static const char zeros[64];
    struct iovec args[] = { { (void *)zeros, struct_size },
                            { (void *)name, size } };

    return fuse_client_call(client, FUSE_QUEUE, opcode, ROOT, args, 2, 512,
                            NULL, NULL);
}

/* Each opcode that makes a name, and its struct. */
static void test_new_names(void)
{
    static const struct {
        uint32_t opcode;
        size_t size;
    } makers[] = {
        { FUSE_MKNOD, sizeof(struct fuse_mknod_in) },
        { FUSE_MKDIR, sizeof(struct fuse_mkdir_in) },
        { FUSE_CREATE, sizeof(struct fuse_create_in) },
        { FUSE_LINK, sizeof(struct fuse_link_in) },
        { FUSE_RENAME, sizeof(struct fuse_rename_in) },
        { FUSE_RENAME2, sizeof(struct fuse_rename2_in) },
    };
    static const char *const names[] = { "", "..", ".", "a/b", "/", "../x" };
    struct client *client = fuse_client_new(0, NULL);
    g_autofree char *huge = g_strnfill(65536, 'n');

    for (size_t i = 0; i < G_N_ELEMENTS(makers); i++) {
        uint32_t opcode = makers[i].opcode;

        for (size_t k = 0; k < G_N_ELEMENTS(names); k++)
            g_assert_cmpint(call_name(client, opcode, makers[i].size, names[k],
                                      strlen(names[k]) + 1),
                            ==, -EINVAL);
        /* Without a terminator. */
        g_assert_cmpint(call_name(client, opcode, makers[i].size, huge, 65536),
                        ==, -EINVAL);
    }
    /* The second name is missing. */
    g_assert_cmpint(call_name(client, FUSE_RENAME,
                              sizeof(struct fuse_rename_in), "f\0x", 3),
                    ==, -EINVAL);
    g_assert_cmpint(call_name(client, FUSE_SYMLINK, 0, "f\0x", 3), ==, -EINVAL);
    g_assert_cmpint(call_name(client, FUSE_SYMLINK, 0, "..\0x", 5), ==,
                    -EINVAL);
    client_free(client);
}

/* A name ends at its NUL, whatever follows. */
static void test_name_with_nul(void)
{
    struct client *client = fuse_client_new(0, NULL);
    g_autofree char *path = client_host_path(client, "d");
    g_autoptr(GDir) dir = NULL;

    g_assert_cmpint(call_name(client, FUSE_MKDIR, sizeof(struct fuse_mkdir_in),
                              "d\0/../../x", 11),
                    ==, 0);
    g_assert_true(g_file_test(path, G_FILE_TEST_IS_DIR));
    dir = g_dir_open(client->share, 0, NULL);
    g_assert_cmpstr(g_dir_read_name(dir), ==, "d");
    g_assert_null(g_dir_read_name(dir));
    client_free(client);
}

static int xattr_call(struct client *client, uint32_t opcode, uint32_t size,
                      const char *name, size_t name_size)
{
    uint32_t in[2] = { size, 0 };
    struct iovec args[] = { PIECE(in), { (void *)name, name_size } };

    return fuse_client_call(client, FUSE_QUEUE, opcode, ROOT, args, 2, 512,
                            NULL, NULL);
}

/* Values shorter than announced, and names without a terminator. */
static void test_xattrs(void)
{
    struct client *client = fuse_client_new(0, NULL);
    g_autofree char *huge = g_strnfill(65536, 'n');
    static const uint32_t lies[] = { 2, 65536, 1u << 31, UINT32_MAX };

    for (size_t i = 0; i < G_N_ELEMENTS(lies); i++)
        g_assert_cmpint(
            xattr_call(client, FUSE_SETXATTR, lies[i], "user.x\0v", 8), ==,
            -EINVAL);
    g_assert_cmpint(xattr_call(client, FUSE_SETXATTR, 1, "user.x", 6), ==,
                    -EINVAL);
    g_assert_cmpint(xattr_call(client, FUSE_GETXATTR, 9, huge, 65536), ==,
                    -EINVAL);
    huge[65535] = 0;
    g_assert_cmpint(xattr_call(client, FUSE_GETXATTR, 9, huge, 65536), ==,
                    -ERANGE);
    g_assert_cmpint(xattr_call(client, FUSE_SETXATTR, 0, huge, 65536), ==,
                    -ERANGE);
    client_free(client);
}

static void test_names(void)
{
    struct client *client = fuse_client_new(0, NULL);
    static const char *const names[] = { "", "..", ".", "a/b", "/", "../x" };
    g_autofree char *longest = g_strnfill(256, 'n');
    g_autofree char *huge = g_strnfill(70000, 'n');
    struct fuse_entry_out entry;
    struct iovec no_nul = { (void *)"abc", 3 };
    uint64_t node;

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_assert_cmpint(fuse_client_mkdir(client, ROOT, names[i], &node), ==,
                        -EINVAL);
        g_assert_cmpint(fuse_client_remove(client, FUSE_RMDIR, ROOT, names[i]),
                        ==, -EINVAL);
        g_assert_cmpint(
            fuse_client_rename(client, ROOT, names[i], ROOT, "y", 0), ==,
            -EINVAL);
        g_assert_cmpint(
            fuse_client_rename(client, ROOT, "y", ROOT, names[i], 0), ==,
            -EINVAL);
    }
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "a/b", &entry), ==,
                    -EINVAL);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, longest, &entry), ==,
                    -ENAMETOOLONG);
    g_assert_cmpint(fuse_client_mkdir(client, ROOT, huge, &node), ==,
                    -ENAMETOOLONG);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_LOOKUP, ROOT,
                                     &no_nul, 1, 128, NULL, NULL),
                    ==, -EINVAL);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_UNLINK, ROOT,
                                     &no_nul, 1, 0, NULL, NULL),
                    ==, -EINVAL);
    client_free(client);
}

/* ---- names that are looked up -------------------------------------------- */

enum { N_FILES = 100, OLD_ENOUGH_US = 150000 };

/* Start a daemon with old files, and a client that caches names this long. */
static struct client *start_with_files(const char *cache)
{
    const char *const arguments[] = { "--cache", cache, NULL };
    struct client *client = fuse_client_new(0, arguments);

    for (int i = 0; i < N_FILES; i++) {
        g_autofree char *path = g_strdup_printf("%s/f%02d", client->share, i);

        g_assert_true(g_file_set_contents(path, "x", 1, NULL));
    }
    g_usleep(OLD_ENOUGH_US);
    return client;
}

static uint64_t look_up(struct client *client, int i)
{
    g_autofree char *name = g_strdup_printf("f%02d", i);
    struct fuse_entry_out entry;

    g_assert_cmpint(fuse_client_lookup(client, ROOT, name, &entry), ==, 0);
    g_assert_cmpuint(entry.attr.size, ==, 1);
    return entry.nodeid;
}

static int unlink_file(struct client *client, int i)
{
    g_autofree char *name = g_strdup_printf("f%02d", i);

    return fuse_client_remove(client, FUSE_UNLINK, ROOT, name);
}

/* Return how many files that opens. */
static unsigned look_up_all(struct client *client)
{
    unsigned before = client_count_fds(client);
    struct fuse_attr attr;

    for (int i = 0; i < N_FILES; i++) {
        g_assert_cmpint(fuse_client_getattr(client, look_up(client, i), &attr),
                        ==, 0);
        g_assert_cmpuint(attr.size, ==, 1);
    }
    return client_count_fds(client) - before;
}

/* If names are looked up each time, the first lookup opens nothing. */
static void test_lookups(gconstpointer cache)
{
    struct client *client = start_with_files(cache);
    bool kept = strcmp(cache, "auto") == 0;

    if (kept)
        g_assert_cmpuint(look_up_all(client), ==, N_FILES);
    else
        g_assert_cmpuint(look_up_all(client), <, N_FILES / 4);
    if (!kept)
        g_assert_cmpuint(look_up_all(client), >, N_FILES / 2);
    client_free(client);
}

/* A user of the inode, other than the remover, keeps it. */
static void test_lookups_removed(gconstpointer cache)
{
    struct client *client = start_with_files(cache);
    bool kept = strcmp(cache, "auto") == 0;
    uint64_t once = look_up(client, 0), twice = look_up(client, 1);
    struct fuse_attr attr;

    g_assert_cmpuint(look_up(client, 1), ==, twice);
    g_assert_cmpint(unlink_file(client, 0), ==, 0);
    g_assert_cmpint(unlink_file(client, 1), ==, 0);
    g_assert_cmpint(fuse_client_getattr(client, once, &attr), ==,
                    kept ? 0 : -ESTALE);
    g_assert_cmpint(fuse_client_getattr(client, twice, &attr), ==, 0);
    g_assert_cmpuint(attr.nlink, ==, 0);
    fuse_client_forget(client, once, 1);
    fuse_client_forget(client, twice, 2);
    g_assert_cmpint(fuse_client_getattr(client, twice, &attr), ==, -ESTALE);
    client_free(client);
}

void add_vhost_user_names_tests(void)
{
    g_test_add_func("/vhost-user/names/not-names", test_names);
    g_test_add_func("/vhost-user/names/new-names", test_new_names);
    g_test_add_func("/vhost-user/names/name-with-nul", test_name_with_nul);
    g_test_add_func("/vhost-user/names/xattrs", test_xattrs);
    g_test_add_data_func("/vhost-user/names/lookups/never", "never",
                         test_lookups);
    g_test_add_data_func("/vhost-user/names/lookups/auto", "auto",
                         test_lookups);
    g_test_add_data_func("/vhost-user/names/lookups/removed/never", "never",
                         test_lookups_removed);
    g_test_add_data_func("/vhost-user/names/lookups/removed/auto", "auto",
                         test_lookups_removed);
}
