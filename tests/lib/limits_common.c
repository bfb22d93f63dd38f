/* SPDX-License-Identifier: Apache-2.0
 *
 * limits_common - see limits_common.h.
 */
#include "tests/lib/limits_common.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/errors.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

void limits_configure(struct world *w, const char *name, int64_t value)
{
    json_decref(world_request(w, "configure",
                              json_pack("{s:I}", name, (json_int_t)value)));
}

/* Incompressible bytes that are the same in each run. */
static void fill(char *data, size_t len, guint32 seed)
{
    GRand *rand = g_rand_new_with_seed(seed);

    for (size_t i = 0; i < len; i++)
        data[i] = (char)g_rand_int_range(rand, 0, 256);
    g_rand_free(rand);
}

const char *limits_file_name(unsigned i)
{
    static char name[32];

    snprintf(name, sizeof(name), "file%u", i);
    return name;
}

static void host_files(struct world *w)
{
    g_autofree char *data = g_malloc(FILE_SIZE);

    for (unsigned i = 0; i < FILES; i++) {
        g_autofree char *path = world_host_path(w, limits_file_name(i));

        fill(data, FILE_SIZE, i);
        g_assert_true(g_file_set_contents(path, data, FILE_SIZE, NULL));
    }
    world_host_file(w, "other", "other");
    world_host_file(w, "moved", "moved");
    world_host_file(w, "replaced", "replaced");
}

struct world *limits_world(gconstpointer backend)
{
    struct world *w = world_new(backend);

    host_files(w);
    if (world_start(w))
        return w;
    world_free(w);
    return NULL;
}

/* Overwrite one file, whose bytes are copied into the log. */
void limits_overwrite(struct world *w, unsigned i, guint32 seed)
{
    g_autofree char *data = g_malloc(FILE_SIZE);

    fill(data, FILE_SIZE, seed);
    OK(w->backend->put(w, limits_file_name(i), 0, data, FILE_SIZE, 0));
}

int64_t limits_overwrite_step(struct world *w, unsigned i, guint32 seed)
{
    int64_t id = world_step(w);

    limits_overwrite(w, i, seed);
    world_end_step(w);
    return id;
}

void limits_small_step(struct world *w, const char *text)
{
    world_step(w);
    OK(w->backend->put(w, "other", O_TRUNC, text, strlen(text), 0));
    world_end_step(w);
}

/* ---- event.warning ------------------------------------------------------- */

/* Return the next warning with this code; new. */
json_t *limits_take_warning(struct world *w, const char *code)
{
    json_t *event;

    json_decref(world_request(w, "status", NULL)); /* the reply follows earlier
                                                    * events */
    while ((event = w->backend->event(w, "event.warning"))) {
        if (g_strcmp0(json_string_value(json_object_get(event, "code")),
                      code) == 0)
            return event;
        json_decref(event);
    }
    return NULL;
}

void limits_expect_unprotected(struct world *w, int64_t id)
{
    json_t *event = limits_take_warning(w, "step_unprotected");

    g_assert_nonnull(event);
    g_assert_cmpint(json_integer_value(json_object_get(event, "step_id")), ==,
                    id);
    json_decref(event);
    g_assert_null(limits_take_warning(w, "step_unprotected"));
}

void limits_rollback_refused(struct world *w, int steps, bool force, int code)
{
    world_refused(w, "rollback",
                  json_pack("{s:i, s:b}", "steps", steps, "force", force),
                  code);
}
