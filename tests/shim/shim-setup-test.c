/* SPDX-License-Identifier: Apache-2.0
 *
 * shim-setup-test - certificates and git identity in a system's files; those of
 * a mounted folder stay as they are.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "shim/setup.h"

#define BUNDLE    "etc/ssl/certs/ca-certificates.crt"
#define HOST_FILE "usr/local/share/ca-certificates/stepback-host.crt"
#define OWN       "own\n"
#define GIVEN     "given\n"

static const struct setup given = { .certificates = GIVEN };
static const struct setup nothing = { 0 };

struct world {
    char *root;
    char error[256];
    bool mounts;
};

static char *path_of(const struct world *world, const char *name)
{
    return g_build_filename(world->root, name, NULL);
}

static void make_folder(const struct world *world, const char *name)
{
    g_autofree char *path = path_of(world, name);

    g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
}

static void write_text(const struct world *world, const char *name,
                       const char *text)
{
    g_autofree char *path = path_of(world, name);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void link_to(const struct world *world, const char *target,
                    const char *name)
{
    g_autofree char *path = path_of(world, name);

    g_assert_cmpint(symlink(target, path), ==, 0);
}

/* text: NULL: there is no such file. */
static void expect_text(const struct world *world, const char *name,
                        const char *text)
{
    g_autofree char *path = path_of(world, name), *found = NULL;

    g_file_get_contents(path, &found, NULL, NULL);
    g_test_message("%s", name);
    g_assert_cmpstr(found, ==, text);
}

static void expect_part(const struct world *world, const char *name,
                        const char *part)
{
    g_autofree char *path = path_of(world, name), *found = NULL;

    g_assert_true(g_file_get_contents(path, &found, NULL, NULL));
    g_assert_nonnull(strstr(found, part));
}

static bool apply(struct world *world, const struct setup *setup)
{
    *world->error = '\0';
    return setup_apply(setup, world->error, sizeof(world->error));
}

/* Mount an empty file system, as a shared folder is. Return whether the user
 * can. */
static bool mount_at(struct world *world, const char *name)
{
    g_autofree char *path = path_of(world, name);

    if (!world->mounts)
        g_test_skip("no mounts for this user");
    else
        g_assert_cmpint(mount("tmpfs", path, "tmpfs", 0, NULL), ==, 0);
    return world->mounts;
}

static void unmount(const struct world *world, const char *name)
{
    g_autofree char *path = path_of(world, name);

    g_assert_cmpint(umount2(path, MNT_DETACH), ==, 0);
}

/* ---- cases --------------------------------------------------------------- */

static void test_files(struct world *world, gconstpointer data)
{
    for (int i = 0; i < 2; i++) {
        g_assert_true(apply(world, &given));
        expect_text(world, HOST_FILE, GIVEN);
        expect_text(world, BUNDLE,
                    OWN "# BEGIN certificates of the host (stepback)\n" GIVEN
                        "# END certificates of the host (stepback)\n");
        g_assert_nonnull(setup_variable(SETUP_VARIABLES - 1));
    }
    g_assert_true(apply(world, &nothing));
    expect_text(world, HOST_FILE, NULL);
    expect_text(world, BUNDLE, OWN);
    g_assert_null(setup_variable(0));
    g_assert_true(apply(world, &nothing));
}

static void test_identity(struct world *world, gconstpointer data)
{
    const struct setup setup = { .git_name = "A \"B\"" };

    g_assert_true(apply(world, &setup));
    expect_text(world, "etc/stepback/gitconfig",
                "[user]\n\tname = \"A \\\"B\\\"\"\n");
    expect_part(world, "etc/gitconfig", "/etc/stepback/gitconfig");
    g_assert_true(apply(world, &nothing));
    expect_text(world, "etc/stepback/gitconfig", NULL);
}

/* As in Fedora, where the folder is another one's name. */
static void test_links(struct world *world, gconstpointer data)
{
    g_autofree char *certs = path_of(world, "etc/ssl/certs");
    g_autofree char *aside = path_of(world, "etc/ssl/aside");

    make_folder(world, "etc/pki/certs");
    link_to(world, "/etc/pki/certs", "etc/linked");
    write_text(world, "etc/pki/certs/ca-certificates.crt", "other\n");
    g_assert_cmpint(g_rename(certs, aside), ==, 0);
    link_to(world, "/etc/linked", "etc/ssl/certs");
    g_assert_true(apply(world, &given));
    expect_part(world, "etc/pki/certs/ca-certificates.crt", GIVEN);
    expect_text(world, "etc/ssl/aside/ca-certificates.crt", OWN);
}

static void expect_refusal(struct world *world, const char *path)
{
    g_assert_false(apply(world, &given));
    g_test_message("%s", world->error);
    g_assert_true(g_str_has_prefix(world->error, path));
    g_assert_nonnull(strstr(world->error, "another file system"));
    g_assert_null(setup_variable(0));
}

/* data: the folder that is mounted, the file in it, the path of the error. */
static void test_mounted(struct world *world, gconstpointer data)
{
    const char *const *names = data;

    make_folder(world, names[0]);
    if (!mount_at(world, names[0]))
        return;
    expect_refusal(world, names[2]);
    expect_text(world, names[1], NULL);
    unmount(world, names[0]);
    g_assert_true(apply(world, &given));
    expect_part(world, BUNDLE, GIVEN);
}

/* The system has a link to a shared folder. */
static void test_link_to_mount(struct world *world, gconstpointer data)
{
    g_autofree char *bundle = path_of(world, BUNDLE);

    make_folder(world, "workspace");
    if (!mount_at(world, "workspace"))
        return;
    write_text(world, "workspace/theirs.crt", "theirs\n");
    g_assert_cmpint(g_unlink(bundle), ==, 0);
    link_to(world, "/workspace/theirs.crt", BUNDLE);
    expect_refusal(world, "/" BUNDLE);
    expect_text(world, "workspace/theirs.crt", "theirs\n");
    unmount(world, "workspace");
}

static const char *const bundle[] = { "etc/ssl/certs", BUNDLE, ("/" BUNDLE) };
static const char *const etc[] = { "etc", BUNDLE, ("/" BUNDLE) };
static const char *const local[] = { "usr/local", HOST_FILE, ("/" HOST_FILE) };

/* ---- the world ----------------------------------------------------------- */

static bool enter_namespace(void)
{
    return unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool can_mount;

static void set_up(struct world *world, gconstpointer data)
{
    world->root = g_dir_make_tmp("shim-setup-XXXXXX", NULL);
    world->mounts = can_mount;
    g_assert_nonnull(world->root);
    make_folder(world, "etc/ssl/certs");
    make_folder(world, "usr/local");
    write_text(world, BUNDLE, OWN);
    setup_open(world->root);
}

static void tear_down(struct world *world, gconstpointer data)
{
    const char *argv[] = { "rm", "-rf", "--", world->root, NULL };

    g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH,
                               NULL, NULL, NULL, NULL, NULL, NULL));
    g_free(world->root);
}

#define ADD(name, data, function)                                              \
    g_test_add("/shim-setup/" name, struct world, data, set_up, function,      \
               tear_down)

int main(int argc, char **argv)
{
    can_mount = enter_namespace();
    g_test_init(&argc, &argv, NULL);
    ADD("the-bundle-gets-certificates-once", NULL, test_files);
    ADD("git-includes-the-identity", NULL, test_identity);
    ADD("links-within-the-system-are-followed", NULL, test_links);
    ADD("a-mounted-bundle-stays", bundle, test_mounted);
    ADD("a-mounted-etc-stays", etc, test_mounted);
    ADD("a-mounted-usr-local-stays", local, test_mounted);
    ADD("a-link-to-a-mounted-folder-is-refused", NULL, test_link_to_mount);
    return g_test_run();
}
