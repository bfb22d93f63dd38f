/* SPDX-License-Identifier: Apache-2.0
 *
 * random-edits-test - random edits and forced undo lose nothing.
 *
 * A step, edits by another process, and a forced undo are random.
 *
 * Each file that is written has a unique word in it. Whatever the undo does,
 * and wherever it is killed, each word of the host's that was in the folder,
 * and each old one that was in the folder or the log, is in one of the two. If
 * no other process interferes, the tree is what it was before the step. Redo
 * restores the tree that the undo found.
 *
 * STEPBACK_EDITS_SEED: the first seed (default 1); STEPBACK_EDITS_SEEDS: how
 * many, for long runs (default: as many as there is time for).
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/errors.h"
#include "interceptor/interceptor.h"
#include "interceptor/log/pack_read.h"
#include "interceptor/sys/fault.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

enum { RUN_US = 6000000, WORD = 10, LARGE = 200000 };

struct run {
    struct world *w;
    GRand *rand;
    unsigned words;
    GPtrArray *before, *edited; /* snapshots */
    GHashTable *wanted;         /* words that must not be lost */
};

/* ---- words --------------------------------------------------------------- */

/* "<<H0001>>", by its writer: 'B' before the step, 'S' the step, 'H' the host.
 */
static char *new_text(struct run *run, char who)
{
    g_autofree char *rest = g_rand_int_range(run->rand, 0, 6) == 0
                                ? g_strnfill(LARGE, 'x')
                                : g_strdup("");

    return g_strdup_printf("<<%c%04u>>\n%s", who, ++run->words % 10000, rest);
}

static void add_words(GHashTable *words, const char *data, size_t len)
{
    const char *end = data + len, *at = data;

    while ((at = memmem(at, (size_t)(end - at), "<<", 2)) && end - at >= WORD) {
        if (memcmp(at + 7, ">>", 2) == 0)
            g_hash_table_add(words, g_strndup(at + 2, 5));
        at += 2;
    }
}

static int add_entry(const struct pack_entry *entry, void *words)
{
    if (entry->data)
        add_words(words, entry->data, (size_t)entry->length);
    return 0;
}

static void add_tree(GHashTable *words, const char *path)
{
    g_autoptr(GDir) dir = NULL;
    g_autofree char *data = NULL;
    struct stat st;
    const char *name;
    gsize len;

    if (lstat(path, &st) < 0 || g_str_has_suffix(path, "/trash"))
        return;
    if (S_ISREG(st.st_mode) && g_file_get_contents(path, &data, &len, NULL))
        add_words(words, data, len);
    if (!S_ISDIR(st.st_mode))
        return;
    if (g_str_has_suffix(path, "/blobs")) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        pack_read(fd, false, add_entry, words);
        close(fd);
    }
    dir = g_dir_open(path, 0, NULL);
    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *child = g_build_filename(path, name, NULL);

        add_tree(words, child);
    }
}

static GHashTable *words_of(struct run *run, bool log_too)
{
    GHashTable *words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                              NULL);

    add_tree(words, run->w->share);
    if (log_too)
        add_tree(words, run->w->undo_dir);
    return words;
}

static gboolean is_not_wanted(gpointer key, gpointer value, gpointer in_tree)
{
    const char *word = key;

    return word[0] == 'S' ||
           (word[0] == 'H' && !g_hash_table_contains(in_tree, word));
}

static void assert_kept(struct run *run, const char *when)
{
    g_autoptr(GHashTable) now = words_of(run, true);
    GHashTableIter iter;
    gpointer word;

    g_hash_table_iter_init(&iter, run->wanted);
    while (g_hash_table_iter_next(&iter, &word, NULL)) {
        if (!g_hash_table_contains(now, word))
            g_error("%s: %s is lost", when, (char *)word);
    }
}

/* ---- changes ------------------------------------------------------------- */

static char *any_path(struct run *run)
{
    static const char *const dirs[] = { "d0", "d1", "d0/s", "n0", "n1" };
    static const char *const names[] = { "/a", "/b", "/c", "" };

    return g_strconcat(dirs[g_rand_int_range(run->rand, 0, 5)],
                       names[g_rand_int_range(run->rand, 0, 4)], NULL);
}

static void fill(struct run *run)
{
    world_host_dir(run->w, "d0/s");
    world_host_dir(run->w, "d1");
    for (unsigned i = 0; i < 12; i++) {
        g_autofree char *path = any_path(run), *text = new_text(run, 'B');
        g_autofree char *full = world_host_path(run->w, path);

        if (!g_file_test(full, G_FILE_TEST_EXISTS))
            g_file_set_contents(full, text, -1, NULL);
    }
}

static void change_by_step(struct run *run)
{
    const struct world_backend *b = run->w->backend;
    g_autofree char *path = any_path(run), *to = any_path(run);
    g_autofree char *text = new_text(run, 'S');
    size_t len = strlen(text);

    switch (g_rand_int_range(run->rand, 0, 9)) {
    case 0:
        b->put(run->w, path, O_CREAT, text, len, 0);
        break;
    case 1:
        b->put(run->w, path, O_CREAT | O_TRUNC, text, len, 0);
        break;
    case 2:
        b->put(run->w, path, 0, text, len, 1000);
        break;
    case 3:
        b->unlink(run->w, path);
        break;
    case 4:
        b->rename(run->w, path, to, 0);
        break;
    case 5:
        b->rename(run->w, path, to, RENAME_EXCHANGE);
        break;
    case 6:
        b->link(run->w, path, to);
        break;
    case 7:
        b->mkdir(run->w, path, 0750);
        break;
    case 8:
        b->rmdir(run->w, path);
        break;
    }
}

static void write_text(const char *full, int flags, const char *text)
{
    int fd = open(full, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | flags, 0644);

    if (fd < 0)
        return;
    g_assert_cmpint(write(fd, text, strlen(text)), ==, (ssize_t)strlen(text));
    close(fd);
}

static void change_by_host(struct run *run)
{
    g_autofree char *path = any_path(run), *to = any_path(run);
    g_autofree char *full = world_host_path(run->w, path);
    g_autofree char *full_to = world_host_path(run->w, to);
    g_autofree char *text = new_text(run, 'H');

    switch (g_rand_int_range(run->rand, 0, 8)) {
    case 0:
        write_text(full, O_TRUNC, text);
        break;
    case 1:
        write_text(full, O_APPEND, text);
        break;
    case 2:
        write_text(full, O_CREAT | O_EXCL, text);
        break;
    case 3:
        if (unlink(full) == 0)
            write_text(full, O_CREAT | O_EXCL, text);
        break;
    case 4:
        unlink(full);
        break;
    case 5:
        rename(full, full_to);
        break;
    case 6:
        link(full, full_to);
        break;
    case 7:
        mkdir(full, 0700);
        break;
    }
}

/* ---- a run --------------------------------------------------------------- */

static struct ic *open_engine(struct run *run)
{
    g_autoptr(GError) error = NULL;

    world_folder_open(run->w, &error);
    g_assert_no_error(error);
    return world_folder_ic(run->w);
}

static void begin(struct run *run, const struct world_backend *backend,
                  guint32 seed)
{
    g_autoptr(GHashTable) in_tree = NULL;
    g_autoptr(GError) error = NULL;
    struct ic *ic;

    *run = (struct run){ .w = world_new(backend),
                         .rand = g_rand_new_with_seed(seed) };
    fill(run);
    run->before = world_snapshot(run->w);
    ic = open_engine(run);
    ic_step_open(ic, 1, IC_STEP_COMMAND, "test", &error);
    g_assert_no_error(error);
    for (int n = g_rand_int_range(run->rand, 2, 24); n > 0; n--)
        change_by_step(run);
    ic_step_close(ic, 1, 0, 0, 0, NULL, &error);
    g_assert_no_error(error);
    backend->stop(run->w);
    for (int n = seed % 4 ? g_rand_int_range(run->rand, 1, 16) : 0; n > 0; n--)
        change_by_host(run);
    run->edited = world_snapshot(run->w);
    in_tree = words_of(run, false);
    run->wanted = words_of(run, true);
    g_hash_table_foreach_remove(run->wanted, is_not_wanted, in_tree);
}

static void end(struct run *run)
{
    run->w->backend->stop(run->w);
    world_free(run->w);
    g_rand_free(run->rand);
    g_ptr_array_unref(run->before);
    g_ptr_array_unref(run->edited);
    g_hash_table_unref(run->wanted);
}

/* Undo what is left of the history: nothing, if an earlier undo got that far.
 * False: it is refused, and changes nothing. */
static bool undo(struct run *run, struct ic *ic, guint32 seed)
{
    g_autoptr(GPtrArray) now = world_snapshot(run->w);
    g_autoptr(GError) error = NULL;

    if (!ic_rollback(ic, 1, true, NULL, &error) &&
        error_code_of(error) != ERROR_NOTHING_TO_UNDO) {
        g_test_message("seed %u: %s", seed, error->message);
        g_assert_cmpint(seed % 4, !=, 0);
        world_assert_equal(run->w, now);
        return false;
    }
    assert_kept(run, "after the undo");
    if (seed % 4 == 0)
        world_assert_equal(run->w, run->before);
    return true;
}

static void redo(struct run *run, struct ic *ic)
{
    struct ic_rollback_result *result;
    g_autoptr(GError) error = NULL;

    if (ic_redo(ic, 1, true, &result, &error))
        world_assert_equal(run->w, run->edited);
    else
        g_assert_cmpint(error_code_of(error), ==, ERROR_NOTHING_TO_REDO);
    ic_rollback_result_free(result);
    assert_kept(run, "after the redo");
}

#ifdef STEPBACK_FAULT_INJECTION

static struct fault_board *board;

/* Returns the number of points where it can be killed. */
static unsigned run_plain(const struct world_backend *backend, guint32 seed)
{
    const struct fault_plan none = { FAULT_KILL_BEFORE, 100000000, 0 };
    struct run run;
    struct ic *ic;
    unsigned points;

    begin(&run, backend, seed);
    fault_use(board);
    fault_set(board, &none);
    ic = open_engine(&run);
    if (undo(&run, ic, seed)) {
        points = atomic_load(&board->changes);
        fault_set(board, NULL);
        redo(&run, ic);
    } else {
        points = atomic_load(&board->changes);
        fault_set(board, NULL);
    }
    end(&run);
    return points;
}

static void run_killed(const struct world_backend *backend, guint32 seed,
                       unsigned points)
{
    struct fault_plan plan = { .action = FAULT_KILL_BEFORE };
    struct run run;
    struct ic *ic;
    pid_t pid;

    begin(&run, backend, seed);
    plan.point = (unsigned)g_rand_int_range(run.rand, 1, (int)points + 1);
    pid = fork();
    if (pid == 0) {
        fault_set(board, &plan);
        ic = open_engine(&run);
        ic_rollback(ic, 1, true, NULL, NULL);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    fault_set(board, NULL);
    assert_kept(&run, "after the kill");
    ic = open_engine(&run);
    assert_kept(&run, "after the recovery");
    undo(&run, ic, seed);
    end(&run);
}

static void run_seed(const struct world_backend *backend, guint32 seed)
{
    unsigned points = run_plain(backend, seed);

    if (points > 0)
        run_killed(backend, seed, points);
}

static void prepare(void)
{
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_assert_true(board != MAP_FAILED);
}

#else

static void run_seed(const struct world_backend *backend, guint32 seed)
{
    struct run run;
    struct ic *ic;

    begin(&run, backend, seed);
    ic = open_engine(&run);
    if (undo(&run, ic, seed))
        redo(&run, ic);
    end(&run);
}

static void prepare(void)
{
}

#endif

static guint64 number_of(const char *variable, guint64 unset)
{
    const char *text = g_getenv(variable);

    return text ? g_ascii_strtoull(text, NULL, 10) : unset;
}

static const guint32 past_seeds[] = { 65 };

static void nothing_is_lost(gconstpointer backend)
{
    guint64 first = number_of("STEPBACK_EDITS_SEED", 1);
    guint64 count = number_of("STEPBACK_EDITS_SEEDS", 0);
    gint64 until = g_get_monotonic_time() + RUN_US;
    guint64 seed = first;

    /* Seeds that failed once. */
    for (size_t i = 0; i < G_N_ELEMENTS(past_seeds); i++)
        run_seed(backend, past_seeds[i]);
    for (; count ? seed < first + count : g_get_monotonic_time() < until;
         seed++) {
        g_test_message("seed %u", (guint32)seed);
        run_seed(backend, (guint32)seed);
    }
    g_test_message("%u seeds", (guint32)(seed - first));
}

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    prepare();
    g_test_add_data_func("/random-edits/folder", &world_folder,
                         nothing_is_lost);
    g_test_add_data_func("/random-edits/folder-copy", &world_folder_copy,
                         nothing_is_lost);
    return g_test_run();
}
