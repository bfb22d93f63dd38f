/* SPDX-License-Identifier: Apache-2.0
 *
 * id_map - see id_map.h.
 */
#include "virtiofs/id_map.h"

#include <errno.h>
#include <string.h>

#include "daemon/options.h"

#define ID_END (1ull << 32)

struct range {
    uint64_t from, count, to;
    bool squash, forbid;
};

struct id_map {
    GArray *to_host, *to_guest; /* range */
};

struct id_map *id_map_new(void)
{
    struct id_map *map = g_new0(struct id_map, 1);

    map->to_host = g_array_new(FALSE, FALSE, sizeof(struct range));
    map->to_guest = g_array_new(FALSE, FALSE, sizeof(struct range));
    return map;
}

void id_map_free(struct id_map *map)
{
    if (!map)
        return;
    g_array_unref(map->to_host);
    g_array_unref(map->to_guest);
    g_free(map);
}

/* ---- rules --------------------------------------------------------------- */

static gboolean add_range(GArray *ranges, const struct range *range,
                          const char *rule, GError **error)
{
    if (range->from + range->count > ID_END ||
        range->to + (range->squash || range->forbid ? 1 : range->count) >
            ID_END)
        return daemon_options_fail(error, "\"%s\": ids end at 4294967295",
                                   rule);
    for (guint i = 0; i < ranges->len; i++) {
        const struct range *other = &g_array_index(ranges, struct range, i);

        if (range->from < other->from + other->count &&
            other->from < range->from + range->count)
            return daemon_options_fail(
                error, "\"%s\" is about ids that another rule has", rule);
    }
    g_array_append_vals(ranges, range, 1);
    return TRUE;
}

/* The word that a rule begins with, in *ret_kind (new), and its numbers. How
 * many, or 0 if it is no rule. */
static unsigned split(const char *rule, char **ret_kind, uint64_t numbers[3])
{
    size_t len = strspn(rule, "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    char separator = rule[len];
    const char *at = rule + len;
    unsigned n = 0;

    while (*at && *at == separator && n < 3 && g_ascii_isdigit(at[1])) {
        char *end;

        numbers[n] = g_ascii_strtoull(at + 1, &end, 10);
        if (numbers[n++] >= ID_END)
            return 0;
        at = end;
    }
    if (*at)
        return 0;
    *ret_kind = g_ascii_strdown(rule, (gssize)len);
    return n;
}

enum { TO_HOST = 1, TO_GUEST = 2 };

static const struct {
    const char *name;
    unsigned numbers, ways;
    bool squash, forbid;
} kinds[] = {
    { "guest", 3, TO_HOST, false, false },
    { "host", 3, TO_GUEST, false, false },
    { "squash-guest", 3, TO_HOST, true, false },
    { "squash-host", 3, TO_GUEST, true, false },
    { "forbid-guest", 2, TO_HOST, false, true },
    { "map", 3, TO_HOST | TO_GUEST, false, false },
};

gboolean id_map_add(struct id_map *map, const char *rule, GError **error)
{
    g_autofree char *kind = NULL;
    uint64_t numbers[3];
    unsigned n = split(rule, &kind, numbers);

    for (size_t i = 0; n > 0 && i < G_N_ELEMENTS(kinds); i++) {
        struct range range = { numbers[0], numbers[n - 1],
                               n == 3 ? numbers[1] : 0, kinds[i].squash,
                               kinds[i].forbid };
        struct range back = { range.to, range.count, range.from, false, false };

        if (strcmp(kind, kinds[i].name) != 0 || n != kinds[i].numbers)
            continue;
        if (kinds[i].ways == (TO_HOST | TO_GUEST))
            return add_range(map->to_host, &range, rule, error) &&
                   add_range(map->to_guest, &back, rule, error);
        return add_range(kinds[i].ways == TO_HOST ? map->to_host
                                                  : map->to_guest,
                         &range, rule, error);
    }
    return daemon_options_fail(
        error,
        "a translation is guest:, host:, squash-guest:, squash-host: or "
        "map:FROM:TO:COUNT, or forbid-guest:FROM:COUNT, and not \"%s\"",
        rule);
}

/* ---- looking up ---------------------------------------------------------- */

static const struct range *find(const GArray *ranges, uint32_t id)
{
    for (guint i = 0; i < ranges->len; i++) {
        const struct range *range = &g_array_index(ranges, struct range, i);

        if (id >= range->from && id - range->from < range->count)
            return range;
    }
    return NULL;
}

static uint32_t translate(const struct range *range, uint32_t id)
{
    if (!range)
        return id;
    return (uint32_t)(range->squash ? range->to
                                    : range->to + (id - range->from));
}

int id_map_to_host(const struct id_map *map, uint32_t id, uint32_t *ret_id)
{
    const struct range *range = map ? find(map->to_host, id) : NULL;

    if (range && range->forbid)
        return -EPERM;
    *ret_id = translate(range, id);
    return 0;
}

uint32_t id_map_to_guest(const struct id_map *map, uint32_t id)
{
    return map ? translate(find(map->to_guest, id), id) : id;
}
