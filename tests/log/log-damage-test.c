/* SPDX-License-Identifier: Apache-2.0
 *
 * log-damage-test - damaged undo logs, and forged ones.
 *
 * A forged log tries to escape from the folder.
 *
 * Each case damages the newest of three steps in one way. The others must then
 * still be listed and usable, and nothing outside the folder and the log may
 * change: a canary tree is next to them.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/log/log_damage.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

/* ---- common -------------------------------------------------------------- */

static GPtrArray *snapshot(const char *path)
{
    g_autofree char *trouble = NULL;
    GPtrArray *lines = oracle_snapshot(path, &trouble);

    g_assert_nonnull(lines);
    return lines;
}

static char *in_step(const struct damaged *d, const char *name)
{
    return g_build_filename(d->step, name, NULL);
}

static void expect_canary(const struct damaged *d)
{
    g_autoptr(GPtrArray) now = snapshot(d->canary);
    g_autofree char *diff = oracle_diff(d->canary_state, now);

    g_assert_null(diff);
}

/* Overwrite content, remove a file, and make a new one. */
static void do_step(struct world *w, int number)
{
    g_autofree char *removed = g_strdup_printf("removed%d", number);
    g_autofree char *created = g_strdup_printf("created%d", number);
    g_autofree char *text = g_strdup_printf("text %d", number);

    world_step(w);
    OK(w->backend->put(w, "file", O_TRUNC, text, strlen(text), 0));
    OK(w->backend->unlink(w, removed));
    OK(w->backend->put(w, created, O_CREAT, text, strlen(text), 0));
    world_end_step(w);
}

static void make_canary(struct damaged *d)
{
    g_autofree char *file = NULL, *blobs = NULL;

    d->canary = g_build_filename(d->w->base, "canary", NULL);
    file = g_build_filename(d->canary, "file", NULL);
    blobs = g_build_filename(d->canary, "blobs", NULL);
    OK(g_mkdir_with_parents(blobs, 0755));
    g_assert_true(g_file_set_contents(file, "canary", -1, NULL));
    d->canary_state = snapshot(d->canary);
}

static struct damaged *set_up(const struct world_backend *backend)
{
    struct damaged *d = g_new0(struct damaged, 1);

    d->w = world_new(backend);
    world_host_file(d->w, "file", "content");
    for (int i = 1; i <= 3; i++) {
        g_autofree char *name = g_strdup_printf("removed%d", i);

        world_host_file(d->w, name, name);
    }
    make_canary(d);
    d->step = g_build_filename(d->w->undo_dir, "steps", "3", NULL);
    if (!world_start(d->w))
        return d;
    for (int i = 1; i <= 3; i++) {
        d->before[i - 1] = world_snapshot(d->w);
        do_step(d->w, i);
    }
    d->w->backend->stop(d->w);
    return d;
}

static void tear_down(struct damaged *d)
{
    world_free(d->w);
    for (int i = 0; i < 3; i++)
        g_clear_pointer(&d->before[i], g_ptr_array_unref);
    g_clear_pointer(&d->canary_state, g_ptr_array_unref);
    g_free(d->canary);
    g_free(d->step);
    g_free(d);
}

/* ---- ways to damage a step ----------------------------------------------- */

static void replace_by_fifo(const struct damaged *d, const char *name)
{
    g_autofree char *path = in_step(d, name);

    OK(unlink(path));
    OK(mkfifo(path, 0600));
}

static void replace_by_link(const struct damaged *d, const char *path)
{
    g_autofree char *away = g_strconcat(path, ".away", NULL);

    OK(rename(path, away));
    OK(symlink(d->canary, path));
}

static void cut_manifest(const struct damaged *d)
{
    g_autofree char *path = in_step(d, "manifest.jsonl");

    OK(truncate(path, 50));
}

/* Whole lines are missing: each remaining line is valid. */
static void cut_lines(const struct damaged *d)
{
    g_autofree char *path = in_step(d, "manifest.jsonl");
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    *strstr(strstr(text, "{\"t\":\"b\""), "\n{\"t\":\"b\"") = '\0';
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void no_manifest(const struct damaged *d)
{
    g_autofree char *path = in_step(d, "manifest.jsonl");

    OK(unlink(path));
}

static void fifo_manifest(const struct damaged *d)
{
    replace_by_fifo(d, "manifest.jsonl");
}

static void fifo_pack(const struct damaged *d)
{
    replace_by_fifo(d, "blobs/data");
}

static void no_pack(const struct damaged *d)
{
    g_autofree char *path = in_step(d, "blobs/data");

    OK(unlink(path));
}

static void flipped_pack(const struct damaged *d)
{
    g_autofree char *path = in_step(d, "blobs/data");
    int fd = open(path, O_RDWR);
    char byte;

    g_assert_cmpint(pread(fd, &byte, 1, 50), ==, 1);
    byte ^= 1;
    g_assert_cmpint(pwrite(fd, &byte, 1, 50), ==, 1);
    close(fd);
}

static void link_pack(const struct damaged *d)
{
    g_autofree char *path = in_step(d, "blobs/data");
    g_autofree char *target = g_build_filename(d->canary, "file", NULL);

    OK(unlink(path));
    OK(symlink(target, path));
}

static void link_step(const struct damaged *d)
{
    replace_by_link(d, d->step);
}

static void link_blobs(const struct damaged *d)
{
    g_autofree char *path = in_step(d, "blobs");

    replace_by_link(d, path);
}

static void other_id(const struct damaged *d)
{
    g_autofree char *other = g_build_filename(d->w->undo_dir, "steps", "2",
                                              "manifest.jsonl", NULL);
    g_autofree char *path = in_step(d, "manifest.jsonl");
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(other, &text, NULL, NULL));
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* The log's entry of a removed file is a symlink that leads out. */
static void link_inode(const struct damaged *d)
{
    g_autofree char *blobs = in_step(d, "blobs");
    g_autofree char *target = g_build_filename(d->canary, "file", NULL);
    g_autoptr(GDir) dir = g_dir_open(blobs, 0, NULL);
    const char *name;

    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(blobs, name, NULL);
        g_autofree char *fresh = g_strconcat(path, ".new", NULL);

        if (name[0] != 'i')
            continue;
        /* Without unlinking it first: the link could get the same number. */
        OK(symlink(target, fresh));
        OK(rename(fresh, path));
        return;
    }
}

/* ---- checks -------------------------------------------------------------- */

static void expect_history(struct world *w, guint count)
{
    json_t *answer = world_request(w, "history", NULL);
    json_t *steps = json_object_get(answer, "steps");

    g_assert_cmpuint(json_array_size(steps), ==, count);
    for (guint i = 0; i < count; i++)
        g_assert_cmpint(json_integer_value(json_object_get(
                            json_array_get(steps, i), "step_id")),
                        ==, count - i);
    json_decref(answer);
}

/* Undo is refused, or undoes what it can; then a forced one; then the steps
 * before it, unless what they touched has changed. */
static void check(const struct damaged *d)
{
    struct world *w = d->w;
    g_autoptr(GPtrArray) left = world_snapshot(w);
    g_autoptr(GError) error = NULL;
    json_t *answer;

    expect_history(w, 3);
    answer = w->backend->request(w, "rollback", json_pack("{s:i}", "steps", 1),
                                 &error);
    expect_canary(d);
    g_assert_null(answer);
    g_assert_true(error_code_of(error) == ERROR_PREIMAGE_CORRUPT ||
                  error_code_of(error) == ERROR_PREIMAGE_MISSING ||
                  error_code_of(error) == ERROR_UNDO_BARRIER);
    world_assert_equal(w, left);
    expect_history(w, 3);
    json_decref(world_request(w, "rollback",
                              json_pack("{s:i, s:b}", "steps", 1, "force", 1)));
    expect_canary(d);
    expect_history(w, 2);
    json_decref(world_request(w, "rollback",
                              json_pack("{s:i, s:b}", "steps", 2, "force", 1)));
    expect_canary(d);
    expect_history(w, 0);
}

struct bound {
    const struct world_backend *backend;
    void (*spoil)(const struct damaged *d);
};

static void run(gconstpointer data)
{
    const struct bound *bound = data;
    struct damaged *d = set_up(bound->backend);

    if (d->before[2]) {
        bound->spoil(d);
        g_assert_true(world_start(d->w));
        check(d);
    }
    tear_down(d);
}

static int found;

static int look_for_removed(const char *path, const struct stat *st, int flag,
                            struct FTW *where)
{
    g_autofree char *text = NULL;

    if (flag == FTW_F && S_ISREG(st->st_mode) &&
        g_file_get_contents(path, &text, NULL, NULL) &&
        strcmp(text, "removed3") == 0)
        found++;
    return 0;
}

/* The file that the step removed is in the log, or restored. */
static void expect_not_lost(struct world *w)
{
    found = 0;
    nftw(w->share, look_for_removed, 16, FTW_PHYS);
    nftw(w->undo_dir, look_for_removed, 16, FTW_PHYS);
    g_assert_cmpint(found, >, 0);
}

static void expect_goes_on(struct world *w)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);

    world_step(w);
    OK(w->backend->put(w, "new", O_CREAT, "x", 1, 0));
    world_end_step(w);
    world_undo_to(w, 1, before);
}

/* CR-04: the start succeeds, reports what it could restore, and loses nothing
 * that was kept. */
static void run_wal(gconstpointer data)
{
    const struct bound *bound = data;
    struct damaged *d = set_up(bound->backend);
    g_autofree char *wal = g_build_filename(d->w->undo_dir, "wal/in_progress",
                                            NULL);
    struct world *w = d->w;

    if (d->before[2]) {
        bound->spoil(d);
        OK(rename(d->step, wal));
        g_assert_true(world_start(w));
        g_assert_nonnull(w->recovery);
        expect_canary(d);
        expect_not_lost(w);
        if (!json_is_true(json_object_get(w->recovery, "taken_back"))) {
            g_assert_nonnull(json_object_get(w->recovery, "message"));
            world_refused(w, "rollback", NULL, ERROR_STEP_UNPROTECTED);
        }
        expect_goes_on(w);
        w->backend->stop(w);
        g_assert_true(world_start(w));
        g_assert_null(w->recovery);
        expect_goes_on(w);
    }
    tear_down(d);
}

static const struct {
    const char *name;
    void (*spoil)(const struct damaged *d);
    bool wal; /* also as the step that a crash interrupted */
} cases[] = {
    { "UL-06/cut-manifest", cut_manifest, true },
    { "UL-06/cut-lines", cut_lines, false },
    { "UL-06/no-manifest", no_manifest, true },
    { "UL-06/fifo-manifest", fifo_manifest, true },
    { "UL-06/other-id", other_id, false },
    { "UL-07/no-pack", no_pack, true },
    { "UL-07/fifo-pack", fifo_pack, true },
    { "UL-08/flipped-pack", flipped_pack, true },
    { "INV-7/link-pack", link_pack, true },
    { "INV-7/link-step", link_step, false },
    { "INV-7/link-blobs", link_blobs, false },
    { "INV-7/link-inode", link_inode, false },
    { "INV-7/forged-names", forged_names, true },
    { "INV-7/forged-cycle", forged_cycle, true },
    { "INV-7/forged-types", forged_types, true },
    { "INV-7/forged-numbers", forged_numbers, true },
    { "INV-7/forged-identity", forged_identity, true },
    { "INV-7/forged-fifo", forged_fifo, true },
};

static void add(const char *prefix, const struct world_backend *backend,
                size_t index, void (*test)(gconstpointer data))
{
    g_autofree char *path = g_strdup_printf("/%s/%s/%s", prefix, backend->name,
                                            cases[index].name);
    struct bound *bound = g_new0(struct bound, 1);

    bound->backend = backend;
    bound->spoil = cases[index].spoil;
    g_test_add_data_func_full(path, bound, test, g_free);
}

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        add("damage", &world_folder, i, run);
        add("damage", &world_mount, i, run);
        if (cases[i].wal)
            add("damage/CR-04", &world_folder, i, run_wal);
    }
    return g_test_run();
}
