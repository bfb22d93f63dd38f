/* SPDX-License-Identifier: Apache-2.0
 *
 * lost-test - forced rollbacks over files that another process has moved away.
 *
 * What is lost to a rollback (restore_lost.h) must neither stop it nor be
 * destroyed by it, and everything else is as before the step.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

static void put(struct world *w, const char *path, int flags, const char *text)
{
    g_assert_cmpint(w->backend->put(w, path, flags, text, strlen(text), 0), ==,
                    0);
}

static void write_step(struct world *w, const char *path, const char *text)
{
    world_step(w);
    put(w, path, O_CREAT, text);
    world_end_step(w);
}

static void assert_text(struct world *w, const char *path, const char *text)
{
    g_autofree char *found = world_read(w, path);

    g_assert_cmpstr(found, ==, text);
}

static json_t *undo_payload(bool force)
{
    return json_pack("{s:i, s:b}", "steps", 1, "force", force);
}

/* Assert that undo is refused because of this path. */
static void refused(struct world *w, const char *path)
{
    json_t *paths, *member;
    bool found = false;
    size_t i;

    world_refused(w, "rollback", undo_payload(false), ERROR_UNDO_BARRIER);
    paths = json_object_get(w->backend->error_data(w), "paths");
    json_array_foreach(paths, i, member)
        found |= g_strcmp0(json_string_value(member), path) == 0;
    g_assert_true(found);
}

/* Assert that a forced undo succeeds, with a warning that this path (NULL:
 * none) is not restored. */
static void forced(struct world *w, const char *path)
{
    json_t *answer = world_request(w, "rollback", undo_payload(true)), *warning;
    bool found = false;
    size_t i;

    json_array_foreach(json_object_get(answer, "warnings"), i, warning)
    {
        const char *text = json_string_value(warning);

        if (strstr(text, ": not restored"))
            found |= !path || strstr(text, path);
    }
    g_assert_true(found == (path != NULL));
    json_decref(answer);
}

/* ---- cases --------------------------------------------------------------- */

/* Into a directory that the step made, and that undo removes. */
static void moved_into_created(struct world *w)
{
    g_autofree char *from = world_host_path(w, "dir");
    g_autofree char *to = world_host_path(w, "new/kept");
    g_autoptr(GPtrArray) before = world_snapshot(w);

    world_step(w);
    g_assert_cmpint(w->backend->mkdir(w, "new", 0755), ==, 0);
    put(w, "dir/sub/file", 0, "new");
    world_end_step(w);
    g_assert_cmpint(rename(from, to), ==, 0);
    refused(w, "dir");
    forced(w, NULL);
    world_assert_equal(w, before);
}

/* The same, and another inode with its former name must make room. */
static void exchanged_with_created(struct world *w)
{
    g_autofree char *from = world_host_path(w, "dir");
    g_autofree char *to = world_host_path(w, "new/made");
    g_autoptr(GPtrArray) before = world_snapshot(w), edited = NULL;

    world_step(w);
    g_assert_cmpint(w->backend->mkdir(w, "new", 0755), ==, 0);
    g_assert_cmpint(w->backend->mkdir(w, "new/made", 0755), ==, 0);
    put(w, "dir/sub/file", 0, "new");
    world_end_step(w);
    g_assert_cmpint(renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE),
                    ==, 0);
    refused(w, "dir");
    edited = world_snapshot(w);
    forced(w, NULL);
    world_assert_equal(w, before);
    world_redo_to(w, 1, edited);
    write_step(w, "other", "the engine works on");
}

/* What the step removed was below a directory that is elsewhere now. */
static void below_moved(struct world *w)
{
    const struct world_backend *b = w->backend;
    g_autofree char *from = world_host_path(w, "dir/sub");
    g_autofree char *deep = world_host_path(w, "dir/sub/deep");
    g_autofree char *to = world_host_path(w, "elsewhere");

    world_step(w);
    g_assert_cmpint(b->mkdir(w, "dir/sub/deep", 0755), ==, 0);
    g_assert_cmpint(b->mkdir(w, "dir/sub/deep/er", 0755), ==, 0);
    world_end_step(w);
    world_step(w);
    g_assert_cmpint(b->rmdir(w, "dir/sub/deep/er"), ==, 0);
    g_assert_cmpint(b->rmdir(w, "dir/sub/deep"), ==, 0);
    g_assert_cmpint(b->rename(w, "dir/sub/file", "arrived", 0), ==, 0);
    put(w, "file", 0, "new");
    world_end_step(w);
    g_assert_cmpint(rename(from, to), ==, 0);
    g_assert_cmpint(mkdir(from, 0755), ==, 0);
    refused(w, "dir/sub");
    forced(w, NULL);
    assert_text(w, "file", "old");
    assert_text(w, "arrived", NULL);
    assert_text(w, "dir/sub/file",
                "old"); /* in the directory that took its place */
    assert_text(w, "elsewhere/gone", "old");
    forced(w, NULL);
    g_assert_cmpint(rmdir(deep), ==, -1);
    g_assert_cmpint(errno, ==, ENOENT);
    write_step(w, "other", "the engine works on");
}

/* Of two names that the step exchanged, one has lost its inode. */
static void exchanged_and_lost(struct world *w)
{
    g_autofree char *from = world_host_path(w, "dir");
    g_autofree char *to = world_host_path(w, "elsewhere");

    world_step(w);
    g_assert_cmpint(w->backend->rename(w, "dir/file", "dir/sub/x", 0), ==, 0);
    g_assert_cmpint(w->backend->rename(w, "dir", "file", RENAME_EXCHANGE), ==,
                    0);
    world_end_step(w);
    g_assert_cmpint(rename(from, to), ==, 0); /* now the file */
    refused(w, "dir");
    forced(w, NULL);
    assert_text(w, "dir/file", "old");
    assert_text(w, "dir/sub/gone", "old");
    assert_text(w, "file", "old"); /* a copy of what another process moved */
    assert_text(w, "elsewhere", "old");
}

/* Its directory was replaced, and it is in another one's place. */
static void makes_room(struct world *w)
{
    g_autofree char *from = world_host_path(w, "dir");
    g_autofree char *to = world_host_path(w, "elsewhere");

    write_step(w, "dir/file", "mine");
    world_step(w);
    g_assert_cmpint(w->backend->rename(w, "dir/file", "file", 0), ==, 0);
    world_end_step(w);
    g_assert_cmpint(rename(from, to), ==, 0);
    g_assert_cmpint(mkdir(from, 0755), ==, 0);
    refused(w, "dir");
    forced(w, NULL);
    assert_text(w, "file", "old");
    assert_text(w, "dir/file", "mine");
}

/* A directory that the step made has the last name of a file, left there by
 * another process. The file is removed with the directory, and restored with
 * it. */
static void last_name_in_created(struct world *w)
{
    g_autofree char *name = world_host_path(w, "file");

    world_step(w);
    g_assert_cmpint(w->backend->mkdir(w, "new", 0755), ==, 0);
    g_assert_cmpint(w->backend->link(w, "file", "new/last"), ==, 0);
    world_end_step(w);
    g_assert_cmpint(unlink(name), ==, 0);
    refused(w, "file");
    forced(w, NULL);
    assert_text(w, "new/last", NULL);
    json_decref(world_redo(w, 1));
    assert_text(w, "new/last", "old");
}

/* ---- reused numbers ------------------------------------------------------ */

enum { MANY = 40 };

static const char *numbered(char *text, const char *stem, int i)
{
    g_snprintf(text, 32, "%s%d", stem, i);
    return text;
}

static void unlink_many(struct world *w, const char *stem)
{
    char path[32];

    world_step(w);
    for (int i = 0; i < MANY; i++)
        g_assert_cmpint(w->backend->unlink(w, numbered(path, stem, i)), ==, 0);
    world_end_step(w);
}

/* A step that changes files and moves symlinks. */
static void change_and_move(struct world *w)
{
    const struct world_backend *b = w->backend;
    char path[32], to[32];

    world_step(w);
    for (int i = 0; i < MANY; i++) {
        put(w, numbered(path, "dir/f", i), 0, "new");
        g_assert_cmpint(b->rename(w, numbered(path, "dir/l", i),
                                  numbered(to, "dir/sub/l", i), 0),
                        ==, 0);
    }
    world_end_step(w);
}

/* Another process takes the numbers of the files, and frees them again: what is
 * made anew from then on has numbers of former files. If the file system reuses
 * numbers (ext4), two records then seem to mean one inode; it is the existing
 * one's. */
static void given_again(struct world *w)
{
    const struct world_backend *b = w->backend;
    g_autoptr(GPtrArray) before = NULL;
    char path[32];

    for (int i = 0; i < MANY; i++) {
        put(w, numbered(path, "dir/f", i), O_CREAT, "old");
        g_assert_cmpint(b->symlink(w, path, numbered(path, "dir/l", i)), ==, 0);
    }
    change_and_move(w);
    for (int i = 0; i < MANY; i++) {
        g_autofree char *full = world_host_path(w, numbered(path, "dir/f", i));

        g_assert_cmpint(unlink(full), ==, 0);
    }
    world_step(w);
    for (int i = 0; i < MANY; i++)
        g_assert_cmpint(b->symlink(w, "x", numbered(path, "dir/x", i)), ==, 0);
    world_end_step(w);
    unlink_many(w, "dir/x");
    json_decref(world_undo(w, 2));
    before = world_snapshot(w);
    unlink_many(w, "dir/sub/l");
    world_undo_to(w, 1, before);
    forced(w, NULL);
    for (int i = 0; i < MANY; i++) {
        struct stat st;

        assert_text(w, numbered(path, "dir/f", i), "old");

        g_assert_cmpint(b->stat(w, numbered(path, "dir/l", i), &st), ==, 0);
        g_assert_true(S_ISLNK(st.st_mode));
    }
}

/* Make it with that inode number. False: this file system assigns others. */
static bool make_as(const char *path, ino_t ino)
{
    for (int i = 0; i < MANY; i++) {
        g_autofree char *other = g_strdup_printf("%s-%d", path, i);
        struct stat st;

        int fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

        g_assert_cmpint(write(fd, "theirs", 6), ==, 6);
        g_assert_cmpint(fstat(fd, &st), ==, 0);
        close(fd);
        if (st.st_ino == ino)
            return rename(other, path) == 0;
    }
    return false;
}

/* A file that lost one of its names is found at another. If another process has
 * replaced it there, the new file may have its number but is a different file,
 * and must not be written. */
static void replaced_with_number(struct world *w)
{
    g_autofree char *path = world_host_path(w, "file");
    struct stat st;

    g_assert_cmpint(w->backend->link(w, "file", "second"), ==, 0);
    world_step(w);
    g_assert_cmpint(w->backend->unlink(w, "second"), ==, 0);
    world_end_step(w);
    g_assert_cmpint(lstat(path, &st), ==, 0);
    g_usleep(20000); /* times have a granularity */
    g_assert_cmpint(unlink(path), ==, 0);
    if (!make_as(path, st.st_ino))
        g_test_message("the number was not given again");
    json_decref(
        world_request(w, "rollback", undo_payload(w->backend == &world_mount)));
    assert_text(w, "second", "old");
    if (lstat(path, &st) == 0)
        assert_text(w, "file", "theirs");
}

/* An inode that was made anew in between was born late, but is the same. */
static void remade_with_number(struct world *w)
{
    const struct world_backend *b = w->backend;
    g_autoptr(GPtrArray) before = NULL;
    char path[32], other[32];

    for (int i = 0; i < MANY; i++) {
        put(w, numbered(path, "dir/f", i), O_CREAT, "old");
        g_assert_cmpint(b->link(w, path, numbered(other, "dir/s", i)), ==, 0);
    }
    before = world_snapshot(w);
    unlink_many(w, "dir/s");
    unlink_many(w, "dir/f");
    json_decref(world_undo(w, 1));
    world_undo_to(w, 1, before);
}

/* ---- table of cases ------------------------------------------------------ */

static const struct {
    const char *name;
    void (*run)(struct world *w);
} cases[] = {
    { "moved-into-created", moved_into_created },
    { "exchanged-with-created", exchanged_with_created },
    { "below-moved", below_moved },
    { "exchanged-and-lost", exchanged_and_lost },
    { "replacement-makes-room", makes_room },
    { "last-name-in-created", last_name_in_created },
    { "numbers-are-reused", given_again },
    { "replaced-with-number", replaced_with_number },
    { "remade-with-number", remade_with_number },
};

struct test {
    const struct world_backend *backend;
    void (*run)(struct world *w);
};

static void run_case(gconstpointer data)
{
    const struct test *test = data;
    world_auto struct world *w = world_new(test->backend);

    world_host_file(w, "file", "old");
    world_host_dir(w, "dir/sub");
    world_host_file(w, "dir/file", "old");
    world_host_file(w, "dir/sub/file", "old");
    world_host_file(w, "dir/sub/gone", "old");
    if (world_start(w))
        test->run(w);
}

int main(int argc, char **argv)
{
    const struct world_backend *const backends[] = {
        &world_folder,
        &world_folder_copy,
        &world_mount,
    };

    umask(022);
    g_test_init(&argc, &argv, NULL);
    for (size_t b = 0; b < G_N_ELEMENTS(backends); b++) {
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
            g_autofree char *path = g_strdup_printf(
                "/lost/%s/%s", backends[b]->name, cases[i].name);
            struct test *test = g_new0(struct test, 1);

            test->backend = backends[b];
            test->run = cases[i].run;
            g_test_add_data_func_full(path, test, run_case, g_free);
        }
    }
    return g_test_run();
}
