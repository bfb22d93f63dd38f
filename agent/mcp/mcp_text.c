/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_text - see mcp_text.h: names, changes and files.
 */
#include "agent/mcp/mcp_text.h"

#include <string.h>
#include <sys/stat.h>

#include "common/json_bytes.h"

enum { CHANGES_SHOWN = 20 };

const char *mcp_text_string(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

json_int_t mcp_text_number(json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static char *take(GString *text)
{
    return g_string_free(text, FALSE);
}

/* ---- names --------------------------------------------------------------- */

static bool is_plain(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)name[i] < 32 || name[i] == 127)
            return false;
    }
    return name[0] != '"' && json_bytes_is_text(name, len);
}

void mcp_text_append_name(GString *text, json_t *object, const char *key)
{
    size_t len;
    g_autofree char *name = json_bytes_get(object, key, &len);

    if (name && is_plain(name, len)) {
        g_string_append(text, name);
    } else if (name) {
        g_autofree char *escaped = g_strescape(name, NULL);

        g_string_append_printf(text, "\"%s\"", escaped);
    }
}

void mcp_text_append_number(GString *text, json_t *object, const char *key)
{
    g_string_append_printf(text, "%" JSON_INTEGER_FORMAT,
                           mcp_text_number(object, key));
}

/* ---- changes ------------------------------------------------------------- */

static const struct {
    const char *change, *done, *undone;
} words[] = {
    { "created", "created", "removed" },
    { "modified", "modified", "restored" },
    { "deleted", "deleted", "restored" },
    { "renamed", "renamed", "renamed" },
    { "metadata", "changed the attributes of", "restored the attributes of" },
};

static const char *word_for(json_t *change, bool undone)
{
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        if (strcmp(words[i].change, mcp_text_string(change, "change")) == 0)
            return undone ? words[i].undone : words[i].done;
    }
    return "changed";
}

static void append_change(GString *text, json_t *change, bool undone, bool many)
{
    bool renamed = json_object_get(change, "from") != NULL;
    const char *label = mcp_text_string(change, "directory");

    mcp_text_append_name(text, change, renamed && !undone ? "from" : "path");
    if (renamed) {
        g_string_append(text, undone ? " back to " : " to ");
        mcp_text_append_name(text, change, undone ? "from" : "path");
    }
    if (many && *label)
        g_string_append_printf(text, " (in %s)", label);
}

void mcp_text_append_changes(GString *text, json_t *report, bool undone,
                             bool many)
{
    json_t *changes = json_object_get(report, "changes"), *change;
    json_int_t all = MAX(mcp_text_number(report, "affected"),
                         (json_int_t)json_array_size(changes));
    const char *last = "";
    size_t i;

    if (all == 0)
        g_string_append(text, "changed nothing");
    json_array_foreach(changes, i, change)
    {
        const char *word = word_for(change, undone);

        if (i == CHANGES_SHOWN)
            break;
        g_string_append(text, i ? ", " : "");
        if (strcmp(word, last) != 0)
            g_string_append_printf(text, "%s ", word);
        append_change(text, change, undone, many);
        last = word;
    }
    if (all > (json_int_t)i)
        g_string_append_printf(text, "%s%" JSON_INTEGER_FORMAT " changes%s",
                               i ? " and " : "", all - (json_int_t)i,
                               i ? " more" : "");
}

/* ---- files --------------------------------------------------------------- */

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n\v\f")] == '\0';
}

/* A whole file of text is its content alone, so that a model can copy from
 * it. */
char *mcp_text_file(json_t *result)
{
    const char *content = mcp_text_string(result, "content");
    bool base64 = strcmp(mcp_text_string(result, "encoding"), "base64") == 0;
    json_int_t offset = mcp_text_number(result, "offset");
    json_int_t end = offset + mcp_text_number(result, "length");
    json_int_t size = mcp_text_number(result, "size");
    GString *text = g_string_new(content);

    if (end - offset == size && !base64 && !is_blank(content))
        return take(text);
    if (*content && content[strlen(content) - 1] != '\n')
        g_string_append_c(text, '\n');
    if (size == 0)
        g_string_append(text, "[the file is empty");
    else if (end <= offset)
        g_string_append_printf(text, "[nothing at offset %" JSON_INTEGER_FORMAT,
                               offset);
    else
        g_string_append_printf(
            text, "[bytes %" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT,
            offset, end - 1);
    if (size > 0)
        g_string_append_printf(text, " of %" JSON_INTEGER_FORMAT, size);
    if (base64)
        g_string_append(text, ", not text: in base64");
    if (end < size && end > offset)
        g_string_append_printf(
            text, "; continue with offset %" JSON_INTEGER_FORMAT, end);
    g_string_append_c(text, ']');
    return take(text);
}

/* Append type and mode as ls(1). */
static void append_mode(GString *text, json_t *entry)
{
    static const struct {
        const char *type;
        char letter;
    } types[] = { { "file", '-' }, { "directory", 'd' }, { "symlink", 'l' },
                  { "fifo", 'p' }, { "socket", 's' },    { "device", 'c' } };
    json_int_t mode = mcp_text_number(entry, "mode");
    char letter = '?';

    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        if (strcmp(types[i].type, mcp_text_string(entry, "type")) == 0)
            letter = types[i].letter;
    }
    g_string_append_c(text, letter);
    for (int bit = 8; bit >= 0; bit--)
        g_string_append_c(text, mode >> bit & 1 ? "xwr"[bit % 3] : '-');
}

static void append_entry(GString *text, json_t *entry)
{
    const char *time = mcp_text_string(entry, "mtime");
    bool folder = strcmp(mcp_text_string(entry, "type"), "directory") == 0;

    append_mode(text, entry);
    g_string_append_printf(text, " %12" JSON_INTEGER_FORMAT " %.10s %.5s ",
                           mcp_text_number(entry, "size"), time,
                           strlen(time) > 11 ? time + 11 : "");
    mcp_text_append_name(text, entry, "name");
    g_string_append(text, folder ? "/\n" : "\n");
}

char *mcp_text_listing(json_t *result)
{
    json_t *entries = json_object_get(result, "entries"), *entry;
    GString *text = g_string_new(NULL);
    size_t i;

    json_array_foreach(entries, i, entry) append_entry(text, entry);
    if (json_is_true(json_object_get(result, "truncated")))
        g_string_append_printf(text,
                               "[the first %zu entries; for more raise 'limit' "
                               "or run ls]",
                               json_array_size(entries));
    else if (json_array_size(entries) == 0)
        g_string_append(text, "[the directory is empty]");
    return take(text);
}

char *mcp_text_write(json_t *result, bool many)
{
    GString *text = g_string_new(NULL);
    json_int_t count = mcp_text_number(result, "replacements");

    if (count > 0)
        g_string_append_printf(text, "replaced %" JSON_INTEGER_FORMAT " in ",
                               count);
    else
        g_string_append(text, "wrote ");
    mcp_text_append_name(text, result, "path");
    g_string_append_printf(text, ", now %" JSON_INTEGER_FORMAT " bytes; step ",
                           mcp_text_number(result, "size"));
    mcp_text_append_number(text, result, "step_id");
    g_string_append(text, ": ");
    mcp_text_append_changes(text, result, false, many);
    if (!json_is_true(json_object_get(result, "undoable")))
        g_string_append(text, "; it cannot be undone");
    return take(text);
}
