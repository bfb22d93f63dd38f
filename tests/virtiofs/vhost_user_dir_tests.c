/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user_dir_tests - directories and lookup counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/virtiofs/fuse_client.h"
#include "tests/virtiofs/vhost_user_tests.h"

#define OK(call)  g_assert_cmpint((call), ==, 0)
#define N_ENTRIES 3000

static void make_files(const struct client *client, const char *dir, int n)
{
    g_autofree char *path = client_host_path(client, dir);

    g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
    for (int i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("%s/entry-%04d", path, i);

        g_assert_true(g_file_set_contents(name, "x", 1, NULL));
    }
}

/* The results of a walk over a directory. */
struct walk {
    GHashTable *names; /* name -> its node id, or 0 */
    GArray *offsets;   /* d_off of each entry, in order */
    uint64_t dots;     /* entries "." and ".." */
    uint64_t dot_nodes;
};

static void walk_init(struct walk *walk)
{
    *walk = (struct walk){
        .names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .offsets = g_array_new(FALSE, FALSE, sizeof(uint64_t)),
    };
}

static void walk_clear(struct walk *walk)
{
    g_hash_table_unref(walk->names);
    g_array_unref(walk->offsets);
}

static void note_entry(struct walk *walk, const struct fuse_dirent *dirent,
                       const struct fuse_entry_out *entry)
{
    g_autofree char *name = g_strndup(dirent->name, dirent->namelen);
    uint64_t node = entry ? entry->nodeid : 0;

    g_array_append_val(walk->offsets, dirent->off);
    if (name[0] == '.') {
        walk->dots++;
        walk->dot_nodes += node != 0;
        return;
    }
    if (node)
        g_assert_cmpuint(entry->attr.ino, ==, dirent->ino);
    g_assert_true(g_hash_table_insert(walk->names, g_steal_pointer(&name),
                                      g_memdup2(&node, sizeof(node))));
}

/* Note one reply's entries; returns the offset after the last. */
static uint64_t note_entries(struct walk *walk, bool plus, const char *data,
                             int len)
{
    size_t head = plus ? sizeof(struct fuse_entry_out) : 0;
    uint64_t offset = 0;

    for (int at = 0; at < len;) {
        struct fuse_dirent dirent;
        const struct fuse_dirent *p = (const struct fuse_dirent *)(data + at +
                                                                   head);

        g_assert_cmpint(at + (int)(head + FUSE_NAME_OFFSET), <=, len);
        memcpy(&dirent, p, FUSE_NAME_OFFSET);
        note_entry(walk, p,
                   plus ? (const struct fuse_entry_out *)(data + at) : NULL);
        offset = dirent.off;
        at += (int)FUSE_DIRENT_ALIGN(head + FUSE_NAME_OFFSET + dirent.namelen);
        g_assert_cmpint(at, <=, len);
    }
    return offset;
}

static void walk_from(struct client *client, struct walk *walk, uint32_t opcode,
                      uint64_t fh, uint64_t offset, uint32_t size)
{
    const void *data;
    int len;

    while ((len = fuse_client_readdir(client, opcode, fh, offset, size,
                                      &data)) > 0)
        offset = note_entries(walk, opcode == FUSE_READDIRPLUS, data, len);
    g_assert_cmpint(len, ==, 0);
}

static void test_walk(gconstpointer data)
{
    uint32_t opcode = GPOINTER_TO_UINT(data);
    struct client *client = fuse_client_new(0, NULL);
    static const uint32_t sizes[] = { 512, 4096, 32768, 1 << 20 };
    struct fuse_entry_out entry;
    uint64_t fh;

    make_files(client, "d", N_ENTRIES);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "d", &entry), ==, 0);
    g_assert_cmpint(fuse_client_opendir(client, entry.nodeid, &fh), ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        struct walk walk;

        walk_init(&walk);
        walk_from(client, &walk, opcode, fh, 0, sizes[i]);
        g_assert_cmpuint(g_hash_table_size(walk.names), ==, N_ENTRIES);
        g_assert_cmpuint(walk.dots, ==, 2);
        g_assert_cmpuint(walk.dot_nodes, ==, 0);
        walk_clear(&walk);
    }
    g_assert_cmpint(
        fuse_client_release(client, FUSE_RELEASEDIR, entry.nodeid, fh), ==, 0);
    client_free(client);
}

/* From the offset of any entry, exactly the remaining ones follow. */
static void test_seek(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct walk all;
    uint64_t fh;

    make_files(client, "", 500);
    g_assert_cmpint(fuse_client_opendir(client, ROOT, &fh), ==, 0);
    walk_init(&all);
    walk_from(client, &all, FUSE_READDIR, fh, 0, 4096);
    for (guint i = 37; i < all.offsets->len; i += 61) {
        struct walk rest;

        walk_init(&rest);
        walk_from(client, &rest, FUSE_READDIR, fh,
                  g_array_index(all.offsets, uint64_t, i), 1000);
        g_assert_cmpuint(rest.offsets->len, ==, all.offsets->len - i - 1);
        g_assert_cmpmem(rest.offsets->data, rest.offsets->len * 8,
                        all.offsets->data + (i + 1) * 8,
                        (all.offsets->len - i - 1) * 8);
        walk_clear(&rest);
    }
    walk_clear(&all);
    client_free(client);
}

static void test_sizes(void)
{
    struct client *client = fuse_client_new(0, NULL);
    const void *data;
    uint64_t fh;

    g_assert_cmpint(fuse_client_opendir(client, ROOT, &fh), ==, 0);
    /* "." and "..", in any order, with their padding are 32 bytes each. */
    g_assert_cmpint(fuse_client_readdir(client, FUSE_READDIR, fh, 0, 31, &data),
                    ==, -EINVAL);
    g_assert_cmpint(fuse_client_readdir(client, FUSE_READDIR, fh, 0, 32, &data),
                    ==, 32);
    g_assert_cmpint(fuse_client_readdir(client, FUSE_READDIRPLUS, fh, 0,
                                        32 + sizeof(struct fuse_entry_out),
                                        &data),
                    ==, 32 + (int)sizeof(struct fuse_entry_out));
    client_free(client);
}

/* After going back to 0 all changes are visible. */
static void test_rewind(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct walk walk;
    uint64_t fh;

    make_files(client, "", 3);
    g_assert_cmpint(fuse_client_opendir(client, ROOT, &fh), ==, 0);
    for (int i = 0; i < 3; i++) {
        g_autofree char *name = g_strdup_printf("entry-%04d", i);

        walk_init(&walk);
        walk_from(client, &walk, FUSE_READDIRPLUS, fh, 0, 4096);
        g_assert_cmpuint(g_hash_table_size(walk.names), ==, 3 - (guint)i);
        walk_clear(&walk);
        g_assert_cmpint(fuse_client_remove(client, FUSE_UNLINK, ROOT, name), ==,
                        0);
    }
    client_free(client);
}

/* READDIRPLUS counts a lookup for each entry that it describes. */
static void test_counts(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_entry_out entry;
    struct fuse_attr attr;
    struct walk walk;
    uint64_t fh, node;

    make_files(client, "", 1);
    g_assert_cmpint(fuse_client_opendir(client, ROOT, &fh), ==, 0);
    walk_init(&walk);
    walk_from(client, &walk, FUSE_READDIRPLUS, fh, 0, 4096);
    node = *(uint64_t *)g_hash_table_lookup(walk.names, "entry-0000");
    walk_clear(&walk);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "entry-0000", &entry), ==,
                    0);
    g_assert_cmpuint(entry.nodeid, ==, node);
    fuse_client_forget(client, node, 1);
    g_assert_cmpint(fuse_client_getattr(client, node, &attr), ==, 0);
    fuse_client_forget(client, node, 1);
    g_assert_cmpint(fuse_client_getattr(client, node, &attr), ==, -ESTALE);
    /* Looked up again, it has a new id: the old one is invalid. */
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "entry-0000", &entry), ==,
                    0);
    g_assert_cmpuint(entry.nodeid, !=, node);
    g_assert_cmpint(fuse_client_getattr(client, node, &attr), ==, -ESTALE);
    client_free(client);
}

static void test_forget_too_much(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_entry_out entry;
    struct fuse_attr attr;

    make_files(client, "", 1);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "entry-0000", &entry), ==,
                    0);
    fuse_client_forget(client, entry.nodeid, UINT64_MAX);
    fuse_client_forget(client, entry.nodeid, UINT64_MAX);
    fuse_client_forget(client, ROOT, UINT64_MAX);
    fuse_client_forget(client, 0, 1);
    fuse_client_forget(client, UINT64_MAX, 1);
    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, 0);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "entry-0000", &entry), ==,
                    0);
    g_assert_cmpint(fuse_client_getattr(client, entry.nodeid, &attr), ==, 0);
    client_free(client);
}

/* Return how many of n lookups found no descriptor; those that did are
 * forgotten. */
static int count_refused(struct client *client, int n)
{
    g_autofree uint64_t *nodes = g_new0(uint64_t, n);
    int refused = 0;

    for (int i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("entry-%04d", i);
        struct fuse_entry_out entry;
        int r = fuse_client_lookup(client, ROOT, name, &entry);

        if (r == 0)
            nodes[i] = entry.nodeid;
        else
            refused++;
        g_assert_true(r == 0 || r == -ENFILE);
    }
    for (int i = 0; i < n; i++) {
        if (nodes[i])
            fuse_client_forget(client, nodes[i], 1);
    }
    return refused;
}

/* Without descriptors the guest gets an error, and the daemon survives. */
static void test_no_descriptors(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct rlimit few = { 100, 100 }, many;
    struct walk walk;
    uint64_t fh;

    make_files(client, "", 300);
    g_assert_cmpint(fuse_client_opendir(client, ROOT, &fh), ==, 0);
    g_assert_cmpint(count_refused(client, 300), ==, 0);
    g_assert_cmpint(prlimit(client->pid, RLIMIT_NOFILE, NULL, &many), ==, 0);
    few.rlim_max = many.rlim_max;
    g_assert_cmpint(prlimit(client->pid, RLIMIT_NOFILE, &few, NULL), ==, 0);
    g_assert_cmpint(count_refused(client, 300), ==, 0);
    /* All names are listed, most without their nodes. */
    walk_init(&walk);
    walk_from(client, &walk, FUSE_READDIRPLUS, fh, 0, 4096);
    g_assert_cmpuint(g_hash_table_size(walk.names), ==, 300);
    walk_clear(&walk);
    g_assert_cmpint(prlimit(client->pid, RLIMIT_NOFILE, &many, NULL), ==, 0);
    g_assert_cmpint(count_refused(client, 300), ==, 0);
    client_free(client);
}

enum { N_OPEN = 3000, N_WALKED = 10, FIRST = 512, MOST_KIB = 32 << 10 };

/* Open the root that often, and read a page each time; note some. */
static void open_many(struct client *client, uint64_t *handles,
                      struct walk *walks, uint64_t *offsets)
{
    for (int i = 0; i < N_OPEN; i++) {
        const void *data;
        int len;

        g_assert_cmpint(fuse_client_opendir(client, ROOT, &handles[i]), ==, 0);
        len = fuse_client_readdir(client, FUSE_READDIR, handles[i], 0, FIRST,
                                  &data);
        g_assert_cmpint(len, >, 0);
        if (i % (N_OPEN / N_WALKED) == 0)
            offsets[i * N_WALKED / N_OPEN] = note_entries(
                &walks[i * N_WALKED / N_OPEN], false, data, len);
    }
}

/* Many directories, each read half-way, cost little, and can be continued. */
static void test_many_open(void)
{
    struct client *client = fuse_client_new(0, NULL);
    g_autofree uint64_t *handles = g_new(uint64_t, N_OPEN);
    struct walk walks[N_WALKED];
    uint64_t offsets[N_WALKED];
    struct rlimit limit;
    unsigned long before;

    g_assert_cmpint(prlimit(client->pid, RLIMIT_NOFILE, NULL, &limit), ==, 0);
    if (limit.rlim_cur < N_OPEN + 100) {
        g_test_skip("too few descriptors are allowed");
        client_free(client);
        return;
    }
    make_files(client, "", N_ENTRIES / 2);
    for (int i = 0; i < N_WALKED; i++)
        walk_init(&walks[i]);
    before = client_resident(client);
    open_many(client, handles, walks, offsets);
    g_assert_cmpuint(client_resident(client), <, before + MOST_KIB);
    for (int i = 0; i < N_WALKED; i++) {
        walk_from(client, &walks[i], FUSE_READDIR,
                  handles[i * N_OPEN / N_WALKED], offsets[i], FIRST);
        g_assert_cmpuint(g_hash_table_size(walks[i].names), ==, N_ENTRIES / 2);
        walk_clear(&walks[i]);
    }
    client_free(client);
}

/* The age of a file that can be known without opening it. */
enum { OLD_ENOUGH_US = 150000 };

static void list(struct client *client, uint64_t node, struct walk *ret_walk)
{
    uint64_t fh;

    walk_init(ret_walk);
    OK(fuse_client_opendir(client, node, &fh));
    walk_from(client, ret_walk, FUSE_READDIRPLUS, fh, 0, 32768);
    OK(fuse_client_release(client, FUSE_RELEASEDIR, node, fh));
}

static uint64_t listed_node(const struct walk *walk, const char *name)
{
    const uint64_t *node = g_hash_table_lookup(walk->names, name);

    g_assert_nonnull(node);
    return *node;
}

/* A listed inode needs no fd until it is used, and is then found, whatever the
 * client did to its name. */
static void test_listed(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_entry_out dir, again;
    struct fuse_attr attr;
    struct walk walk;
    unsigned before;

    make_files(client, "d", N_ENTRIES);
    g_usleep(OLD_ENOUGH_US);
    OK(fuse_client_lookup(client, ROOT, "d", &dir));
    before = client_count_fds(client);
    list(client, dir.nodeid, &walk);
    g_assert_cmpuint(g_hash_table_size(walk.names), ==, N_ENTRIES);
    g_assert_cmpuint(client_count_fds(client), <, before + 10);
    OK(fuse_client_lookup(client, dir.nodeid, "entry-0000", &again));
    g_assert_cmpuint(again.nodeid, ==, listed_node(&walk, "entry-0000"));
    OK(fuse_client_remove(client, FUSE_UNLINK, dir.nodeid, "entry-0001"));
    OK(fuse_client_getattr(client, listed_node(&walk, "entry-0001"), &attr));
    g_assert_cmpuint(attr.nlink, ==, 0);
    OK(fuse_client_rename(client, dir.nodeid, "entry-0002", ROOT, "moved", 0));
    OK(fuse_client_getattr(client, listed_node(&walk, "entry-0002"), &attr));
    g_assert_cmpuint(attr.nlink, ==, 1);
    walk_clear(&walk);
    client_free(client);
}

/* A client that removes what was listed, and forgets nothing, cannot use up the
 * last fds. */
static void test_hoarded(void)
{
    enum { LIMIT = 128, HOARD = 300 };
    const char *const arguments[] = { "--rlimit-nofile=128", NULL };
    struct client *client = fuse_client_new(0, arguments);
    struct fuse_entry_out entry;
    struct walk walk;

    make_files(client, "", HOARD);
    g_usleep(OLD_ENOUGH_US);
    list(client, ROOT, &walk);
    for (int i = 0; i < HOARD; i++) {
        g_autofree char *name = g_strdup_printf("entry-%04d", i);

        OK(fuse_client_remove(client, FUSE_UNLINK, ROOT, name));
    }
    g_assert_cmpuint(client_count_fds(client), <, LIMIT - LIMIT / 8);
    make_files(client, "", 1);
    fuse_client_forget(client, listed_node(&walk, "entry-0000"), 1);
    OK(fuse_client_lookup(client, ROOT, "entry-0000", &entry));
    walk_clear(&walk);
    client_free(client);
}

static void test_dots(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_entry_out entry, child;

    make_files(client, "d", 0);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "d", &child), ==, 0);
    g_assert_cmpint(fuse_client_lookup(client, child.nodeid, ".", &entry), ==,
                    0);
    g_assert_cmpuint(entry.nodeid, ==, child.nodeid);
    g_assert_cmpint(fuse_client_lookup(client, child.nodeid, "..", &entry), ==,
                    0);
    g_assert_cmpuint(entry.nodeid, ==, ROOT);
    /* Not beyond the share. */
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "..", &entry), ==, 0);
    g_assert_cmpuint(entry.nodeid, ==, ROOT);
    client_free(client);
}

void add_vhost_user_dir_tests(void)
{
    g_test_add_data_func("/vhost-user/dir/readdir",
                         GUINT_TO_POINTER(FUSE_READDIR), test_walk);
    g_test_add_data_func("/vhost-user/dir/readdirplus",
                         GUINT_TO_POINTER(FUSE_READDIRPLUS), test_walk);
    g_test_add_func("/vhost-user/dir/seek", test_seek);
    g_test_add_func("/vhost-user/dir/sizes", test_sizes);
    g_test_add_func("/vhost-user/dir/rewind", test_rewind);
    g_test_add_func("/vhost-user/dir/many-open", test_many_open);
    g_test_add_func("/vhost-user/dir/listed", test_listed);
    g_test_add_func("/vhost-user/dir/hoarded", test_hoarded);
    g_test_add_func("/vhost-user/nodes/counts", test_counts);
    g_test_add_func("/vhost-user/nodes/forget-too-much", test_forget_too_much);
    g_test_add_func("/vhost-user/nodes/dots", test_dots);
    g_test_add_func("/vhost-user/nodes/no-descriptors", test_no_descriptors);
}
