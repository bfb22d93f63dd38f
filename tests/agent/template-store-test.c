/* SPDX-License-Identifier: Apache-2.0
 *
 * template-store-test - the files of templates: damage, limits, writers.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine/guest_image.h"
#include "agent/vm/template_file.h"
#include "agent/vm/template_store.h"
#include "common/errors.h"
#include "common/fd.h"
#include "tests/agent/template_thin_tests.h"

#define KEY "0123456789abcdef"

enum { SIZE = 1001 }; /* no multiple of a word */

static void fill(char *state)
{
    for (int i = 0; i < SIZE; i++)
        state[i] = (char)(i * 7);
}

static char *path_of(const char *key)
{
    g_autofree char *dir = guest_image_templates();
    g_autofree char *name = g_strconcat(key, ".template", NULL);

    return g_build_filename(dir, name, NULL);
}

static void make(const char *key)
{
    g_autoptr(GError) error = NULL;
    struct template_draft *draft;
    char state[SIZE];

    fill(state);
    g_assert_true(template_store_prepare(&error));
    draft = template_store_begin(key, &error);
    g_assert_no_error(error);
    g_assert_nonnull(draft);
    g_assert_true(template_store_write(draft, state, 400, &error));
    g_assert_true(template_store_write(draft, state + 400, SIZE - 400, &error));
    g_assert_true(template_store_commit(draft, &error));
    template_store_end(draft);
}

static void clear(void)
{
    guint64 bytes;

    template_store_clear(&bytes);
}

static void test_state(void)
{
    g_autofree char *path = path_of(KEY), *other = path_of("other");
    char wanted[SIZE], found[SIZE + 1];
    struct stat st;
    int fd;

    g_assert_cmpint(template_store_open(KEY, NULL), ==, -1);
    make(KEY);
    fill(wanted);
    fd = template_store_open(KEY, NULL);
    g_assert_cmpint(read(fd, found, sizeof(found)), ==, SIZE);
    g_assert_cmpmem(found, SIZE, wanted, SIZE);
    g_assert_cmpint(fstat(fd, &st), ==, 0);
    g_assert_cmpint(st.st_mode & 0777, ==, 0600);
    fd_close(&fd);
    /* Another key's content. */
    g_assert_cmpint(g_rename(path, other), ==, 0);
    g_assert_cmpint(template_store_open("other", NULL), ==, -1);
    clear();
}

static void test_bits(void)
{
    g_autofree char *path = path_of(KEY);
    fd_auto int fd = -1;

    make(KEY);
    fd = open(path, O_RDWR | O_CLOEXEC);
    g_assert_cmpint(template_file_check(fd, KEY), ==, 0);
    for (off_t at = 0; at < TEMPLATE_FILE_HEADER + SIZE; at++) {
        for (int bit = 0; bit < 8; bit++) {
            char byte, changed;

            g_assert_cmpint(pread(fd, &byte, 1, at), ==, 1);
            changed = (char)(byte ^ 1 << bit);
            g_assert_cmpint(pwrite(fd, &changed, 1, at), ==, 1);
            g_assert_cmpint(template_file_check(fd, KEY), ==, -EBADMSG);
            g_assert_cmpint(pwrite(fd, &byte, 1, at), ==, 1);
        }
    }
    for (off_t size = TEMPLATE_FILE_HEADER + SIZE - 1; size >= 0; size--) {
        g_assert_cmpint(ftruncate(fd, size), ==, 0);
        g_assert_cmpint(template_file_check(fd, KEY), ==, -EBADMSG);
    }
    clear();
}

/* Return how many fds of this process are the store's lock. */
static guint count_locks(void)
{
    g_autoptr(GDir) fds = g_dir_open("/proc/self/fd", 0, NULL);
    const char *name;
    guint count = 0;

    while ((name = g_dir_read_name(fds))) {
        g_autofree char *path = g_build_filename("/proc/self/fd", name, NULL);
        g_autofree char *target = g_file_read_link(path, NULL);

        count += target && g_str_has_suffix(target, "/.templates/lock");
    }
    return count;
}

/* data: whether it has ended. */
static gpointer begin_other(gpointer data)
{
    g_autoptr(GError) error = NULL;
    struct template_draft *draft = template_store_begin("other", &error);

    g_atomic_int_set((gint *)data, true);
    g_assert_no_error(error);
    return draft;
}

static void test_writers(void)
{
    g_autoptr(GError) error = NULL;
    struct template_draft *draft, *other;
    GThread *thread;
    gint ended = false;

    g_assert_true(template_store_prepare(&error));
    draft = template_store_begin(KEY, &error);
    g_assert_nonnull(draft);
    g_assert_null(template_store_begin(KEY, &error));
    g_assert_no_error(error);
    thread = g_thread_new("other", begin_other, &ended);
    while (count_locks() < 2 && !g_atomic_int_get(&ended))
        g_thread_yield();
    template_store_end(draft);
    other = g_thread_join(thread);
    g_assert_nonnull(other);
    template_store_end(other);
    g_assert_cmpint(template_store_open(KEY, &error), ==, -1);
    g_assert_no_error(error);
    make(KEY);
    g_assert_null(template_store_begin(KEY, &error));
    g_assert_no_error(error);
    clear();
}

static void expect_removed(const char *problem)
{
    g_autofree char *path = path_of(KEY);
    g_autoptr(GError) error = NULL;
    struct stat st;

    g_assert_cmpint(template_store_open(KEY, &error), ==, -1);
    g_assert_error(error, STEPBACK_ERROR, ERROR_IO_ERROR);
    g_assert_nonnull(strstr(error->message, problem));
    g_assert_nonnull(strstr(error->message, "; removed it"));
    g_assert_cmpint(lstat(path, &st), ==, -1);
    make(KEY);
}

static void test_useless(void)
{
    g_autofree char *path = path_of(KEY);
    g_autoptr(GError) error = NULL;

    make(KEY);
    g_assert_cmpint(chmod(path, 0620), ==, 0);
    expect_removed("not a file that only you can access");
    g_assert_cmpint(chmod(path, 0), ==, 0);
    if (geteuid() != 0)
        expect_removed(g_strerror(EACCES));
    else if (chown(path, 12345, (gid_t)-1) == 0)
        expect_removed("not a file that only you can access");
    g_unlink(path);
    g_assert_cmpint(symlink("/dev/zero", path), ==, 0);
    expect_removed(g_strerror(ELOOP));
    g_unlink(path);
    g_assert_cmpint(g_mkdir(path, 0700), ==, 0);
    g_assert_cmpint(template_store_open(KEY, &error), ==, -1);
    g_assert_nonnull(strstr(error->message, "; remove it"));
    g_assert_cmpint(g_rmdir(path), ==, 0);
    clear();
}

static void test_clear_while_written(void)
{
    g_autoptr(GError) error = NULL;
    struct template_draft *draft;

    g_assert_true(template_store_prepare(&error));
    draft = template_store_begin(KEY, &error);
    g_assert_true(template_store_write(draft, "state", 5, &error));
    clear();
    g_assert_true(template_store_commit(draft, &error));
    g_assert_no_error(error);
    template_store_end(draft);
    g_assert_false(template_store_exists(KEY));
    make(KEY);
    clear();
}

static void test_limits(void)
{
    g_autoptr(GError) error = NULL;
    struct template_draft *draft;
    static const char *const keys[] = { "second", "first", "third" };
    int fd;

    for (int i = 0; i < 3; i++) {
        g_autofree char *path = path_of(keys[i]);
        fd_auto int old = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        const struct timespec times[2] = { { .tv_sec = 1000 + i },
                                           { .tv_sec = 1000 + i } };

        /* Sparse. */
        g_assert_cmpint(ftruncate(old, (off_t)(TEMPLATE_STORE_MAX / 2)), ==, 0);
        g_assert_cmpint(futimens(old, times), ==, 0);
    }
    make(KEY);
    for (int i = 0; i < 3; i++) {
        g_autofree char *path = path_of(keys[i]);

        g_assert_cmpint(access(path, F_OK) == 0, ==, i == 2);
    }
    fd = template_store_open(KEY, &error);
    g_assert_no_error(error);
    fd_close(&fd);
    draft = template_store_begin("other", &error);
    g_assert_false(
        template_store_write(draft, "", TEMPLATE_STATE_MAX + 1, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_IO_ERROR);
    template_store_end(draft);
    clear();
}

static void test_refusal(void)
{
    g_autofree char *path = path_of(KEY);
    g_autofree char *dir = g_path_get_dirname(path);
    g_autofree char *failed = g_build_filename(dir, KEY ".failed", NULL);
    const struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

    make(KEY);
    g_assert_false(template_store_is_refused(KEY));
    template_store_refuse(KEY, "why");
    g_assert_true(template_store_is_refused(KEY));
    g_assert_cmpint(access(path, F_OK), ==, -1);
    g_assert_cmpint(utimensat(AT_FDCWD, failed, times, 0), ==, 0);
    g_assert_false(template_store_is_refused(KEY));
    clear();
}

/* It has folders without files, but for the lock. */
static void remove_cache(const char *cache)
{
    g_autofree char *dir = guest_image_templates();
    g_autofree char *lock = g_build_filename(dir, "lock", NULL);

    g_unlink(lock);
    while (strlen(dir) >= strlen(cache) && g_rmdir(dir) == 0) {
        char *parent = g_path_get_dirname(dir);

        g_free(dir);
        dir = parent;
    }
}

int main(int argc, char **argv)
{
    g_autofree char *cache = NULL;
    int failed;

    g_test_init(&argc, &argv, NULL);
    cache = g_dir_make_tmp("template-store-XXXXXX", NULL);
    g_setenv("XDG_CACHE_HOME", cache, TRUE);
    g_test_add_func("/template-store/a template has the state it was given",
                    test_state);
    g_test_add_func("/template-store/each changed bit and each cut is found",
                    test_bits);
    g_test_add_func(
        "/template-store/writers of other templates wait, and there "
        "is no template before its writer ends",
        test_writers);
    g_test_add_func("/template-store/a template can be removed while it is "
                    "written",
                    test_clear_while_written);
    g_test_add_func("/template-store/a file that may be another user's is "
                    "removed",
                    test_useless);
    g_test_add_func(
        "/template-store/the oldest templates give way to the limit",
        test_limits);
    g_test_add_func(
        "/template-store/a refused template is not used for a while",
        test_refusal);
    add_template_thin_tests();
    failed = g_test_run();
    remove_cache(cache);
    return failed;
}
