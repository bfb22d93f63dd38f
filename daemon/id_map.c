/* SPDX-License-Identifier: Apache-2.0
 *
 * id_map - see id_map.h.
 */
#include "daemon/id_map.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/errors.h"

#define ID_END (1ull << 32)

struct range {
    uint64_t from, count, to;
    bool squash, forbid, ignore;
};

struct id_map {
    GArray *to_host, *to_guest; /* of struct range */
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

static gboolean fail(GError **error, const char *rule, const char *problem)
{
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "\"%s\": %s",
                rule, problem);
    return FALSE;
}

static gboolean add_range(GArray *ranges, const struct range *range,
                          const char *rule, GError **error)
{
    bool one = range->squash || range->forbid || range->ignore;

    if (range->from + range->count > ID_END ||
        range->to + (one ? 1 : range->count) > ID_END)
        return fail(error, rule, "an id is above 4294967295");
    for (guint i = 0; i < ranges->len; i++) {
        const struct range *other = &g_array_index(ranges, struct range, i);

        if (range->from < other->from + other->count &&
            other->from < range->from + range->count)
            return fail(error, rule, "overlaps another rule");
    }
    g_array_append_vals(ranges, range, 1);
    return TRUE;
}

/* Split a rule into its first word, in *ret_kind (new), and its numbers. Return
 * how many, or 0 if it is not a rule. */
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
    struct range like; /* flags of the kind */
} kinds[] = {
    { "guest", 3, TO_HOST, { 0 } },
    { "host", 3, TO_GUEST, { 0 } },
    { "squash-guest", 3, TO_HOST, { .squash = true } },
    { "squash-host", 3, TO_GUEST, { .squash = true } },
    { "forbid-guest", 2, TO_HOST, { .forbid = true } },
    { "ignore-guest", 2, TO_HOST, { .ignore = true } },
    { "map", 3, TO_HOST | TO_GUEST, { 0 } },
};

gboolean id_map_add(struct id_map *map, const char *rule, GError **error)
{
    g_autofree char *kind = NULL;
    uint64_t numbers[3];
    unsigned n = split(rule, &kind, numbers);

    for (size_t i = 0; n > 0 && i < G_N_ELEMENTS(kinds); i++) {
        struct range range = kinds[i].like, back = { 0 };

        if (strcmp(kind, kinds[i].name) != 0 || n != kinds[i].numbers)
            continue;
        range.from = back.to = numbers[0];
        range.count = back.count = numbers[n - 1];
        range.to = back.from = n == 3 ? numbers[1] : 0;
        if (kinds[i].ways == (TO_HOST | TO_GUEST))
            return add_range(map->to_host, &range, rule, error) &&
                   add_range(map->to_guest, &back, rule, error);
        return add_range(kinds[i].ways == TO_HOST ? map->to_host
                                                  : map->to_guest,
                         &range, rule, error);
    }
    return fail(error, rule,
                "not a translation rule; use guest:, host:, squash-guest:, "
                "squash-host: or map:FROM:TO:COUNT, or forbid-guest: or "
                "ignore-guest:FROM:COUNT");
}

gboolean id_map_add_all(struct id_map **inout_map, const char *option,
                        char *const *rules, GError **error)
{
    for (; rules && *rules; rules++) {
        if (!*inout_map)
            *inout_map = id_map_new();
        if (!id_map_add(*inout_map, *rules, error)) {
            g_prefix_error(error, "%s: ", option);
            return FALSE;
        }
    }
    return TRUE;
}

/* ---- lookup -------------------------------------------------------------- */

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
    if (range && range->ignore)
        return 1;
    *ret_id = translate(range, id);
    return 0;
}

uint32_t id_map_to_guest(const struct id_map *map, uint32_t id)
{
    return map ? translate(find(map->to_guest, id), id) : id;
}

/* ---- the maps of a server ------------------------------------------------ */

void id_maps_clear(struct id_maps *maps)
{
    g_clear_pointer(&maps->users, id_map_free);
    g_clear_pointer(&maps->groups, id_map_free);
}

void id_maps_to_guest(const struct id_maps *maps, struct stat *inout_stat)
{
    inout_stat->st_uid = id_map_to_guest(maps->users, inout_stat->st_uid);
    inout_stat->st_gid = id_map_to_guest(maps->groups, inout_stat->st_gid);
}

/* instead: replaces an ignored id. */
static int to_host(const struct id_map *map, uint32_t instead,
                   uint32_t *inout_id)
{
    int rc = id_map_to_host(map, *inout_id, inout_id);

    if (rc == 1)
        *inout_id = instead;
    return MIN(rc, 0);
}

int id_maps_to_cred(const struct id_maps *maps, uint32_t uid, uint32_t gid,
                    struct ic_cred *ret_cred)
{
    int rc;

    *ret_cred = (struct ic_cred){ .uid = uid, .gid = gid };
    rc = to_host(maps->users, geteuid(), &ret_cred->uid);
    return rc < 0 ? rc : to_host(maps->groups, getegid(), &ret_cred->gid);
}

int id_maps_to_owner(const struct id_maps *maps, struct ic_setattr *inout_attr)
{
    int rc = 0;

    if (inout_attr->valid & IC_SET_UID)
        rc = to_host(maps->users, (uint32_t)-1, &inout_attr->uid);
    if (rc == 0 && inout_attr->valid & IC_SET_GID)
        rc = to_host(maps->groups, (uint32_t)-1, &inout_attr->gid);
    return rc;
}
