/* SPDX-License-Identifier: Apache-2.0
 *
 * grants-test - no file of a client grants other users rights.
 *
 * That applies to users of the host, unless it is allowed; undo restores such
 * files that existed.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "interceptor/interceptor.h"
#include "tests/lib/oracle.h"

#define OK(call)      g_assert_cmpint((call), ==, 0)
#define REFUSED(call) g_assert_cmpint((call), ==, -EPERM)

struct rig {
    char *base, *share, *log;
    struct ic *ic;
    struct ic_cred cred;
    unsigned warnings;
};

static void count_warning(const char *type, const char *payload, void *opaque)
{
    struct rig *rig = opaque;

    if (strcmp(type, "event.warning") == 0 && strstr(payload, "--allow-"))
        rig->warnings++;
}

static struct rig *rig_new(bool allow)
{
    struct rig *rig = g_new0(struct rig, 1);
    struct ic_options options = { .no_timer = true,
                                  .no_watch = true,
                                  .allow_suid = allow,
                                  .allow_devices = allow,
                                  .event = count_warning,
                                  .event_opaque = rig };
    g_autoptr(GError) error = NULL;

    rig->base = g_dir_make_tmp("grants-XXXXXX", NULL);
    rig->share = g_build_filename(rig->base, "share", NULL);
    rig->log = g_build_filename(rig->base, "log", NULL);
    OK(mkdir(rig->share, 0755));
    options.share = rig->share;
    options.undo_dir = rig->log;
    rig->cred = (struct ic_cred){ .uid = geteuid(), .gid = getegid() };
    rig->ic = ic_open_share(&options, &error);
    g_assert_no_error(error);
    return rig;
}

static void rig_free(struct rig *rig)
{
    g_autofree char *remove = g_strdup_printf("rm -rf '%s'", rig->base);

    ic_close(rig->ic);
    g_assert_true(g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL));
    g_free(rig->base);
    g_free(rig->share);
    g_free(rig->log);
    g_free(rig);
}

static void host_file(struct rig *rig, const char *name, mode_t mode)
{
    g_autofree char *path = g_build_filename(rig->share, name, NULL);

    g_assert_true(g_file_set_contents(path, "text", -1, NULL));
    OK(chmod(path, mode));
}

static int create(struct rig *rig, const char *name, mode_t mode)
{
    struct ic_inode *inode;
    int fd, rc = ic_create(rig->ic, &rig->cred, ic_root(rig->ic), name,
                           O_RDWR | O_EXCL, mode, &inode, NULL, &fd);

    if (rc == 0) {
        ic_inode_unref(inode);
        close(fd);
    }
    return rc;
}

static int make_unnamed(struct rig *rig, mode_t mode)
{
    struct ic_inode *inode;
    int fd, rc = ic_tmpfile(rig->ic, &rig->cred, ic_root(rig->ic), O_RDWR, mode,
                            &inode, NULL, &fd);

    if (rc == 0) {
        ic_inode_unref(inode);
        close(fd);
    }
    return rc;
}

static int make_node(struct rig *rig, const char *name, mode_t mode, dev_t rdev)
{
    struct ic_inode *inode;
    int rc = ic_mknodat(rig->ic, &rig->cred, ic_root(rig->ic), name, mode, rdev,
                        &inode, NULL);

    if (rc == 0)
        ic_inode_unref(inode);
    return rc;
}

static int make_folder(struct rig *rig, const char *name, mode_t mode)
{
    struct ic_inode *inode;
    int rc = ic_mkdirat(rig->ic, &rig->cred, ic_root(rig->ic), name, mode,
                        &inode, NULL);

    if (rc == 0)
        ic_inode_unref(inode);
    return rc;
}

static int set(struct rig *rig, const char *name, unsigned valid, mode_t mode)
{
    struct ic_setattr attr = {
        .valid = valid, .mode = mode, .uid = geteuid(), .gid = getegid()
    };
    struct ic_inode *inode;
    int rc;

    OK(ic_lookup(rig->ic, ic_root(rig->ic), name, &inode, NULL));
    rc = ic_setattr(rig->ic, inode, -1, &attr, NULL);
    ic_inode_unref(inode);
    return rc;
}

static int open_file(struct rig *rig, const char *name, int flags)
{
    struct ic_inode *inode;
    int fd, rc;

    OK(ic_lookup(rig->ic, ic_root(rig->ic), name, &inode, NULL));
    rc = ic_open(rig->ic, inode, flags, &fd);
    ic_inode_unref(inode);
    if (rc == 0)
        close(fd);
    return rc;
}

static int set_capability(struct rig *rig, const char *name)
{
    static const unsigned char value[20] = { 1, 0, 0, 2 };
    struct ic_inode *inode;
    int rc;

    OK(ic_lookup(rig->ic, ic_root(rig->ic), name, &inode, NULL));
    rc = ic_setxattr(rig->ic, inode, "security.capability", value,
                     sizeof(value), 0);
    ic_inode_unref(inode);
    return rc;
}

static void refused(void)
{
    struct rig *rig = rig_new(false);

    host_file(rig, "f", 0755);
    REFUSED(create(rig, "new", 04755));
    REFUSED(create(rig, "new", 02755));
    REFUSED(create(rig, "new", 02644)); /* an ACL could make it executable */
    REFUSED(make_unnamed(rig, 04755));
    REFUSED(make_node(rig, "new", S_IFREG | 04755, 0));
    REFUSED(make_node(rig, "new", 02755, 0)); /* without a type it is a file */
    REFUSED(set(rig, "f", IC_SET_MODE, 04755));
    REFUSED(set(rig, "f", IC_SET_MODE, 02755));
    REFUSED(set(rig, "f", IC_SET_UID | IC_SET_GID | IC_SET_MODE, 04755));
    REFUSED(set_capability(rig, "f"));
    g_assert_cmpuint(rig->warnings, ==, 1);
    REFUSED(make_node(rig, "new", S_IFBLK | 0666, makedev(8, 0)));
    REFUSED(make_node(rig, "new", S_IFCHR | 0666, makedev(1, 1)));
    g_assert_cmpuint(rig->warnings, ==, 2);
    /* Each step reports its first. */
    g_assert_true(ic_step_open(rig->ic, 100, IC_STEP_COMMAND, "x", NULL));
    REFUSED(set(rig, "f", IC_SET_MODE, 04755));
    REFUSED(set(rig, "f", IC_SET_MODE, 04755));
    g_assert_cmpuint(rig->warnings, ==, 3);
    g_assert_true(ic_step_close(rig->ic, 100, 0, 0, 0, NULL, NULL));
    g_assert_cmpint(ic_lookup(rig->ic, ic_root(rig->ic), "new",
                              &(struct ic_inode *){ NULL }, NULL),
                    ==, -ENOENT);
    rig_free(rig);
}

static void others(void)
{
    struct rig *rig = rig_new(false);

    host_file(rig, "suid", 04755);
    OK(make_folder(rig, "d", 02775));
    OK(set(rig, "d", IC_SET_MODE, 03777));
    OK(create(rig, "sticky", 01755));
    OK(make_node(rig, "fifo", S_IFIFO | 0644, 0));
    OK(make_node(rig, "socket", S_IFSOCK | 0644, 0));
    OK(make_node(rig, "whiteout", S_IFCHR, 0));
    OK(open_file(rig, "suid", O_RDONLY));
    OK(set(rig, "suid", IC_SET_MODE, 0755));
    OK(open_file(rig, "suid", O_WRONLY));
    g_assert_cmpuint(rig->warnings, ==, 0);
    rig_free(rig);
}

/* Root's write would keep the bit, on other content. */
static void written(void)
{
    struct rig *rig = rig_new(false);

    if (geteuid() != 0) {
        g_test_skip("the kernel takes the bits from others' writes");
        rig_free(rig);
        return;
    }
    host_file(rig, "suid", 04755);
    host_file(rig, "sgid", 02755);
    REFUSED(open_file(rig, "suid", O_WRONLY));
    REFUSED(open_file(rig, "suid", O_RDWR | O_TRUNC));
    REFUSED(open_file(rig, "suid", O_RDONLY | O_TRUNC));
    REFUSED(open_file(rig, "sgid", O_RDWR));
    REFUSED(set(rig, "suid", IC_SET_SIZE, 0));
    rig_free(rig);
}

static void write_file(void)
{
    struct rig *rig = rig_new(false);
    const struct ic_file_write request = {
        .path = "f", .data = "x", .len = 1, .set_mode = true, .mode = 04755
    };
    const struct ic_file_write plain = { .path = "suid",
                                         .data = "x",
                                         .len = 1 };
    g_autoptr(GError) error = NULL;

    g_assert_false(ic_write_file(rig->ic, &request, NULL, &error));
    g_assert_error(error, IC_ERROR, IC_ERROR_INVALID_FIELD);
    g_assert_nonnull(strstr(error->message, "--allow-suid"));
    g_clear_error(&error);
    if (geteuid() == 0) {
        host_file(rig, "suid", 04755);
        g_assert_false(ic_write_file(rig->ic, &plain, NULL, &error));
        g_assert_error(error, IC_ERROR, IC_ERROR_IO_ERROR);
        g_assert_nonnull(strstr(error->message, "on the host only"));
    }
    rig_free(rig);
}

static void allowed(void)
{
    struct rig *rig = rig_new(true);

    host_file(rig, "f", 04755);
    OK(create(rig, "new", 06755));
    OK(make_node(rig, "node", S_IFREG | 04755, 0));
    OK(set(rig, "f", IC_SET_MODE, 06755));
    OK(open_file(rig, "f", O_WRONLY));
    if (geteuid() == 0) {
        OK(make_node(rig, "device", S_IFBLK | 0600, makedev(8, 0)));
        OK(set_capability(rig, "new"));
    }
    g_assert_cmpuint(rig->warnings, ==, 0);
    rig_free(rig);
}

static GPtrArray *snapshot(struct rig *rig)
{
    g_autofree char *trouble = NULL;
    GPtrArray *tree = oracle_snapshot(rig->share, &trouble);

    g_assert_cmpstr(trouble, ==, NULL);
    return tree;
}

static void expect(struct rig *rig, GPtrArray *wanted)
{
    g_autoptr(GPtrArray) now = snapshot(rig);
    g_autofree char *diff = oracle_diff(wanted, now);

    g_assert_cmpstr(diff, ==, NULL);
}

static void restored(void)
{
    struct rig *rig = rig_new(false);
    g_autofree char *device = g_build_filename(rig->share, "device", NULL);
    g_autoptr(GPtrArray) before = NULL, after = NULL;
    struct ic_rollback_result *result;
    g_autoptr(GError) error = NULL;

    host_file(rig, "gone", 06755);
    host_file(rig, "changed", 06755);
    if (geteuid() == 0)
        OK(mknod(device, S_IFCHR | 0666, makedev(1, 3)));
    before = snapshot(rig);
    ic_step_open(rig->ic, 1, IC_STEP_COMMAND, NULL, &error);
    g_assert_no_error(error);
    OK(ic_unlinkat(rig->ic, ic_root(rig->ic), "gone", 0));
    OK(set(rig, "changed", IC_SET_MODE, 0700));
    if (geteuid() == 0)
        OK(ic_unlinkat(rig->ic, ic_root(rig->ic), "device", 0));
    ic_step_close(rig->ic, 1, 0, 0, 0, NULL, &error);
    g_assert_no_error(error);
    after = snapshot(rig);
    ic_rollback(rig->ic, 1, false, NULL, &error);
    g_assert_no_error(error);
    expect(rig, before);
    ic_redo(rig->ic, 1, false, &result, &error);
    g_assert_no_error(error);
    ic_rollback_result_free(result);
    expect(rig, after);
    g_assert_cmpuint(rig->warnings, ==, 0);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    umask(0);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/grants/refused", refused);
    g_test_add_func("/grants/other-files-are-made", others);
    g_test_add_func("/grants/not-written-as-root", written);
    g_test_add_func("/grants/write-file", write_file);
    g_test_add_func("/grants/allowed", allowed);
    g_test_add_func("/grants/undo-and-redo-restore", restored);
    return g_test_run();
}
