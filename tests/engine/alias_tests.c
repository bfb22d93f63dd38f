/* SPDX-License-Identifier: Apache-2.0
 *
 * alias_tests - an inode of a step is found by its present number.
 *
 * See undo_log.h.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interceptor/log/ctime_ledger.h"
#include "interceptor/log/step.h"
#include "interceptor/log/undo_log.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/sys/sys.h"
#include "tests/engine/engine_tests.h"
#include "tests/lib/oracle.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

static uint64_t renumber(const struct ctime_state *then, int64_t seq,
                         int64_t *ret_born, void *opaque)
{
    return then->ino == 12 ? 99 : then->ino;
}

/* Records that a rollback adds to a manifest refer to inodes by the numbers in
 * it. */
static void renumbered(void)
{
    g_autofree char *folder = g_dir_make_tmp("stepback-test-XXXXXX", NULL);
    int dirfd = open(folder, O_RDONLY | O_DIRECTORY);
    g_autoptr(step_auto) first = step_new(7, 3, IC_STEP_API, NULL, 2);

    OK(step_create_manifest(first, dirfd));
    OK(step_record_home(first, step_get_inode(first, 12), first->root, "a"));
    g_clear_pointer(&first->journal, journal_close);
    for (int i = 0; i < 2; i++) {
        g_autoptr(step_auto) step = NULL;
        struct step_inode *inode;

        OK(step_load(dirfd, renumber, NULL, &step));
        g_assert_false(step->damaged);
        g_assert_null(step_find_inode(step, 12));
        inode = step_find_inode(step, 99);
        g_assert_nonnull(inode);
        g_assert_cmpuint(inode->flags & STEP_LOST, ==, i ? STEP_LOST : 0);
        g_assert_true(i == 0 || inode->names);
        OK(journal_open(dirfd, STEP_MANIFEST, &step->journal));
        OK(step_record_binding(step, step->root, "a", inode));
        OK(step_record_lost(step, inode));
    }
    close(dirfd);
    OK(sys_remove_tree(AT_FDCWD, folder));
}

/* Two records refer to one inode: the other inode is gone, and is reported. */
static void renumbered_twice(void)
{
    g_autofree char *folder = g_dir_make_tmp("stepback-test-XXXXXX", NULL);
    int dirfd = open(folder, O_RDONLY | O_DIRECTORY);
    g_autoptr(step_auto) first = step_new(7, 3, IC_STEP_API, NULL, 2);

    OK(step_create_manifest(first, dirfd));
    OK(step_record_home(first, step_get_inode(first, 12), first->root, "a"));
    OK(step_record_home(first, step_get_inode(first, 99), first->root, "b"));
    for (int post = 0; post < 2; post++) {
        g_autoptr(step_auto) step = NULL;
        const struct step_inode *gone;

        if (post)
            OK(journal_append(
                first->journal,
                json_pack("{s:s, s:i, s:i}", "t", "p", "i", 2, "o", S_IFDIR)));
        if (post)
            OK(journal_append(first->journal,
                              json_pack("{s:s, s:i}", "t", "end", "post", 1)));
        OK(step_load(dirfd, renumber, NULL, &step));
        g_assert_cmpint(step->damaged, ==, !post);
        g_assert_cmpuint(step_find_inode(step, 99)->recorded, ==, 12);
        g_assert_cmpuint(step->retired->len, ==, 1);
        gone = g_ptr_array_index(step->retired, 0);
        g_assert_cmpuint(gone->recorded, ==, 99);
        g_assert_true(gone->flags & STEP_LOST);
    }
    close(dirfd);
    OK(sys_remove_tree(AT_FDCWD, folder));
}

/* Pairs of inodes, one gone and one existing, that have the same number now;
 * which of the two had the lower number varies. */
enum { PAIRS = 64, FIRST = 1000, SECOND = 2000, SHARED = 3000, LAST = 4000 };

static uint64_t living(guint i)
{
    return (i % 2 ? FIRST : SECOND) + i;
}

static uint64_t dead(guint i)
{
    return (i % 2 ? SECOND : FIRST) + i;
}

static void lose(struct undo_log *log, uint64_t from, uint64_t to, int64_t seq)
{
    struct undo_log_remade remade = { .from = from, .to = to, .seq = seq };

    OK(undo_log_add_alias(log, &remade));
}

/* Step 3 has recorded both. Another process removed the first; the inode that
 * had its number next was lost by step 12, and is gone since. The existing one
 * was lost by step 11, which was undone later; some of them were lost again, by
 * step 30. */
static void share_numbers(struct undo_log *log)
{
    undo_log_use(log, 0, 20);
    for (guint i = 0; i < PAIRS; i++)
        lose(log, dead(i), SHARED + i, 12);
    for (guint i = 0; i < PAIRS; i++)
        lose(log, living(i), SHARED + i, 11);
    undo_log_use(log, 0, 30);
    for (guint i = 0; i < PAIRS; i += 3)
        lose(log, SHARED + i, LAST + i, 30);
}

static void assert_living(struct undo_log *log, int dirfd)
{
    g_autoptr(step_auto) step = NULL;

    OK(step_load(dirfd, undo_log_alias, log, &step));
    g_assert_cmpuint(step->retired->len, ==, PAIRS);
    for (guint i = 0; i < PAIRS; i++) {
        const struct step_inode *inode = step_find_inode(
            step, (i % 3 ? SHARED : LAST) + i);
        const struct step_inode *lost = g_ptr_array_index(step->retired, i);

        g_assert_nonnull(inode);
        g_assert_cmpuint(inode->recorded, ==, living(i));
        g_assert_false(inode->flags & STEP_LOST);
        g_assert_true(lost->flags & STEP_LOST);
    }
}

/* The inode that got the number last owns it, in whatever order the record or
 * the log lists them. */
static void shared_numbers(void)
{
    g_autofree char *folder = g_dir_make_tmp("stepback-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "log", NULL);
    int dirfd = open(folder, O_RDONLY | O_DIRECTORY);
    g_autoptr(step_auto) first = step_new(7, 3, IC_STEP_API, NULL, 2);
    struct undo_log_entry entry = { .id = 7, .seq = 3 };
    struct undo_log *log = undo_log_open(path, NULL, false, NULL);
    char name[32];

    g_assert_nonnull(log);
    OK(step_create_manifest(first, dirfd));
    for (guint i = 0; i < 2 * PAIRS; i++) {
        g_snprintf(name, sizeof(name), "%u", i);
        OK(step_record_home(
            first, step_get_inode(first, i % 2 ? living(i / 2) : dead(i / 2)),
            first->root, name));
    }
    share_numbers(log);
    assert_living(log, dirfd);
    g_array_append_val(log->entries, entry);
    OK(undo_log_compact_history(log));
    undo_log_close(log);
    log = undo_log_open(path, NULL, false, NULL);
    assert_living(log, dirfd);
    undo_log_close(log);
    close(dirfd);
    OK(sys_remove_tree(AT_FDCWD, folder));
}

/* ---- births -------------------------------------------------------------- */

static uint64_t follow(struct undo_log *log, uint64_t ino, int64_t changed,
                       int64_t *ret_born)
{
    struct ctime_state then = { ino, changed };

    return undo_log_alias(&then, 3, ret_born, log);
}

static void assert_births(struct undo_log *log)
{
    int64_t born;

    /* Step 5 lost a 12 that was born at 150. */
    g_assert_cmpuint(follow(log, 12, 149, &born), ==, 0);
    g_assert_cmpuint(follow(log, 12, 150, &born), ==, 12);
    g_assert_cmpint(born, ==, 300);
    g_assert_cmpuint(follow(log, 12, 0, &born), ==, 12);
    /* Step 8 lost the 21 that step 5 had made; another process had made the 31.
     */
    g_assert_cmpuint(follow(log, 20, 100, &born), ==, 22);
    g_assert_cmpint(born, ==, 900);
    g_assert_cmpuint(follow(log, 30, 100, &born), ==, 0);
    /* Unknown. */
    g_assert_cmpuint(follow(log, 40, 100, &born), ==, 42);
    g_assert_cmpint(born, ==, INT64_MAX);
    /* It has not changed. */
    g_assert_cmpuint(follow(log, 50, 100, &born), ==, 50);
    g_assert_cmpint(born, ==, 0);
}

/* An inode that was born later reuses the number of another one. */
static void births(void)
{
    static const struct undo_log_remade remade[] = {
        { 12, 12, 5, 150, 300 }, { 20, 21, 5, 90, 400 },
        { 30, 31, 5, 90, 400 },  { 40, 41, 5, 0, 0 },
        { 21, 22, 8, 400, 900 }, { 31, 32, 8, 401, 900 },
        { 41, 42, 8, 400, 0 },
    };
    g_autofree char *folder = g_dir_make_tmp("stepback-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "log", NULL);
    struct undo_log_entry entry = { .id = 7, .seq = 3 };
    struct undo_log *log = undo_log_open(path, NULL, false, NULL);

    g_assert_nonnull(log);
    for (size_t i = 0; i < G_N_ELEMENTS(remade); i++) {
        undo_log_use(log, 0, remade[i].seq);
        OK(undo_log_add_alias(log, &remade[i]));
    }
    assert_births(log);
    g_array_append_val(log->entries, entry);
    OK(undo_log_compact_history(log));
    undo_log_close(log);
    log = undo_log_open(path, NULL, false, NULL);
    assert_births(log);
    undo_log_close(log);
    OK(sys_remove_tree(AT_FDCWD, folder));
}

void add_alias_tests(void)
{
    g_test_add_func("/alias/records-follow-new-numbers", renumbered);
    g_test_add_func("/alias/one-inode-has-one-record", renumbered_twice);
    g_test_add_func("/alias/last-owner-has-a-shared-number", shared_numbers);
    g_test_add_func("/alias/birth-time-tells-inodes-apart", births);
}
