/* SPDX-License-Identifier: Apache-2.0
 *
 * saves-around-kill-test - no save around a kill is lost.
 *
 * What another process saves while the engine is killed in a step is in the
 * folder or in damaged/ after the recovery.
 *
 * A step has written into many files, and made others. Every 50 ms another
 * process saves one of each, before the engine is killed and after. No clock
 * can tell whose the last changes were, so both are kept.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/edits.h"

enum { EVERY_MS = 50, BEFORE = 24, AFTER = 64, SAVES = BEFORE + AFTER };

enum way { IN_PLACE, REPLACED, IN_NEW_FOLDER, WAYS };

static const char *const way_names[] = { "in-place", "replaced", "new" };

static char *path_of(enum way way, int i)
{
    return g_strdup_printf("%s/%s-%d", way == IN_NEW_FOLDER ? "new" : "many",
                           way_names[way], i);
}

static void save(struct edits *f, int i)
{
    for (enum way way = IN_PLACE; way < WAYS; way++) {
        g_autofree char *path = path_of(way, i);
        g_autofree char *text = g_strdup_printf("saved %s %d", way_names[way],
                                                i);

        if (way == REPLACED)
            edits_replace(f, path, text);
        else
            edits_write(f, path, text);
    }
    g_usleep(EVERY_MS * 1000);
}

static bool is_in(const char *folder, const char *text)
{
    g_autofree char *command = g_strdup_printf(
        "grep -rqx '%s' '%s' 2>/dev/null", text, folder);

    return system(command) == 0;
}

static void check(struct edits *f, int i)
{
    g_autofree char *damaged = g_build_filename(f->w->undo_dir, "damaged",
                                                NULL);

    for (enum way way = IN_PLACE; way < WAYS; way++) {
        g_autofree char *text = g_strdup_printf("saved %s %d", way_names[way],
                                                i);

        if (is_in(f->w->share, text) || is_in(damaged, text))
            continue;
        g_test_message("'%s', %d ms %s the kill, is lost", text,
                       ABS(i - BEFORE) * EVERY_MS,
                       i < BEFORE ? "before" : "after");
        g_test_fail();
    }
}

static void no_save_is_lost(struct edits *f)
{
    for (int i = 0; i < SAVES; i++) {
        g_autofree char *in_place = path_of(IN_PLACE, i);
        g_autofree char *replaced = path_of(REPLACED, i);

        edits_client_put(f, in_place, O_CREAT, "old");
        edits_client_put(f, replaced, O_CREAT, "old");
    }
    world_step(f->w);
    g_assert_cmpint(f->w->backend->mkdir(f->w, "new", 0755), ==, 0);
    for (int i = 0; i < SAVES; i++) {
        g_autofree char *in_place = path_of(IN_PLACE, i);
        g_autofree char *replaced = path_of(REPLACED, i);

        edits_client_put(f, in_place, O_TRUNC, "by the step");
        edits_client_put(f, replaced, O_TRUNC, "by the step");
    }
    for (int i = 0; i < BEFORE; i++)
        save(f, i);
    f->w->backend->kill(f->w);
    for (int i = BEFORE; i < SAVES; i++)
        save(f, i);
    g_assert_true(world_start(f->w));
    for (int i = 0; i < SAVES; i++)
        check(f, i);
}

static void many(struct edits *f)
{
    g_assert_cmpint(f->w->backend->mkdir(f->w, "many", 0755), ==, 0);
    no_save_is_lost(f);
}

/* Another process moves a directory of its own into one that the step made: no
 * time of its content changes. */
static void moved_folder_is_kept(struct edits *f)
{
    g_autofree char *damaged = g_build_filename(f->w->undo_dir, "damaged",
                                                NULL);

    edits_shell(f, "mkdir -p theirs/deep && echo precious > theirs/deep/file");
    g_usleep(2500 * 1000);
    world_step(f->w);
    g_assert_cmpint(f->w->backend->mkdir(f->w, "new", 0755), ==, 0);
    edits_client_put(f, "new/file", O_CREAT, "by the step");
    f->w->backend->kill(f->w);
    edits_shell(f, "mv theirs new/theirs");
    g_assert_true(world_start(f->w));
    g_assert_true(is_in(f->w->share, "precious") || is_in(damaged, "precious"));
}

static const struct edits_case cases[] = {
    { "saves-around-kill/moved-folder-is-kept", moved_folder_is_kept },
    { "saves-around-kill/no-save-is-lost", many },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    edits_add_cases(cases, G_N_ELEMENTS(cases));
    return g_test_run();
}
