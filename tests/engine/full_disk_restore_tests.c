/* SPDX-License-Identifier: Apache-2.0
 *
 * full_disk_restore_tests - restore of paths on a full disk.
 *
 * Without enough space it is refused and changes nothing; with space it
 * succeeds.
 */
#include <unistd.h>

#include "common/errors.h"
#include "tests/engine/engine_tests.h"
#include "tests/lib/full_disk.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

enum { FILE_MIB = 8 };

static json_t *payload(void)
{
    return json_pack("{s:[s, s]}", "paths", "data", "c");
}

/* Remove a file of this many MiB, and change another one. */
static void do_steps(struct world *w)
{
    world_step(w);
    g_assert_cmpint(full_disk_write(w, "data", FILE_MIB), ==, FILE_MIB);
    world_end_step(w);
    world_step(w);
    OK(w->backend->unlink(w, "data"));
    OK(w->backend->put(w, "c", 0, "changed", 7, 100));
    world_end_step(w);
}

/* Leave this much space. */
static void leave(struct world *w, off_t size)
{
    g_autofree char *room = world_host_path(w, "room");

    full_disk_file(w, "room", MAX(size, 1));
    full_disk_fill(w);
    OK(unlink(room));
}

static void try_with(gconstpointer backend, off_t room, bool enough)
{
    struct world *w = full_disk_start_on(backend, "size=80m", 8 * MIB);
    g_autoptr(GPtrArray) after = NULL;

    if (!w)
        return;
    do_steps(w);
    leave(w, room);
    after = world_snapshot(w);
    if (enough) {
        json_decref(world_request(w, "restore", payload()));
        g_assert_cmpuint(world_history_count(w), ==, 3);
        json_decref(world_undo(w, 1));
    } else {
        world_refused(w, "restore", payload(), ERROR_IO_ERROR);
        g_assert_cmpuint(world_history_count(w), ==, 2);
    }
    world_assert_equal(w, after);
    full_disk_end(w);
}

static void no_room(gconstpointer backend)
{
    try_with(backend, 0, false);
}

/* Space for the copy in the log, but not for the file. */
static void room_for_one_copy(gconstpointer backend)
{
    try_with(backend, (FILE_MIB + 2) * MIB, false);
}

static void room_for_both(gconstpointer backend)
{
    try_with(backend, (2 * FILE_MIB + 2) * MIB, true);
}

static const struct world_case cases[] = {
    { "refused-without-space", no_room },
    { "refused-with-space-for-one-copy", room_for_one_copy },
    { "made-with-space-for-both", room_for_both },
};

void add_full_disk_restore_tests(void)
{
    full_disk_add_cases("/full-disk-restore", cases, G_N_ELEMENTS(cases));
}
