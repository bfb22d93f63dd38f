/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_points - see crash_points.h.
 */
#include "tests/crash/crash_points.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static unsigned number_from(const char *variable, unsigned otherwise)
{
    const char *text = g_getenv(variable);
    unsigned number = text ? (unsigned)strtoul(text, NULL, 10) : 0;

    return number ? number : otherwise;
}

unsigned crash_seed(void)
{
    return number_from("STEPBACK_CRASH_SEED", 1);
}

struct crash_points crash_choose_points(const struct crash *c, unsigned factor)
{
    unsigned stride = number_from("STEPBACK_CRASH_STRIDE", 1);

    stride *= stride > 1 ? factor : 1;
    stride *= c ? MAX(c->tree->sparse, 1) : 1;
    return (struct crash_points){ 1 + crash_seed() % stride, stride, UINT_MAX };
}

struct crash_points crash_choose_among(const struct crash *c, unsigned factor,
                                       unsigned count, unsigned series)
{
    struct crash_points points = crash_choose_points(c, factor);
    g_autofree char *name = NULL;
    guint hash;

    if (points.stride == 1)
        return points;
    name = g_strdup_printf("%u %u %s %s %s", crash_seed(), series,
                           c->w->backend->name, c->tree->name, c->act->name);
    hash = g_str_hash(name);
    hash = (hash ^ hash >> 16) * 0x45d9f3b; /* similar names, other points */
    hash ^= hash >> 16;
    points.first = 1 + hash % points.stride;
    points.last = count;
    return points;
}

unsigned crash_each_point(struct crash_points points,
                          bool (*round)(void *opaque, unsigned point),
                          void *opaque)
{
    unsigned point = points.first, reached = 1;

    while (!round(opaque, point)) {
        if (point == 1 || g_test_failed())
            return 0;
        point = (point + 1) / 2;
    }
    if (point < points.first) /* the next one is past the end, too */
        return 1;
    while (!g_test_failed() && round(opaque, point += points.stride))
        reached++;
    return reached;
}

bool crash_at_write(const struct crash *c)
{
    const char *call = c->shared->board.call;

    return strstr(call, "write") || strcmp(call, "copy_file_range") == 0;
}
