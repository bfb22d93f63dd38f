/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost-user-init-test - how options change what a guest is offered.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/virtiofs/fuse_client.h"

/* ---- flags --------------------------------------------------------------- */

struct flag_case {
    const char *id;
    const char *arguments[3];
    uint64_t with, without; /* of the flags in INIT's reply */
};

static const struct flag_case flag_cases[] = {
    { "default",
      { NULL },
      FUSE_DO_READDIRPLUS | FUSE_HANDLE_KILLPRIV_V2 | FUSE_ATOMIC_O_TRUNC |
          FUSE_INIT_EXT,
      FUSE_WRITEBACK_CACHE | FUSE_SUBMOUNTS | FUSE_POSIX_LOCKS |
          FUSE_FLOCK_LOCKS },
    { "no-readdirplus",
      { "-o", "no_readdirplus" },
      FUSE_INIT_EXT,
      FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO },
    { "no-killpriv",
      { "-o", "no_killpriv_v2" },
      FUSE_INIT_EXT,
      FUSE_HANDLE_KILLPRIV_V2 | FUSE_ATOMIC_O_TRUNC },
    { "writeback", { "--writeback" }, FUSE_WRITEBACK_CACHE, 0 },
    { "o-writeback", { "-o", "writeback" }, FUSE_WRITEBACK_CACHE, 0 },
    { "submounts", { "--announce-submounts" }, FUSE_SUBMOUNTS, 0 },
    { "libvirt",
      { "-o", "cache=always,sandbox=chroot,xattr,no_flock,posix_lock" },
      FUSE_POSIX_LOCKS | FUSE_CACHE_SYMLINKS,
      FUSE_FLOCK_LOCKS },
};

static void test_flags(gconstpointer data)
{
    const struct flag_case *test = data;
    struct client *client = client_new(0, test->arguments);
    struct fuse_init_out out = fuse_client_init(client);
    uint64_t flags = out.flags | (uint64_t)out.flags2 << 32;

    g_assert_cmphex(flags & test->with, ==, test->with);
    g_assert_cmphex(flags & test->without, ==, 0);
    client_free(client);
}

/* ---- times --------------------------------------------------------------- */

static void test_timeout(void)
{
    static const char *const arguments[] = { "-o", "timeout=2.5", NULL };
    struct client *client = fuse_client_new(0, arguments);
    struct fuse_entry_out entry;
    uint64_t node, fh;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "f", &entry), ==, 0);
    g_assert_cmpuint(entry.entry_valid, ==, 2);
    g_assert_cmpuint(entry.entry_valid_nsec, ==, 500000000);
    g_assert_cmpuint(entry.attr_valid_nsec, ==, 500000000);
    client_free(client);
}

/* The client is not notified of an undo: it must not cache names, which may be
 * another file's by now, and cache attributes for at most a second. */
static void test_undo(gconstpointer cache)
{
    g_autofree char *folder = g_dir_make_tmp("init-test-XXXXXX", NULL);
    g_autofree char *log = g_build_filename(folder, "log", NULL);
    g_autofree char *remove = g_strdup_printf("rm -rf '%s'", folder);
    const char *const arguments[] = { "-o", cache, "--undo-dir", log, NULL };
    struct client *client = client_new(0, arguments);
    struct fuse_init_out init = fuse_client_init(client);
    bool is_auto = strcmp(cache, "cache=always") == 0;
    struct fuse_open_in in = { .flags = O_RDONLY };
    struct iovec args[] = { PIECE(in) };
    struct fuse_entry_out entry;
    const struct fuse_open_out *open;
    const void *reply;
    uint64_t node, fh;

    g_assert_cmphex(init.flags & FUSE_AUTO_INVAL_DATA, ==,
                    is_auto ? FUSE_AUTO_INVAL_DATA : 0);
    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "f", &entry), ==, 0);
    g_assert_cmpuint(entry.entry_valid, ==, 0);
    g_assert_cmpuint(entry.attr_valid, ==, 1);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_OPEN, node, args,
                                     1, sizeof(*open), &reply, NULL),
                    ==, 0);
    open = reply;
    g_assert_cmphex(open->open_flags, ==, is_auto ? 0 : FOPEN_DIRECT_IO);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_OPENDIR, ROOT,
                                     args, 1, sizeof(*open), &reply, NULL),
                    ==, 0);
    open = reply;
    g_assert_cmphex(open->open_flags, ==, 0);
    client_free(client);
    g_assert_true(g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL));
}

/* ---- a client that writes later ------------------------------------------ */

/* With write-back the client reads the rest of a page in a file that it has
 * open only for writing. */
static void test_writeback(void)
{
    static const char *const arguments[] = { "--writeback", NULL };
    struct client *client = fuse_client_new(0, arguments);
    uint64_t node, fh;
    const void *back;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_WRONLY, &node, &fh),
                    ==, 0);
    g_assert_cmpint(fuse_client_write(client, fh, 0, "hello", 5, 0), ==, 5);
    g_assert_cmpint(fuse_client_read(client, fh, 0, 5, &back), ==, 5);
    g_assert_cmpmem(back, 5, "hello", 5);
    g_assert_cmpint(fuse_client_open(client, node, O_WRONLY, 0, &fh), ==, 0);
    g_assert_cmpint(fuse_client_read(client, fh, 1, 4, &back), ==, 4);
    client_free(client);
}

/* ---- submounts ----------------------------------------------------------- */

/* Enter a mount namespace together with the daemon. */
static bool has_own_mounts(void)
{
    if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        return true;
    g_test_skip("only root can mount here");
    return false;
}

static uint32_t submount_flag(struct client *client, const char *name)
{
    struct fuse_entry_out entry;

    g_assert_cmpint(fuse_client_lookup(client, ROOT, name, &entry), ==, 0);
    return entry.attr.flags & FUSE_ATTR_SUBMOUNT;
}

static void test_submounts(gconstpointer data)
{
    bool announced = GPOINTER_TO_INT(data);
    const char *const arguments[] = { announced ? "--announce-submounts" : NULL,
                                      "--sandbox=none", NULL };
    g_autofree char *plain = NULL, *mounted = NULL;
    struct client *client;

    if (!has_own_mounts())
        return;
    client = fuse_client_new(0, announced ? arguments : arguments + 1);
    plain = client_host_path(client, "plain");
    mounted = client_host_path(client, "mounted");
    g_assert_cmpint(mkdir(plain, 0755), ==, 0);
    g_assert_cmpint(mkdir(mounted, 0755), ==, 0);
    g_assert_cmpint(mount("tmpfs", mounted, "tmpfs", 0, NULL), ==, 0);
    g_assert_cmphex(submount_flag(client, "plain"), ==, 0);
    g_assert_cmphex(submount_flag(client, "mounted"), ==,
                    announced ? FUSE_ATTR_SUBMOUNT : 0);
    g_assert_cmpint(umount2(mounted, MNT_DETACH), ==, 0);
    client_free(client);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(flag_cases); i++) {
        g_autofree char *path = g_strdup_printf("/init/flags/%s",
                                                flag_cases[i].id);

        if (geteuid() == 0 || !g_str_equal(flag_cases[i].id, "libvirt"))
            g_test_add_data_func(path, &flag_cases[i], test_flags);
    }
    g_test_add_func("/init/timeout", test_timeout);
    g_test_add_data_func("/init/undo/always", "cache=always", test_undo);
    g_test_add_data_func("/init/undo/metadata", "cache=metadata", test_undo);
    g_test_add_data_func("/init/undo/timeout", "cache=none,timeout=60",
                         test_undo);
    g_test_add_func("/init/writeback", test_writeback);
    g_test_add_data_func("/init/submounts/announced", GINT_TO_POINTER(1),
                         test_submounts);
    g_test_add_data_func("/init/submounts/not", GINT_TO_POINTER(0),
                         test_submounts);
    return g_test_run();
}
