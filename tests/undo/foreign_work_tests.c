/* SPDX-License-Identifier: Apache-2.0
 *
 * foreign_work_tests - a step's work in another process's directory.
 *
 * The directory was made while the step ran, in a place where the step had
 * changed the tree.
 *
 * Such a directory did not exist before the step. The step may work in it as
 * anywhere else; undo does not revert that, but puts the directory aside.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/edits.h"
#include "tests/lib/oracle.h"
#include "tests/undo/undo_tests.h"

/* Longer than the lag of the file clock behind the programs' clock. */
enum { CLOCK_LAG_US = 50 * 1000 };

static void client_rename(struct edits *f, const char *from, const char *to)
{
    g_assert_cmpint(f->w->backend->rename(f->w, from, to, 0), ==, 0);
}

static void client_remove(struct edits *f, const char *path)
{
    g_assert_cmpint(f->w->backend->unlink(f->w, path), ==, 0);
}

static char *below(const char *folder, const char *path)
{
    return g_build_filename(folder, path, NULL);
}

/* Make all kinds of changes in the directory, which another process makes
 * first. */
static void work_in(struct edits *f, const char *folder)
{
    g_autofree char *theirs = below(folder, "theirs");
    g_autofree char *precious = below(folder, "theirs/precious");
    g_autofree char *own = below(folder, "own");
    g_autofree char *sub = below(folder, "sub");
    g_autofree char *deep = below(folder, "sub/deep");
    g_autofree char *moved = below(folder, "theirs/moved");

    g_usleep(CLOCK_LAG_US);
    edits_host_mkdir(f, folder);
    edits_host_mkdir(f, theirs);
    edits_write(f, precious, "precious");
    edits_client_put(f, own, O_CREAT, "own");
    edits_client_mkdir(f, sub);
    edits_client_put(f, deep, O_CREAT, "own");
    client_rename(f, deep, moved);
    client_rename(f, "file", deep);
    g_assert_cmpint(f->w->backend->chmod(f->w, theirs, 0700), ==, 0);
    client_remove(f, own);
    edits_assert_text(f, moved, "own");
    edits_assert_text(f, deep, "old");
    edits_assert_text(f, precious, "precious");
}

static void close_and_undo(struct edits *f, int64_t id, const char *folder)
{
    g_autoptr(GPtrArray) after = NULL;

    world_end_step(f->w);
    after = world_snapshot(f->w);
    edits_refused(f, folder);
    edits_forced(f, folder);
    world_assert_equal(f->w, f->before);
    json_decref(world_request(f->w, "redo", NULL));
    world_assert_equal(f->w, after);
}

static void in_new(struct edits *f)
{
    int64_t id = world_step(f->w);

    edits_client_mkdir(f, "new");
    work_in(f, "new/others");
    close_and_undo(f, id, "new/others");
}

static void remove_dir(struct edits *f)
{
    client_remove(f, "dir/file");
    client_remove(f, "dir/sub/file");
    client_remove(f, "dir/sub/gone");
    g_assert_cmpint(f->w->backend->rmdir(f->w, "dir/sub"), ==, 0);
    g_assert_cmpint(f->w->backend->rmdir(f->w, "dir"), ==, 0);
}

static void in_replaced(struct edits *f)
{
    int64_t id = world_step(f->w);

    remove_dir(f);
    work_in(f, "dir");
    close_and_undo(f, id, "dir");
}

/* The directory may be moved, too, and entries that were moved into it moved
 * out again. */
static void moved(struct edits *f)
{
    int64_t id = world_step(f->w);

    remove_dir(f);
    work_in(f, "dir");
    client_rename(f, "dir", "elsewhere");
    client_rename(f, "elsewhere/sub/deep", "file");
    close_and_undo(f, id, "elsewhere");
}

static void aborted(struct edits *f)
{
    int64_t id = world_step(f->w);

    remove_dir(f);
    work_in(f, "dir");
    json_decref(world_request(f->w, "step.abort",
                              json_pack("{s:I}", "step_id", (json_int_t)id)));
    world_assert_equal(f->w, f->before);
}

static void killed(struct edits *f)
{
    world_step(f->w);
    remove_dir(f);
    work_in(f, "dir");
    f->w->backend->kill(f->w);
    g_assert_true(world_start(f->w));
    world_assert_equal(f->w, f->before);
}

/* A directory that existed before must not be damaged: the log does not know
 * where another process moves it, so nothing in it is removed or made. */
static void older(struct edits *f)
{
    g_autofree char *from = world_host_path(f->w, "dir");
    g_autofree char *to = world_host_path(f->w, "new/dir");

    world_step(f->w);
    edits_client_mkdir(f, "new");
    g_usleep(CLOCK_LAG_US);
    g_assert_cmpint(rename(from, to), ==, 0);
    g_assert_cmpint(f->w->backend->unlink(f->w, "new/dir/file"), ==, -ESTALE);
    g_assert_cmpint(f->w->backend->mkdir(f->w, "new/dir/made", 0755), ==,
                    -ESTALE);
    world_end_step(f->w);
    edits_assert_text(f, "new/dir/file", "old");
}

/* A foreign file at a name that the step has used is kept, too; undo leaves it
 * in the log. */
static void onto_known_name(struct edits *f)
{
    g_autofree char *find = g_strdup_printf("grep -rqx precious '%s'",
                                            f->w->undo_dir);
    g_autofree char *full = world_host_path(f->w, "name");

    world_step(f->w);
    client_rename(f, "file", "name");
    client_rename(f, "name", "file");
    g_usleep(CLOCK_LAG_US);
    edits_host_mkdir(f, "name");
    g_assert_cmpint(f->w->backend->rename(f->w, "file", "name", 0), ==,
                    -EISDIR);
    g_assert_cmpint(rmdir(full), ==, 0);
    edits_write(f, "name", "precious");
    if (f->w->backend->log_elsewhere) { /* which file can it be a copy of? */
        g_assert_cmpint(f->w->backend->rename(f->w, "file", "name", 0), ==,
                        -ESTALE);
        edits_assert_text(f, "name", "precious");
        return;
    }
    client_rename(f, "file", "name");
    edits_assert_text(f, "name", "old");
    world_end_step(f->w);
    if (edits_is_watched(f))
        edits_forced(f, "name");
    else
        edits_undone(f);
    world_assert_equal(f->w, f->before);
    g_assert_cmpint(system(find), ==, 0);
}

/* Foreign files at the source and target of the step's renames move as they
 * are; those that their process moved elsewhere stay there. */
static void from_known_name(struct edits *f)
{
    g_autofree char *full = world_host_path(f->w, "file");
    g_autofree char *kept = world_host_path(f->w, "kept");

    world_step(f->w);
    client_rename(f, "file", "name");
    client_rename(f, "name", "file");
    client_rename(f, "file", "name");
    client_rename(f, "name", "file");
    g_usleep(CLOCK_LAG_US);
    g_assert_cmpint(rename(full, kept), ==, 0);
    edits_write(f, "file", "precious");
    client_rename(f, "file", "name");
    edits_assert_text(f, "name", "precious");
    edits_assert_text(f, "kept", "old");
    world_end_step(f->w);
    edits_refused(f, "name");
    edits_forced(f, "name");
    edits_assert_text(f, "name", NULL);
    edits_assert_text(f, "kept", "old");
}

static const struct edits_case cases[] = {
    { "foreign-work/in-new", in_new },
    { "foreign-work/in-replaced", in_replaced },
    { "foreign-work/moved", moved },
    { "foreign-work/aborted", aborted },
    { "foreign-work/killed", killed },
    { "foreign-work/older-directory-is-not-damaged", older },
    { "foreign-work/onto-known-name", onto_known_name },
    { "foreign-work/from-known-name", from_known_name },
};

void add_foreign_work_tests(void)
{
    edits_add_cases(cases, G_N_ELEMENTS(cases));
}
