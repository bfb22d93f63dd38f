/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost-user-create-test - the owner, mode and labels of a new file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "daemon/id_map.h"
#include "tests/virtiofs/fuse_client.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

/* Like fuse_client_call(), as this user. */
static int call_as(struct client *client, uint32_t uid, uint32_t gid,
                   uint32_t opcode, uint64_t node, const struct iovec *args,
                   unsigned n_args, void *reply, uint32_t size)
{
    struct fuse_in_header head = { .len = sizeof(head),
                                   .opcode = opcode,
                                   .unique = 1000,
                                   .nodeid = node,
                                   .uid = uid,
                                   .gid = gid };
    struct iovec in[5] = { PIECE(head) };
    struct fuse_out_header out;
    const char *answer;
    uint32_t len;

    for (unsigned i = 0; i < n_args; i++) {
        in[i + 1] = args[i];
        head.len += (uint32_t)args[i].iov_len;
    }
    client_submit(client, FUSE_QUEUE, in, n_args + 1,
                  (uint32_t)sizeof(out) + size);
    answer = client_reap(client, FUSE_QUEUE, &len);
    memcpy(&out, answer, sizeof(out));
    if (out.error == 0)
        memcpy(reply, answer + sizeof(out), size);
    return out.error;
}

static int mkdir_as(struct client *client, uint32_t uid, uint32_t gid,
                    uint64_t dir, const char *name, uint32_t mode,
                    uint32_t umask, struct fuse_entry_out *ret_entry)
{
    struct fuse_mkdir_in in = { .mode = mode, .umask = umask };
    struct iovec args[] = { PIECE(in), TEXT(name) };

    return call_as(client, uid, gid, FUSE_MKDIR, dir, args, 2, ret_entry,
                   sizeof(*ret_entry));
}

static struct stat host_stat(const struct client *client, const char *name)
{
    g_autofree char *path = client_host_path(client, name);
    struct stat st = { 0 };

    if (lstat(path, &st) != 0)
        g_assert_cmpint(errno, ==, ENOENT);
    return st;
}

/* ---- ids ----------------------------------------------------------------- */

static void test_rules(void)
{
    static const char *const wrong[] = {
        "",
        "guest",
        "guest:1:2",
        "guest:1:2:3:4",
        "guest:1:2:x",
        "guest:1:2:-3",
        "other:1:2:3",
        "guest:1;2:3",
        "forbid-guest:1:2:3",
        "guest:4294967295:0:2",
        "guest:0:4294967295:2",
        "guest:0:0:4294967297",
        "guest:105:0:1",
        "map:90:0:20",
    };
    struct id_map *map = id_map_new();
    GError *error = NULL;
    uint32_t id;

    g_assert_true(id_map_add(map, "guest:100:1000:10", &error));
    g_assert_true(id_map_add(map, "Squash-Guest/200/7/50", &error));
    g_assert_true(id_map_add(map, "host:1000:100:10", &error));
    g_assert_true(id_map_add(map, "squash-host:2000:8:10", &error));
    g_assert_true(id_map_add(map, "forbid-guest:300:1", &error));
    g_assert_true(id_map_add(map, "map:4294967295:5000:1", &error));
    g_assert_true(id_map_add(map, "ignore-guest:400:10", &error));
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_false(id_map_add(map, wrong[i], &error));
        g_assert_nonnull(error);
        g_clear_error(&error);
    }
    OK(id_map_to_host(map, 109, &id));
    g_assert_cmpuint(id, ==, 1009);
    OK(id_map_to_host(map, 110, &id));
    g_assert_cmpuint(id, ==, 110);
    OK(id_map_to_host(map, 249, &id));
    g_assert_cmpuint(id, ==, 7);
    g_assert_cmpint(id_map_to_host(map, 300, &id), ==, -EPERM);
    g_assert_cmpint(id_map_to_host(map, 409, &id), ==, 1);
    OK(id_map_to_host(map, 410, &id));
    OK(id_map_to_host(map, 4294967295u, &id));
    g_assert_cmpuint(id, ==, 5000);
    g_assert_cmpuint(id_map_to_guest(map, 1009), ==, 109);
    g_assert_cmpuint(id_map_to_guest(map, 2009), ==, 8);
    g_assert_cmpuint(id_map_to_guest(map, 5000), ==, 4294967295u);
    g_assert_cmpuint(id_map_to_guest(map, 7), ==, 7);
    g_assert_cmpuint(id_map_to_guest(NULL, 7), ==, 7);
    id_map_free(map);
}

static void test_translated(void)
{
    static const char *const arguments[] = { "--translate-uid=map:1000:2000:10",
                                             "--translate-uid",
                                             "forbid-guest:7000:1",
                                             "--translate-uid",
                                             "ignore-guest:8000:1",
                                             "--translate-gid",
                                             "squash-guest:0:3000:100000",
                                             "--translate-gid",
                                             "host:3000:55:1",
                                             NULL };
    struct client *client = fuse_client_new(0, arguments);
    struct fuse_setattr_in in = { .valid = FATTR_UID | FATTR_GID,
                                  .uid = 1001,
                                  .gid = 12 };
    struct fuse_entry_out entry;
    struct fuse_attr attr;
    struct stat st;

    OK(mkdir_as(client, 1003, 9, ROOT, "d", 0755, 0, &entry));
    g_assert_cmpuint(entry.attr.uid, ==, 1003);
    g_assert_cmpuint(entry.attr.gid, ==, 55);
    st = host_stat(client, "d");
    g_assert_cmpuint(st.st_uid, ==, 2003);
    g_assert_cmpuint(st.st_gid, ==, 3000);
    OK(fuse_client_setattr(client, entry.nodeid, &in, &attr));
    g_assert_cmpuint(attr.uid, ==, 1001);
    st = host_stat(client, "d");
    g_assert_cmpuint(st.st_uid, ==, 2001);
    g_assert_cmpuint(st.st_gid, ==, 3000);
    in.uid = 7000;
    g_assert_cmpint(fuse_client_setattr(client, entry.nodeid, &in, &attr), ==,
                    -EPERM);
    g_assert_cmpint(mkdir_as(client, 7000, 9, ROOT, "e", 0755, 0, &entry), ==,
                    -EPERM);
    g_assert_cmpuint(host_stat(client, "e").st_mode, ==, 0);
    in.uid = 8000;
    OK(fuse_client_setattr(client, entry.nodeid, &in, &attr));
    g_assert_cmpuint(attr.uid, ==, 1001);
    g_assert_cmpuint(host_stat(client, "d").st_uid, ==, 2001);
    OK(mkdir_as(client, 8000, 9, ROOT, "f", 0755, 0, &entry));
    g_assert_cmpuint(host_stat(client, "f").st_uid, ==, geteuid());
    client_free(client);
}

/* ---- ACLs ---------------------------------------------------------------- */

static const struct {
    uint32_t version;
    struct {
        uint16_t tag, perm;
        uint32_t id;
    } entries[5];
} acl = { 2,
          { { 0x01, 7, -1 }, /* the owner */
            { 0x02, 7, 1234 } /* a user */,
            { 0x04, 5, -1 }, /* the group */
            { 0x10, 7, -1 }, /* the mask */
            { 0x20, 5, -1 } } /* others */ };

static void test_umask(void)
{
    static const char *const arguments[] = { "--posix-acl", NULL };
    struct client *client = fuse_client_new(0, arguments);
    g_autofree char *parent = client_host_path(client, "p");
    g_autofree char *by_host = g_build_filename(parent, "host", NULL);
    struct fuse_entry_out dir, entry;

    OK(mkdir_as(client, 0, 0, ROOT, "d", 0777, 027, &entry));
    g_assert_cmpint(host_stat(client, "d").st_mode & 07777, ==, 0750);
    OK(mkdir_as(client, 0, 0, ROOT, "p", 0777, 0, &dir));
    if (setxattr(parent, "system.posix_acl_default", &acl, sizeof(acl), 0) ==
        0) {
        OK(mkdir(by_host, 0777));
        OK(mkdir_as(client, 0, 0, dir.nodeid, "guest", 0777, 077, &entry));
        g_assert_cmpint(host_stat(client, "p/guest").st_mode, ==,
                        host_stat(client, "p/host").st_mode);
        g_assert_cmpint(entry.attr.mode & 070, ==, 070);
    }
    client_free(client);
    /* Without ACLs the guest has applied the umask. */
    client = fuse_client_new(0, NULL);
    OK(mkdir_as(client, 0, 0, ROOT, "d", 0777, 027, &entry));
    g_assert_cmpint(host_stat(client, "d").st_mode & 07777, ==, 0777);
    client_free(client);
}

static void test_kill_sgid(void)
{
    static const char *const arguments[] = { "--posix-acl", NULL };
    struct client *client = fuse_client_new(0, arguments);
    struct fuse_setxattr_in in = { .size = 1 };
    struct iovec args[] = { PIECE(in), TEXT("user.a"), { (void *)"v", 1 } };
    struct fuse_setattr_in mode = { .valid = FATTR_MODE, .mode = 02775 };
    struct fuse_entry_out entry;
    struct fuse_attr attr;
    char none;

    OK(mkdir_as(client, 0, 0, ROOT, "d", 0775, 0, &entry));
    OK(fuse_client_setattr(client, entry.nodeid, &mode, &attr));
    OK(call_as(client, 0, 0, FUSE_SETXATTR, entry.nodeid, args, 3, &none, 0));
    g_assert_cmpint(host_stat(client, "d").st_mode & 07777, ==, 02775);
    in.setxattr_flags = FUSE_SETXATTR_ACL_KILL_SGID;
    OK(call_as(client, 0, 0, FUSE_SETXATTR, entry.nodeid, args, 3, &none, 0));
    g_assert_cmpint(host_stat(client, "d").st_mode & 07777, ==, 0775);
    client_free(client);
}

/* ---- labels -------------------------------------------------------------- */

#define LABEL "security.selinux"

struct __attribute__((packed)) labels {
    struct fuse_secctx_header header;
    struct fuse_secctx context;
    char name[sizeof(LABEL)];
    char value[5];
    char padding[2];
};

static const struct labels labels = {
    { sizeof(labels), 1 }, { 5, 0 }, LABEL, "red_t", ""
};

static int mkdir_labelled(struct client *client, const char *name,
                          const struct labels *given, uint32_t size,
                          struct fuse_entry_out *ret_entry)
{
    struct fuse_mkdir_in in = { .mode = 0755 };
    struct iovec args[] = { PIECE(in), TEXT(name), { (void *)given, size } };

    return call_as(client, 0, 0, FUSE_MKDIR, ROOT, args, 3, ret_entry,
                   sizeof(*ret_entry));
}

static int create_labelled(struct client *client, const char *name,
                           uint32_t flags)
{
    struct fuse_create_in in = { .mode = 0644, .flags = flags };
    struct iovec args[] = { PIECE(in), TEXT(name), PIECE(labels) };
    struct {
        struct fuse_entry_out entry;
        struct fuse_open_out open;
    } reply;

    return call_as(client, 0, 0, FUSE_CREATE, ROOT, args, 3, &reply,
                   sizeof(reply));
}

static void expect_label(struct client *client, const char *name,
                         const char *label)
{
    g_autofree char *path = client_host_path(client, name);
    char value[16] = "";

    if (getxattr(path, "user.l." LABEL, value, sizeof(value) - 1) < 0)
        g_assert_cmpint(errno, ==, ENODATA);
    g_assert_cmpstr(value, ==, label);
}

static void test_labels(void)
{
    static const char *const arguments[] = {
        "--security-label", "--xattrmap=:map:security.:user.l.:", NULL
    };
    struct client *client = fuse_client_new(0, arguments);
    g_autofree char *old = client_host_path(client, "old");
    struct labels wrong = labels;
    struct fuse_entry_out entry;

    OK(mkdir_labelled(client, "d", &labels, sizeof(labels), &entry));
    expect_label(client, "d", "red_t");
    OK(create_labelled(client, "f", O_RDWR));
    expect_label(client, "f", "red_t");
    /* A file that exists keeps its own. */
    g_assert_true(g_file_set_contents(old, "x", 1, NULL));
    OK(create_labelled(client, "old", O_RDWR));
    expect_label(client, "old", "");
    /* Labels that are too long or too many are refused, and the file is not
     * made. */
    wrong.context.size = 500;
    g_assert_cmpint(mkdir_labelled(client, "e", &wrong, sizeof(wrong), &entry),
                    ==, -EINVAL);
    wrong = labels;
    wrong.header.nr_secctx = UINT32_MAX;
    g_assert_cmpint(mkdir_labelled(client, "e", &wrong, sizeof(wrong), &entry),
                    ==, -EINVAL);
    wrong = labels;
    memcpy(wrong.name, "wrong", 5);
    g_assert_cmpint(mkdir_labelled(client, "e", &wrong, sizeof(wrong), &entry),
                    <, 0);
    g_assert_cmpuint(host_stat(client, "e").st_mode, ==, 0);
    OK(mkdir_labelled(client, "g", &labels, 0, &entry));
    client_free(client);
}

int main(int argc, char **argv)
{
    umask(0);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/create/ids/rules", test_rules);
    if (geteuid() == 0)
        g_test_add_func("/create/ids/translated", test_translated);
    g_test_add_func("/create/acl/umask", test_umask);
    g_test_add_func("/create/acl/kill-sgid", test_kill_sgid);
    g_test_add_func("/create/labels", test_labels);
    return g_test_run();
}
