/* SPDX-License-Identifier: Apache-2.0
 *
 * change_json - see change_json.h.
 */
#include "common/change_json.h"

#include <glib.h>

const char *const change_names[CHANGE_NAMES] = {
    "created", "modified", "deleted", "renamed", "metadata",
};

static json_t *execution(int64_t id)
{
    return id > 0 ? json_integer(id) : json_string("?");
}

void change_json_set_by(json_t *object, const int64_t *by, unsigned n)
{
    json_t *others = n > 1 ? json_array() : NULL;

    if (n > 0)
        json_object_set_new(object, "by", execution(by[0]));
    for (unsigned i = 1; i < n; i++)
        json_array_append_new(others, execution(by[i]));
    if (others)
        json_object_set_new(object, "also_by", others);
}

unsigned change_json_get_by(json_t *object, int64_t *by, unsigned max)
{
    json_t *first = json_object_get(object, "by"), *member;
    unsigned n = 0;
    size_t i;

    if (first && n < max)
        by[n++] = MAX(json_integer_value(first), 0);
    json_array_foreach(json_object_get(object, "also_by"), i,
                       member) if (n < max)
        by[n++] = MAX(json_integer_value(member), 0);
    return n;
}
