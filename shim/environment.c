/* SPDX-License-Identifier: Apache-2.0
 *
 * environment - see environment.h.
 */
#include "shim/environment.h"

#include <string.h>

#include "shim/wire.h"

static const char *const base[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/root",
    "USER=root",
    "TERM=dumb",
    "LANG=C.UTF-8",
};

enum { BASE_COUNT = sizeof(base) / sizeof(base[0]) };

static char *variables[BASE_COUNT + WIRE_ENV_MAX + 1];
static size_t variable_count;
static char text[WIRE_LINE_MAX + 512]; /* what variables point to */
static size_t text_used;

/* Where the variable of this name stands, or where to add it. */
static char **find_slot(const char *name, size_t length)
{
    size_t i;

    for (i = 0; i < variable_count; i++) {
        if (strncmp(variables[i], name, length) == 0 &&
            variables[i][length] == '=')
            return &variables[i];
    }
    return &variables[i];
}

static const char *add(const char *name, size_t length, const char *value)
{
    size_t value_size = strlen(value) + 1;
    char **slot = find_slot(name, length);

    if (slot == &variables[BASE_COUNT + WIRE_ENV_MAX])
        return "env has too many members";
    if (length + 1 + value_size > sizeof(text) - text_used)
        return "env is too big";
    if (slot == &variables[variable_count])
        variable_count++;
    *slot = text + text_used;
    memcpy(*slot, name, length);
    (*slot)[length] = '=';
    memcpy(*slot + length + 1, value, value_size);
    text_used += length + 1 + value_size;
    return NULL;
}

static const char *add_members(const struct json_reader *reader,
                               const struct json_node *env)
{
    uint32_t i = (uint32_t)(env - reader->nodes) + 1;

    for (; i < env->next; i += 2) { /* a string is a single node */
        const struct json_node *name = &reader->nodes[i], *value = name + 1;
        const char *error;

        if (value->kind != JSON_STRING)
            return "env must hold strings only";
        if (name->length == 0 || strchr(name->string, '='))
            return "env has a bad name";
        error = add(name->string, name->length, value->string);
        if (error)
            return error;
    }
    return NULL;
}

const char *environment_build(const struct json_reader *reader,
                              const struct json_node *env)
{
    const char *error = NULL;

    variable_count = 0;
    text_used = 0;
    for (size_t i = 0; i < BASE_COUNT; i++) {
        const char *equals = strchr(base[i], '=');

        add(base[i], (size_t)(equals - base[i]), equals + 1);
    }
    if (env && env->kind != JSON_OBJECT)
        error = "env must be an object";
    else if (env)
        error = add_members(reader, env);
    variables[variable_count] = NULL;
    return error;
}

char **environment_get(void)
{
    return variables;
}
