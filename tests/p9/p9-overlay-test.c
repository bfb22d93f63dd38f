/* SPDX-License-Identifier: Apache-2.0
 *
 * p9-overlay-test - modes, owners and symlinks under --profile=windows.
 *
 * Ids: WN-03 (what was set stays), WN-04 (defaults).
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "p9/overlay/overlay.h"
#include "tests/p9/p9_fixture.h"
#include "tests/p9/p9_tests.h"

#define WINDOWS "--profile=windows"

static void owner_is(struct fixture *f, const char *path, uid_t uid, gid_t gid)
{
    uint32_t fid = p9_fid(f, path);
    struct stat st;

    OK(p9_stat(f->client, fid, &st));
    g_assert_cmpuint(st.st_uid, ==, uid);
    g_assert_cmpuint(st.st_gid, ==, gid);
    OK(p9_clunk(f->client, fid));
}

static struct stat host_stat(struct fixture *f, const char *name)
{
    g_autofree char *path = p9_rig_path(f->rig, name);
    struct stat st;

    OK(lstat(path, &st));
    return st;
}

/* ---- WN-04 --------------------------------------------------------------- */

static void test_defaults(struct fixture *f, gconstpointer option)
{
    static const struct {
        const char *name;
        mode_t mode;
    } files[] = {
        { "plain", 0644 },     { "text.txt", 0644 },  { "run.sh", 0755 },
        { "SETUP.EXE", 0755 }, { "module.py", 0644 }, { "a.sh.txt", 0644 },
        { "sh", 0644 },        { ".bash", 0755 },     { "tool.run", 0755 },
    };
    g_autofree char *dir = p9_rig_path(f->rig, "dir.txt");
    g_autofree char *tool = p9_rig_path(f->rig, "plain");
    g_autofree char *link = p9_rig_path(f->rig, "link");

    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        p9_host_file(f, files[i].name, "text");
    OK(g_mkdir(dir, 0700));
    OK(chmod(tool, 0777)); /* the host's own modes do not count */
    OK(symlink("plain", link));
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        p9_mode_is(f, files[i].name, S_IFREG | files[i].mode);
        owner_is(f, files[i].name, 1000, 1000);
    }
    p9_mode_is(f, "dir.txt", S_IFDIR | 0755);
    p9_mode_is(f, "", S_IFDIR | 0755);
    p9_mode_is(f, "link", S_IFLNK | 0777);
    owner_is(f, "link", 1000, 1000);
}

/* What a client moves or links keeps its mode; what another process moves has
 * the default of its new name. */
static void test_default_moves(struct fixture *f, gconstpointer option)
{
    g_autofree char *old = p9_rig_path(f->rig, "c.sh");
    g_autofree char *new = p9_rig_path(f->rig, "c");

    p9_host_file(f, "a.sh", "text");
    p9_host_file(f, "b.sh", "text");
    p9_host_file(f, "c.sh", "text");
    p9_host_file(f, "d", "text");
    OK(p9_renameat(f->client, P9_ROOT, "a.sh", P9_ROOT, "a"));
    p9_mode_is(f, "a", S_IFREG | 0755);
    OK(p9_rename(f->client, p9_fid(f, "d"), P9_ROOT, "d.sh"));
    p9_mode_is(f, "d.sh", S_IFREG | 0644);
    OK(p9_link(f->client, P9_ROOT, p9_fid(f, "b.sh"), "b"));
    p9_mode_is(f, "b", S_IFREG | 0755);
    p9_mode_is(f, "b.sh", S_IFREG | 0755);
    p9_mode_is(f, "c.sh", S_IFREG | 0755);
    OK(g_rename(old, new));
    p9_mode_is(f, "c", S_IFREG | 0644);
}

/* ---- WN-03 --------------------------------------------------------------- */

static void check_chmod(struct fixture *f)
{
    p9_mode_is(f, "tool", S_IFREG | 0755);
    p9_mode_is(f, "secret", S_IFREG | 0600);
    p9_mode_is(f, "odd", S_IFREG | 07777);
    p9_mode_is(f, "none.sh", S_IFREG | 0);
    p9_mode_is(f, "dir", S_IFDIR | 01770);
    p9_mode_is(f, "other", S_IFREG | 0644);
    owner_is(f, "secret", 12, UINT32_MAX - 1);
    owner_is(f, "other", 1000, 1000);
}

static void test_chmod(struct fixture *f, gconstpointer option)
{
    static const char *const names[] = { "tool", "secret", "odd", "none.sh",
                                         "other" };
    g_autofree char *dir = p9_rig_path(f->rig, "dir");
    g_autofree char *tool = p9_rig_path(f->rig, "tool");

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        p9_host_file(f, names[i], "text");
    OK(g_mkdir(dir, 0755));
    OK(chmod(tool, 0640));
    OK(p9_chmod(f, "tool", 0755));
    OK(p9_chmod(f, "secret", 0600));
    OK(p9_chown(f, "secret", 12, UINT32_MAX - 1));
    OK(p9_chmod(f, "odd", 07777));
    OK(p9_chmod(f, "none.sh", 0));
    OK(p9_chmod(f, "dir", 01770));
    check_chmod(f);
    p9_restart(f, WINDOWS);
    check_chmod(f);
    OK(p9_chmod(f, "other", 0400));
    OK(p9_chmod(f, "other", 0644));
    p9_kill_restart(f, WINDOWS); /* rolls these back */
    check_chmod(f);
    /* The host's are unchanged. */
    g_assert_cmphex(host_stat(f, "tool").st_mode, ==, S_IFREG | 0640);
    g_assert_cmpuint(host_stat(f, "secret").st_uid, ==, getuid());
    g_assert_cmphex(host_stat(f, "dir").st_mode, ==, S_IFDIR | 0755);
}

/* A row follows its inode. */
static void test_names(struct fixture *f, gconstpointer option)
{
    uint32_t fid, dir;
    struct stat st;

    OK(p9_create(f, "file", O_RDWR, 0700));
    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0750));
    dir = p9_fid(f, "dir");
    OK(p9_renameat(f->client, P9_ROOT, "file", dir, "moved"));
    OK(p9_renameat(f->client, P9_ROOT, "dir", P9_ROOT, "elsewhere"));
    p9_mode_is(f, "elsewhere/moved", S_IFREG | 0700);
    p9_mode_is(f, "elsewhere", S_IFDIR | 0750);
    /* Two names of one inode. */
    OK(p9_link(f->client, P9_ROOT, p9_fid(f, "elsewhere/moved"), "second"));
    p9_mode_is(f, "second", S_IFREG | 0700);
    OK(p9_chmod(f, "second", 0510));
    p9_mode_is(f, "elsewhere/moved", S_IFREG | 0510);
    /* One replaces another. */
    OK(p9_create(f, "over", O_RDWR, 0600));
    OK(p9_renameat(f->client, P9_ROOT, "over", P9_ROOT, "second"));
    p9_mode_is(f, "second", S_IFREG | 0600);
    p9_mode_is(f, "elsewhere/moved", S_IFREG | 0510);
    /* An open file without a name, and a new one in its place. */
    fid = p9_open_fid(f, "second", O_RDWR);
    OK(p9_unlinkat(f->client, P9_ROOT, "second", 0));
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmphex(st.st_mode, ==, S_IFREG | 0600);
    OK(p9_create(f, "second", O_RDWR, 0644));
    p9_mode_is(f, "second", S_IFREG | 0644);
    OK(p9_unlinkat(f->client, dir, "moved", 0));
    OK(p9_unlinkat(f->client, P9_ROOT, "elsewhere", P9_AT_REMOVEDIR));
    OK(p9_mkdir(f->client, P9_ROOT, "elsewhere", 0755));
    p9_mode_is(f, "elsewhere", S_IFDIR | 0755);
}

/* A new file has the requested mode; and the owner, if that is neither root nor
 * the one that all files belong to. */
static void test_made(struct fixture *f, gconstpointer option)
{
    struct p9_client *other = p9_client_connect(f->rig->socket, 65536, 1234);
    uint32_t fid;

    p9_act_as_root(f);
    OK(p9_create(f, "a", O_RDWR, 0600));
    OK(p9_create(f, "b", O_RDWR | P9_OPEN_EXCL, 0755));
    OK(p9_create(f, "c.sh", O_RDWR, 0644));
    OK(p9_create(f, "d", O_RDWR, 04711));
    OK(p9_create(f, "a", O_RDWR | P9_OPEN_TRUNC, 0777)); /* exists already */
    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0700));
    OK(p9_mknod(f->client, P9_ROOT, "node", S_IFREG | 0640, 0));
    p9_mode_is(f, "a", S_IFREG | 0600);
    p9_mode_is(f, "b", S_IFREG | 0755);
    p9_mode_is(f, "c.sh", S_IFREG | 0644);
    p9_mode_is(f, "d", S_IFREG | 04711);
    p9_mode_is(f, "dir", S_IFDIR | 0700);
    p9_mode_is(f, "node", S_IFREG | 0640);
    owner_is(f, "a", 1000, 1000);
    g_assert_cmphex(host_stat(f, "a").st_mode, ==, S_IFREG | 0644);
    g_assert_cmphex(host_stat(f, "dir").st_mode, ==, S_IFDIR | 0755);
    OK(p9_walk(other, P9_ROOT, "", &fid));
    other->gid = 77;
    OK(p9_lcreate(other, fid, "theirs", O_RDWR, 0600));
    owner_is(f, "theirs", 1234, 77);
    g_assert_cmpuint(host_stat(f, "theirs").st_uid, ==, getuid());
    /* A directory passes its group on. */
    OK(p9_chown(f, "dir", 5, 6));
    OK(p9_chmod(f, "dir", 02775));
    OK(p9_mkdir(f->client, p9_fid(f, "dir"), "below", 0755));
    p9_mode_is(f, "dir/below", S_IFDIR | 02755);
    owner_is(f, "dir/below", 1000, 6);
    p9_client_free(other);
}

/* As a Linux file system does. */
static void test_set_ids(struct fixture *f, gconstpointer option)
{
    struct p9_client *user = p9_client_connect(f->rig->socket, 65536, 1000);
    uint32_t fid;

    OK(p9_create(f, "file", O_RDWR, 0644));
    OK(p9_walk(user, P9_ROOT, "file", &fid));
    OK(p9_lopen(user, fid, O_WRONLY));
    OK(p9_chmod(f, "file", 06755));
    g_assert_cmpint(p9_write(user, fid, "x", 1, 0), ==, 1);
    p9_mode_is(f, "file", S_IFREG | 0755);
    OK(p9_chmod(f, "file", 06745)); /* not executable by the group: mandatory
                                     * locks */
    g_assert_cmpint(p9_write(user, fid, "x", 1, 0), ==, 1);
    p9_mode_is(f, "file", S_IFREG | 02745);
    OK(p9_chmod(f, "file", 06755));
    OK(p9_chown(f, "file", 3, 4));
    p9_mode_is(f, "file", S_IFREG | 0755);
    OK(p9_chmod(f, "file", 06755));
    g_assert_cmpint(
        p9_write(f->client, p9_open_fid(f, "file", O_WRONLY), "x", 1, 0), ==,
        1); /* root's */
    p9_mode_is(f, "file", S_IFREG | (getuid() == 0 ? 06755 : 0755));
    OK(p9_chmod(f, "file", 06755));
    OK(p9_walk(user, P9_ROOT, "file", &fid));
    OK(p9_lopen(user, fid, O_WRONLY | P9_OPEN_TRUNC));
    p9_mode_is(f, "file", S_IFREG | 0755);
    p9_client_free(user);
}

/* ---- symlinks ------------------------------------------------------------ */

/* Return the type that a listing has for a name, and its qid's. */
static unsigned listed_type(struct fixture *f, const char *name,
                            uint8_t *ret_qid)
{
    struct p9_message m = { .type = P9_TREADDIR }, reply;
    unsigned type = 255;

    m.read.fid = p9_open_fid(f, "", O_RDONLY);
    m.read.count = 8192;
    m.read.offset = 0;
    OK(p9_client_call(f->client, &m, &reply));
    for (uint32_t at = 0; at < reply.data.count;) {
        const uint8_t *entry = reply.data.at + at;
        size_t len = entry[22] | entry[23] << 8;

        if (len == strlen(name) && memcmp(entry + 24, name, len) == 0) {
            type = entry[21];
            *ret_qid = entry[0];
        }
        at += 24 + (uint32_t)len;
    }
    OK(p9_clunk(f->client, m.read.fid));
    return type;
}

static void link_is(struct fixture *f, const char *name, const char *target)
{
    uint32_t fid = p9_fid(f, name);
    g_autofree char *found = NULL;
    struct stat st;

    OK(p9_readlink(f->client, fid, &found));
    g_assert_cmpstr(found, ==, target);
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmphex(st.st_mode, ==, S_IFLNK | 0777);
    g_assert_cmpint(st.st_size, ==, (off_t)strlen(target));
    OK(p9_clunk(f->client, fid));
}

static void test_symlink(struct fixture *f, gconstpointer option)
{
    g_autofree char *text = NULL, *host = p9_rig_path(f->rig, "host");
    g_autofree char *target = NULL;
    uint8_t qid = 0;

    p9_host_file(f, "file", "text");
    OK(symlink("file", host));
    OK(p9_symlink(f->client, P9_ROOT, "link", "../some/where"));
    link_is(f, "link", "../some/where");
    link_is(f, "host", "file");
    g_assert_cmphex(host_stat(f, "link").st_mode, ==, S_IFREG | 0644);
    text = p9_host_read(f, "link");
    g_assert_cmpstr(text, ==, "../some/where");
    g_assert_cmpuint(listed_type(f, "link", &qid), ==, 10);
    g_assert_cmphex(qid, ==, P9_QID_SYMLINK);
    g_assert_cmpuint(listed_type(f, "host", &qid), ==, 10);
    g_assert_cmpuint(listed_type(f, "file", &qid), ==, 8);
    g_assert_cmphex(qid, ==, P9_QID_FILE);
    FAILS(EEXIST, p9_symlink(f->client, P9_ROOT, "link", "x"));
    FAILS(ENOENT, p9_symlink(f->client, P9_ROOT, "empty", ""));
    FAILS(EINVAL, p9_readlink(f->client, p9_fid(f, "file"), &target));
    OK(p9_renameat(f->client, P9_ROOT, "link", P9_ROOT, "moved.sh"));
    OK(p9_link(f->client, P9_ROOT, p9_fid(f, "moved.sh"), "second"));
    p9_restart(f, WINDOWS);
    link_is(f, "moved.sh", "../some/where");
    link_is(f, "second", "../some/where");
}

/* Requests that must not reach the file that represents a symlink. */
static void test_symlink_errors(struct fixture *f, gconstpointer option)
{
    struct p9_message m = { .type = P9_TSETATTR };
    g_autofree char *text = NULL, *target = NULL;

    OK(p9_symlink(f->client, P9_ROOT, "link", "target"));
    FAILS(ELOOP, p9_lopen(f->client, p9_fid(f, "link"), O_RDWR));
    FAILS(ELOOP,
          p9_lopen(f->client, p9_fid(f, "link"), O_WRONLY | P9_OPEN_TRUNC));
    FAILS(ELOOP, p9_create(f, "link", O_RDWR | P9_OPEN_TRUNC, 0644));
    FAILS(EEXIST, p9_create(f, "link", O_RDWR | P9_OPEN_EXCL, 0644));
    FAILS(EOPNOTSUPP, p9_chmod(f, "link", 0600));
    m.setattr.fid = p9_fid(f, "link");
    m.setattr.valid = P9_SETATTR_SIZE;
    FAILS(EINVAL, p9_client_call(f->client, &m, NULL));
    OK(p9_chown(f, "link", 7, 8));
    owner_is(f, "link", 7, 8);
    link_is(f, "link", "target");
    FAILS(EPERM,
          p9_setxattr(f->client, p9_fid(f, "link"), "user.x", "y", 1, 0));
    /* Another process has written what cannot be a target. */
    p9_host_file(f, "bad", "text");
    OK(p9_symlink(f->client, P9_ROOT, "spoilt", "target"));
    {
        g_autofree char *path = p9_rig_path(f->rig, "spoilt");

        OK(truncate(path, 0));
        FAILS(EINVAL, p9_readlink(f->client, p9_fid(f, "spoilt"), &target));
        OK(truncate(path, 100000));
        FAILS(EINVAL, p9_readlink(f->client, p9_fid(f, "spoilt"), &target));
    }
    text = p9_host_read(f, "link");
    g_assert_cmpstr(text, ==, "target");
}

/* ---- extended attributes ------------------------------------------------- */

static void test_xattr(struct fixture *f, gconstpointer option)
{
    char value[64];
    uint32_t fid;

    OK(p9_create(f, "file", O_RDWR, 0600));
    fid = p9_fid(f, "file");
    g_assert_cmpint(p9_getxattr(f->client, fid, "", value, 64), ==, 0);
    FAILS(ENODATA, (int)p9_getxattr(f->client, fid, OVERLAY_XATTR, value, 64));
    FAILS(EPERM, p9_setxattr(f->client, p9_fid(f, "file"), OVERLAY_XATTR,
                             "0123456789abcdef", 16, 0));
    OK(p9_setxattr(f->client, p9_fid(f, "file"), "user.mine", "value", 5, 0));
    g_assert_cmpint(p9_getxattr(f->client, fid, "user.mine", value, 64), ==, 5);
    g_assert_cmpint(p9_getxattr(f->client, fid, "", value, 64), ==, 10);
    g_assert_cmpstr(value, ==, "user.mine");
    FAILS(EOPNOTSUPP,
          p9_setxattr(f->client, p9_fid(f, "file"), "trusted.x", "y", 1, 0));
    FAILS(EOPNOTSUPP,
          (int)p9_getxattr(f->client, fid, "security.selinux", value, 64));
    p9_mode_is(f, "file", S_IFREG | 0600);
}

#define ADD(name, function) P9_ADD("p9-overlay", name, WINDOWS, function)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("WN-04/defaults", test_defaults);
    ADD("WN-04/moves", test_default_moves);
    ADD("WN-03/chmod", test_chmod);
    ADD("WN-03/names", test_names);
    ADD("WN-03/made", test_made);
    ADD("WN-03/set-ids", test_set_ids);
    ADD("WN-03/symlink", test_symlink);
    ADD("WN-03/symlink-errors", test_symlink_errors);
    ADD("WN-03/xattr", test_xattr);
    add_p9_overlay_random_tests();
    add_p9_overlay_store_tests();
    add_p9_windows_tests();
    return g_test_run();
}
