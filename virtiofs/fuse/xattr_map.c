/* SPDX-License-Identifier: Apache-2.0
 *
 * xattr_map - see xattr_map.h.
 */
#include "virtiofs/fuse/xattr_map.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum rule_type { RULE_PREFIX, RULE_OK, RULE_BAD, RULE_UNSUPPORTED };
enum { CLIENT = 1, SERVER = 2, ALL = CLIENT | SERVER };

struct rule {
    enum rule_type type;
    unsigned scope;
    char *key, *prepend;
};

struct xattr_map {
    GArray *rules; /* of struct rule */
};

/* ---- parsing ------------------------------------------------------------- */

static const struct {
    const char *name;
    enum rule_type type;
} types[] = {
    { "prefix", RULE_PREFIX },
    { "ok", RULE_OK },
    { "bad", RULE_BAD },
    { "unsupported", RULE_UNSUPPORTED },
};

static const struct {
    const char *name;
    unsigned scope;
} scopes[] = { { "client", CLIENT }, { "server", SERVER }, { "all", ALL } };

static void rule_clear(gpointer data)
{
    struct rule *rule = data;

    g_free(rule->key);
    g_free(rule->prepend);
}

static void add_rule(struct xattr_map *map, enum rule_type type, unsigned scope,
                     const char *key, const char *prepend)
{
    struct rule rule = { type, scope, g_strdup(key), g_strdup(prepend) };

    g_array_append_val(map->rules, rule);
}

static void add_map(struct xattr_map *map, const char *key, const char *prepend)
{
    add_rule(map, RULE_PREFIX, ALL, key, prepend);
    if (!*key) {
        add_rule(map, RULE_BAD, ALL, "", "");
        return;
    }
    add_rule(map, RULE_BAD, SERVER, "", key);
    add_rule(map, RULE_BAD, CLIENT, prepend, "");
    add_rule(map, RULE_OK, ALL, "", "");
}

/* Take the field before the separator; NULL if there is no separator. */
static char *take_field(const char **rest, char separator)
{
    const char *end = strchr(*rest, separator);
    char *field;

    if (!end)
        return NULL;
    field = g_strndup(*rest, (gsize)(end - *rest));
    *rest = end + 1;
    return field;
}

static bool parse_plain(struct xattr_map *map, const char *type,
                        const char *scope, const char *key, const char *prepend)
{
    for (size_t t = 0; t < G_N_ELEMENTS(types); t++) {
        if (strcmp(type, types[t].name) != 0)
            continue;
        for (size_t s = 0; s < G_N_ELEMENTS(scopes); s++) {
            if (strcmp(scope, scopes[s].name) == 0) {
                add_rule(map, types[t].type, scopes[s].scope, key, prepend);
                return true;
            }
        }
    }
    return false;
}

/* Return false if it is not a rule. *ret_last: no other rule may follow. */
static bool parse_rule(struct xattr_map *map, const char **rest, bool *ret_last)
{
    char separator = *(*rest)++;
    g_autofree char *type = take_field(rest, separator);
    g_autofree char *first = take_field(rest, separator);
    g_autofree char *second = take_field(rest, separator);
    g_autofree char *third = NULL;

    if (!type || !first || !second)
        return false;
    *ret_last = strcmp(type, "map") == 0;
    if (*ret_last) {
        add_map(map, first, second);
        return true;
    }
    third = take_field(rest, separator);
    return third && parse_plain(map, type, first, second, third);
}

static void skip_space(const char **rest)
{
    while (g_ascii_isspace(**rest))
        (*rest)++;
}

struct xattr_map *xattr_map_parse(const char *rules, GError **error)
{
    struct xattr_map *map = g_new0(struct xattr_map, 1);
    const char *rest = rules, *rule = rules;
    bool last = false, ok = true;

    map->rules = g_array_new(FALSE, FALSE, sizeof(struct rule));
    g_array_set_clear_func(map->rules, rule_clear);
    for (skip_space(&rest); ok && *rest; skip_space(&rest)) {
        rule = rest;
        ok = !last && parse_rule(map, &rest, &last);
    }
    if (ok && map->rules->len > 0)
        return map;
    if (last && !ok)
        g_set_error(
            error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
            "--xattrmap: \"%s\" follows a map rule, which must be the last",
            rule);
    else
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--xattrmap: \"%s\" is not a rule; use "
                    ":TYPE:SCOPE:KEY:PREPEND: or :map:KEY:PREPEND:, where TYPE "
                    "is prefix, ok, bad or unsupported, and SCOPE client, "
                    "server or all",
                    rule);
    xattr_map_free(map);
    return NULL;
}

void xattr_map_free(struct xattr_map *map)
{
    if (!map)
        return;
    g_array_unref(map->rules);
    g_free(map);
}

/* ---- mapping ------------------------------------------------------------- */

static int map_by(const struct rule *rule, const char *name,
                  struct xattr_map_name *ret_name)
{
    const char *prefix = rule->type == RULE_PREFIX ? rule->prepend : "";
    int len;

    if (rule->type == RULE_BAD)
        return -EPERM;
    if (rule->type == RULE_UNSUPPORTED)
        return -ENOTSUP;
    len = g_snprintf(ret_name->text, sizeof(ret_name->text), "%s%s", prefix,
                     name);
    return (size_t)len < sizeof(ret_name->text) ? 0 : -ERANGE;
}

int xattr_map_client(const struct xattr_map *map, const char *name,
                     struct xattr_map_name *ret_name)
{
    for (guint i = 0; i < map->rules->len; i++) {
        const struct rule *rule = &g_array_index(map->rules, struct rule, i);

        if (rule->scope & CLIENT && g_str_has_prefix(name, rule->key))
            return map_by(rule, name, ret_name);
    }
    return -EPERM;
}

const char *xattr_map_server(const struct xattr_map *map, const char *name)
{
    for (guint i = 0; i < map->rules->len; i++) {
        const struct rule *rule = &g_array_index(map->rules, struct rule, i);

        if (!(rule->scope & SERVER) || !g_str_has_prefix(name, rule->prepend))
            continue;
        return rule->type == RULE_PREFIX ? name + strlen(rule->prepend)
               : rule->type == RULE_OK   ? name
                                         : NULL;
    }
    return NULL;
}

size_t xattr_map_list(const struct xattr_map *map, char *list, size_t size)
{
    size_t kept = 0;

    for (size_t at = 0; at < size;) {
        size_t len = strnlen(list + at, size - at);
        const char *name = len < size - at ? xattr_map_server(map, list + at)
                                           : NULL;
        size_t n = name && *name ? strlen(name) + 1 : 0;

        if (n > 0)
            memmove(list + kept, name, n);
        kept += n;
        at += len + 1;
    }
    return kept;
}
