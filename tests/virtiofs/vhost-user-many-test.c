/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost-user-many-test - a guest with more files than fds.
 *
 * It knows more files than the daemon may have open. STEPBACK_MANY_FILES and
 * STEPBACK_MANY_LIMIT set how many; a million with 4096 takes some minutes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/virtiofs/fuse_client.h"

enum { PER_FOLDER = 1000 };

#define OK(call) g_assert_cmpint((call), ==, 0)

static unsigned number(const char *variable, unsigned otherwise)
{
    const char *text = g_getenv(variable);

    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void make_tree(const struct client *client, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *dir = g_strdup_printf("%s/%u", client->share,
                                               i / PER_FOLDER);
        g_autofree char *path = g_strdup_printf("%s/%u", dir, i % PER_FOLDER);
        int fd;

        if (i % PER_FOLDER == 0)
            OK(mkdir(dir, 0755));
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
        g_assert_cmpint(fd, >=, 0);
        close(fd);
    }
}

struct known {
    uint64_t node, ino;
};

static void look_up_all(struct client *client, unsigned n, struct known *known)
{
    struct fuse_entry_out dir = { 0 }, file;

    for (unsigned i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%u", i / PER_FOLDER);
        if (i % PER_FOLDER == 0)
            OK(fuse_client_lookup(client, ROOT, name, &dir));
        snprintf(name, sizeof(name), "%u", i % PER_FOLDER);
        OK(fuse_client_lookup(client, dir.nodeid, name, &file));
        known[i] = (struct known){ file.nodeid, file.attr.ino };
    }
}

static void use_all(struct client *client, unsigned n,
                    const struct known *known)
{
    struct fuse_attr attr;

    for (unsigned i = 0; i < n; i++) {
        /* Spread widely, and each one. */
        const struct known *one = &known[(uint64_t)i * 7919 % n];

        OK(fuse_client_getattr(client, one->node, &attr));
        g_assert_cmpuint(attr.ino, ==, one->ino);
    }
}

static void test_many(gconstpointer data)
{
    unsigned n = number("STEPBACK_MANY_FILES", data ? 5000 : 20000);
    unsigned limit = number("STEPBACK_MANY_LIMIT", 512);
    g_autofree char *option = g_strdup_printf("--rlimit-nofile=%u", limit);
    const char *const arguments[] = { option, data, NULL };
    struct client *client = fuse_client_new(0, arguments);
    g_autofree struct known *known = g_new(struct known, n);
    unsigned long before = client_resident(client), after;
    gint64 start;

    make_tree(client, n);
    start = g_get_monotonic_time();
    look_up_all(client, n, known);
    after = client_resident(client);
    g_test_message("%u files looked up: %.1f us each, %u fds of %u, %lu bytes "
                   "of memory each",
                   n, (double)(g_get_monotonic_time() - start) / n,
                   client_count_fds(client), limit,
                   (after - before) * 1024 / n);
    g_assert_cmpuint(client_count_fds(client), <, limit);
    start = g_get_monotonic_time();
    use_all(client, n, known);
    g_test_message("used again: %.1f us each",
                   (double)(g_get_monotonic_time() - start) / n);
    g_assert_cmpuint(client_count_fds(client), <, limit);
    g_assert_cmpuint((after - before) * 1024 / n, <, 1024);
    for (unsigned i = 0; i < n; i++)
        fuse_client_forget(client, known[i].node, 1);
    client_free(client);
}

/* Create files until there are no more fds: a thread may have closed one just
 * now. */
static int create_all(struct client *client, char name[16], GArray *open_files)
{
    enum { MOST = 50 };
    uint64_t node, fh;
    int r = 0;

    for (unsigned i = 0; r == 0 && i < MOST; i++) {
        g_snprintf(name, 16, "new%u", i);
        r = fuse_client_create(client, ROOT, name, O_RDWR, &node, &fh);
        if (r == 0)
            g_array_append_val(open_files, fh);
    }
    return r;
}

/* A refused create leaves no file. */
static void expect_nothing_made(struct client *client, GArray *open_files)
{
    char name[16];
    g_autofree char *path = NULL;
    uint64_t node;

    g_assert_cmpint(create_all(client, name, open_files), ==, -ENFILE);
    path = client_host_path(client, name);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    g_assert_cmpint(fuse_client_mkdir(client, ROOT, name, &node), ==, -ENFILE);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

/* Open until there are no more fds, also after a moment: a thread that has
 * replied may still have one to close. */
static int open_all(struct client *client, const struct known *known,
                    GArray *open_files)
{
    enum { MOMENT_US = 50000 };
    bool again = false;
    uint64_t fh;

    for (;;) {
        int r = fuse_client_open(client, known[open_files->len].node, O_RDONLY,
                                 0, &fh);

        if (r == 0)
            g_array_append_val(open_files, fh);
        else if (again)
            return r;
        else
            g_usleep(MOMENT_US);
        again = r != 0;
    }
}

/* Open files belong to the guest: when they use up all fds, it gets an error.
 */
static void test_no_more(void)
{
    const char *const arguments[] = { "--rlimit-nofile=512", NULL };
    struct client *client = fuse_client_new(0, arguments);
    g_autoptr(GArray) open_files = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    struct fuse_attr attr;
    struct known known[1000];

    make_tree(client, 1000);
    look_up_all(client, 1000, known);
    g_assert_cmpint(open_all(client, known, open_files), ==, -ENFILE);
    g_assert_cmpuint(open_files->len, >, 150);
    OK(fuse_client_getattr(client, ROOT, &attr));
    expect_nothing_made(client, open_files);
    for (unsigned i = 0; i < open_files->len; i++)
        OK(fuse_client_release(client, FUSE_RELEASE, known[i].node,
                               g_array_index(open_files, uint64_t, i)));
    use_all(client, 1000, known);
    client_free(client);
}

int main(int argc, char **argv)
{
    umask(0);
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/many/by-name", NULL, test_many);
    g_test_add_data_func("/many/by-handle", "--inode-file-handles=prefer",
                         test_many);
    g_test_add_func("/many/no-more", test_no_more);
    return g_test_run();
}
