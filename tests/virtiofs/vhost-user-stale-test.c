/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost-user-stale-test - nodes of removed files and directories.
 *
 * Undo or another process has removed them, and a guest still has the node.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/virtiofs/guest_steps.h"

static const struct iovec old_text = { (void *)"old", 3 };

static uint64_t make_file(struct guest *g, uint64_t dir, const char *name,
                          uint64_t *ret_fh)
{
    uint64_t node;

    OK(fuse_client_create(g->client, dir, name, O_RDWR, &node, ret_fh));
    g_assert_cmpint(fuse_client_write(g->client, *ret_fh, 0, old_text.iov_base,
                                      (uint32_t)old_text.iov_len, 0),
                    ==, 3);
    return node;
}

static void expect_content(struct guest *g, const char *name,
                           const char *expected)
{
    g_autofree char *path = g_build_filename(g->client->share, name, NULL);
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, expected);
}

static int set_size(struct guest *g, uint64_t node)
{
    struct fuse_setattr_in in = { .valid = FATTR_SIZE };
    struct fuse_attr attr;

    return fuse_client_setattr(g->client, node, &in, &attr);
}

/* A file can be read, and not changed, until redo has restored it. */
static void removed_file(void)
{
    struct guest *g = guest_new();
    uint64_t node, fh, again;
    const void *data;

    guest_step_open(g, 1);
    node = make_file(g, FUSE_ROOT_ID, "f", &fh);
    guest_step_close(g, 1);
    guest_undo(g);
    STALE(fuse_client_open(g->client, node, O_WRONLY, 0, &again));
    STALE(fuse_client_open(g->client, node, O_WRONLY | O_TRUNC, 0, &again));
    STALE(fuse_client_write(g->client, fh, 0, "new", 3, 0));
    STALE(set_size(g, node));
    g_assert_cmpint(fuse_client_read(g->client, fh, 0, 9, &data), ==, 3);
    guest_redo(g);
    expect_content(g, "f", "old");
    g_assert_cmpint(fuse_client_write(g->client, fh, 0, "new", 3, 0), ==, 3);
    expect_content(g, "f", "new");
    guest_free(g);
}

static void removed_folder(void)
{
    struct guest *g = guest_new();
    struct fuse_entry_out entry;
    uint64_t dir, node, fh;

    guest_step_open(g, 1);
    OK(fuse_client_mkdir(g->client, FUSE_ROOT_ID, "d", &dir));
    make_file(g, dir, "f", &fh);
    guest_step_close(g, 1);
    guest_undo(g);
    STALE(fuse_client_lookup(g->client, dir, "f", &entry));
    STALE(fuse_client_create(g->client, dir, "g", O_RDWR, &node, &fh));
    STALE(fuse_client_mkdir(g->client, dir, "g", &node));
    STALE(fuse_client_rename(g->client, FUSE_ROOT_ID, "victim", dir, "g", 0));
    STALE(fuse_client_remove(g->client, FUSE_UNLINK, dir, "f"));
    g_assert_true(guest_exists(g, "victim"));
    guest_redo(g);
    expect_content(g, "d/f", "old");
    OK(fuse_client_create(g->client, dir, "g", O_RDWR, &node, &fh));
    guest_free(g);
}

/* What the guest itself removed remains usable. */
static void own_removal(void)
{
    struct guest *g = guest_new();
    struct fuse_entry_out entry;
    uint64_t node, fh, dir, again;

    guest_step_open(g, 1);
    node = make_file(g, FUSE_ROOT_ID, "f", &fh);
    OK(fuse_client_mkdir(g->client, FUSE_ROOT_ID, "d", &dir));
    guest_step_close(g, 1);
    guest_undo(g);
    guest_redo(g);
    /* Linux looks up what it is about to remove. */
    OK(fuse_client_lookup(g->client, FUSE_ROOT_ID, "f", &entry));
    OK(fuse_client_remove(g->client, FUSE_UNLINK, FUSE_ROOT_ID, "f"));
    OK(fuse_client_lookup(g->client, FUSE_ROOT_ID, "d", &entry));
    OK(fuse_client_remove(g->client, FUSE_RMDIR, FUSE_ROOT_ID, "d"));
    g_assert_cmpint(fuse_client_write(g->client, fh, 0, "new", 3, 0), ==, 3);
    OK(fuse_client_open(g->client, node, O_RDWR, 0, &again));
    OK(set_size(g, node));
    g_assert_cmpint(fuse_client_mkdir(g->client, dir, "e", &node), ==, -ENOENT);
    guest_free(g);
}

/* By default no name is cached, so that none can lead to another file. */
static void names(gconstpointer cache)
{
    const char *arguments[] = { cache, NULL };
    struct guest *g = guest_new_with(arguments);
    struct fuse_entry_out entry;

    OK(fuse_client_lookup(g->client, FUSE_ROOT_ID, "victim", &entry));
    g_assert_cmpuint(entry.entry_valid, ==, 0);
    g_assert_cmpuint(entry.entry_valid_nsec, ==, 0);
    guest_free(g);
}

/* Without a log names are cached, and another process may remove one. */
static void removed_outside(void)
{
    struct client *client = fuse_client_new(0, NULL);
    g_autofree char *path = client_host_path(client, "f");
    struct fuse_setattr_in in = { .valid = FATTR_SIZE };
    struct fuse_attr attr;
    uint64_t node, fh, again;

    OK(fuse_client_create(client, FUSE_ROOT_ID, "f", O_RDWR, &node, &fh));
    OK(fuse_client_open(client, node, O_WRONLY, 0, &again));
    OK(g_unlink(path));
    STALE(fuse_client_open(client, node, O_WRONLY, 0, &again));
    STALE(fuse_client_setattr(client, node, &in, &attr));
    g_assert_cmpint(fuse_client_write(client, fh, 0, "x", 1, 0), ==, 1);
    client_free(client);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stale/removed-file", removed_file);
    g_test_add_func("/stale/removed-folder", removed_folder);
    g_test_add_func("/stale/own-removal", own_removal);
    g_test_add_data_func("/stale/names/default", NULL, names);
    g_test_add_data_func("/stale/names/auto", "--cache=auto", names);
    g_test_add_data_func("/stale/names/always", "--cache=always", names);
    g_test_add_data_func("/stale/names/never", "--cache=never", names);
    g_test_add_func("/stale/removed-outside", removed_outside);
    return g_test_run();
}
