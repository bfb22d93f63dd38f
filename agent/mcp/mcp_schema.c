/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_schema - see mcp_schema.h.
 */
#include "agent/mcp/mcp_schema.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

enum { SHOWN = 60 }; /* characters of a wrong value in messages */

static char *check(json_t *schema, json_t *value, const char *name);

static bool has_type(json_t *value, const char *type)
{
    if (strcmp(type, "integer") == 0)
        return json_is_integer(value);
    if (strcmp(type, "number") == 0)
        return json_is_number(value);
    if (strcmp(type, "string") == 0)
        return json_is_string(value);
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(value);
    if (strcmp(type, "array") == 0)
        return json_is_array(value);
    if (strcmp(type, "object") == 0)
        return json_is_object(value);
    return strcmp(type, "null") == 0 && json_is_null(value);
}

/* Return a value as JSON, truncated. A new string. */
static char *show(json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    g_autofree char *cut = text ? g_utf8_substring(
                                      text, 0,
                                      MIN(SHOWN, g_utf8_strlen(text, -1)))
                                : g_strdup("?");
    char *shown = g_strdup_printf(
        "%s%s", cut, text && strlen(cut) < strlen(text) ? "..." : "");

    free(text);
    return shown;
}

/* Describe a schema's requirement in words. A new string. */
static char *describe(json_t *schema)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    json_t *min = json_object_get(schema, "minimum");
    json_t *max = json_object_get(schema, "maximum");
    json_t *words = json_object_get(schema, "enum");
    const char *article = type && strchr("aeio", *type) ? "an" : "a";

    if (words) {
        g_autofree char *list = show(words);

        return g_strdup_printf("one of %s", list);
    }
    if (min && max)
        return g_strdup_printf(
            "%s %s from %" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT,
            article, type, json_integer_value(min), json_integer_value(max));
    return g_strdup_printf("%s %s", article, type ? type : "value");
}

static char *wrong(json_t *schema, json_t *value, const char *name)
{
    g_autofree char *wanted = describe(schema), *got = show(value);

    return g_strdup_printf("the argument '%s' must be %s, not %s", name, wanted,
                           got);
}

static bool is_in(json_t *words, json_t *value)
{
    json_t *word;
    size_t i;

    json_array_foreach(words, i, word)
    {
        if (json_equal(word, value))
            return true;
    }
    return false;
}

static char *check_string(json_t *schema, json_t *value, const char *name)
{
    json_t *min = json_object_get(schema, "minLength");
    json_t *max = json_object_get(schema, "maxLength");
    const char *text = json_string_value(value);
    json_int_t length;

    length = g_utf8_strlen(text, -1);
    if (min && length < json_integer_value(min))
        return g_strdup_printf("the argument '%s' must not be empty", name);
    if (max && length > json_integer_value(max))
        return g_strdup_printf("the argument '%s' must have at most "
                               "%" JSON_INTEGER_FORMAT " characters",
                               name, json_integer_value(max));
    return NULL;
}

/* List the tool's argument names, for a message about an unknown one. A new
 * string. */
static char *list_names(json_t *properties)
{
    GString *names = g_string_new(NULL);
    const char *key;
    json_t *property;

    json_object_foreach(properties, key, property)
    {
        g_string_append_printf(names, "%s'%s'", names->len ? ", " : "", key);
    }
    return g_string_free(names, names->len == 0) ?: g_strdup("none");
}

static char *check_member(json_t *schema, const char *key, json_t *value,
                          const char *name)
{
    json_t *properties = json_object_get(schema, "properties");
    json_t *property = json_object_get(properties, key);
    json_t *others = json_object_get(schema, "additionalProperties");
    g_autofree char *path = *name ? g_strdup_printf("%s.%s", name, key)
                                  : g_strdup(key);

    if (property)
        return check(property, value, path);
    if (json_is_object(others))
        return check(others, value, path);
    if (json_is_false(others)) {
        g_autofree char *names = list_names(properties);

        return g_strdup_printf("unknown argument '%.100s'; allowed: %s", path,
                               names);
    }
    return NULL;
}

static char *check_object(json_t *schema, json_t *value, const char *name)
{
    json_t *required = json_object_get(schema, "required"), *item;
    char *problem = NULL;
    const char *key;
    size_t i;

    json_object_foreach(value, key, item)
    {
        problem = check_member(schema, key, item, name);
        if (problem)
            return problem;
    }
    json_array_foreach(required, i, item)
    {
        const char *missing = json_string_value(item);

        if (!json_object_get(value, missing))
            return g_strdup_printf("the argument '%s%s%s' is missing", name,
                                   *name ? "." : "", missing);
    }
    return NULL;
}

static char *check_array(json_t *schema, json_t *value, const char *name)
{
    json_t *items = json_object_get(schema, "items"), *item;
    char *problem = NULL;
    size_t i;

    json_array_foreach(value, i, item)
    {
        g_autofree char *path = g_strdup_printf("%s[%zu]", name, i);

        problem = items ? check(items, item, path) : NULL;
        if (problem)
            return problem;
    }
    return NULL;
}

static bool is_out_of_range(json_t *schema, json_t *value)
{
    json_t *min = json_object_get(schema, "minimum");
    json_t *max = json_object_get(schema, "maximum");

    return json_is_integer(value) &&
           ((min && json_integer_value(value) < json_integer_value(min)) ||
            (max && json_integer_value(value) > json_integer_value(max)));
}

static char *check(json_t *schema, json_t *value, const char *name)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    json_t *words = json_object_get(schema, "enum");

    if ((type && !has_type(value, type)) || (words && !is_in(words, value)) ||
        is_out_of_range(schema, value))
        return wrong(schema, value, *name ? name : "arguments");
    if (json_is_string(value))
        return check_string(schema, value, name);
    if (json_is_object(value))
        return check_object(schema, value, name);
    if (json_is_array(value))
        return check_array(schema, value, name);
    return NULL;
}

char *mcp_schema_check(json_t *schema, json_t *arguments)
{
    return check(schema, arguments, "");
}
