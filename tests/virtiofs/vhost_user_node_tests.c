/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user_node_tests - forgotten nodes, and handles of removed files.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/virtiofs/fuse_client.h"
#include "tests/virtiofs/vhost_user_tests.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

/* As many in one request as Linux sends at once. */
static void test_forget_many(void)
{
    enum { N = 65536 };
    struct client *client = fuse_client_new(0, NULL);
    size_t size = N * sizeof(struct fuse_forget_one);
    g_autofree struct fuse_forget_one *one = g_malloc0(size);
    struct fuse_in_header head = { .opcode = FUSE_BATCH_FORGET };
    struct fuse_batch_forget_in forget = { .count = N };
    struct iovec in[] = { PIECE(head), PIECE(forget), { one, size } };
    struct fuse_attr attr;
    uint64_t first, last;
    uint32_t len;

    OK(fuse_client_mkdir(client, ROOT, "first", &first));
    OK(fuse_client_mkdir(client, ROOT, "last", &last));
    head.len = (uint32_t)(sizeof(head) + sizeof(forget) + size);
    one[0] = (struct fuse_forget_one){ .nodeid = first, .nlookup = 1 };
    one[N - 1] = (struct fuse_forget_one){ .nodeid = last, .nlookup = 1 };
    client_submit(client, 0, in, 3, 0);
    client_reap(client, 0, &len);
    g_assert_cmpuint(len, ==, 0);
    g_assert_cmpint(fuse_client_getattr(client, first, &attr), ==, -ESTALE);
    g_assert_cmpint(fuse_client_getattr(client, last, &attr), ==, -ESTALE);
    client_free(client);
}

/* A handle must be closed by the request of its kind. */
static void test_release_other(void)
{
    struct client *client = fuse_client_new(0, NULL);
    uint64_t node, file, dir;

    OK(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &file));
    OK(fuse_client_opendir(client, ROOT, &dir));
    g_assert_cmpint(fuse_client_release(client, FUSE_RELEASE, ROOT, dir), ==,
                    -EBADF);
    g_assert_cmpint(fuse_client_release(client, FUSE_RELEASEDIR, node, file),
                    ==, -EBADF);
    OK(fuse_client_release(client, FUSE_RELEASE, node, file));
    OK(fuse_client_release(client, FUSE_RELEASEDIR, ROOT, dir));
    client_free(client);
}

/* An unlinked file exists as long as the guest knows it. */
static void test_unlinked(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_attr attr;
    const void *data;
    uint64_t node, fh;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    g_assert_cmpint(fuse_client_write(client, fh, 0, "alive", 5, 0), ==, 5);
    g_assert_cmpint(fuse_client_remove(client, FUSE_UNLINK, ROOT, "f"), ==, 0);
    g_assert_cmpint(fuse_client_getattr(client, node, &attr), ==, 0);
    g_assert_cmpuint(attr.nlink, ==, 0);
    g_assert_cmpint(fuse_client_read(client, fh, 0, 10, &data), ==, 5);
    g_assert_cmpmem(data, 5, "alive", 5);
    client_free(client);
}

void add_vhost_user_node_tests(void)
{
    g_test_add_func("/vhost-user/nodes/forget-many", test_forget_many);
    g_test_add_func("/vhost-user/handles/release-other", test_release_other);
    g_test_add_func("/vhost-user/nodes/unlinked", test_unlinked);
}
