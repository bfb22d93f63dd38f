/* SPDX-License-Identifier: Apache-2.0
 *
 * network_name - see network_name.h.
 */
#include "common/network_name.h"

#include <string.h>

#include "common/errors.h"

#define RAW   "raw:"
#define DENY  "deny:"
#define BELOW "*."

/* ---- text ---------------------------------------------------------------- */

char *network_name_printable(const char *entry)
{
    enum { SHOWN_MAX = 80 };
    g_autofree char *valid = g_utf8_make_valid(entry, -1);
    char *text = g_utf8_substring(valid, 0,
                                  MIN(g_utf8_strlen(valid, -1), SHOWN_MAX));

    for (char *at = text; *at; at++) {
        if (g_ascii_iscntrl(*at))
            *at = '?';
    }
    return text;
}

gboolean network_name_problem(GError **error, const char *entry, size_t column,
                              const char *text)
{
    g_autofree char *shown = network_name_printable(entry);

    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "the network policy's entry '%s', column %zu: %s", shown,
                column, text);
    return FALSE;
}

static bool is_name_char(char c)
{
    return g_ascii_isalnum(c) || c == '-' || c == '_';
}

/* Return whether the last label is a number, decimal or hexadecimal: many
 * programs then take the whole for an IPv4 address. */
static bool ends_in_number(const char *name, size_t length)
{
    size_t start, digits;

    if (length > 0 && name[length - 1] == '.')
        length--;
    for (start = length; start > 0 && name[start - 1] != '.'; start--)
        ;
    digits = strspn(name + start, "0123456789");
    if (start + digits >= length)
        return start < length;
    if (g_ascii_strncasecmp(name + start, "0x", 2) != 0)
        return false;
    start += 2;
    return start + strspn(name + start, "0123456789abcdefABCDEF") >= length;
}

/* ---- entries ------------------------------------------------------------- */

/* A network has a slash behind digits and dots. */
static bool is_network(const char *entry)
{
    return entry[strspn(entry, "0123456789.")] == '/';
}

bool network_name_is_meant(const char *entry)
{
    const char *colon = strchr(entry, ':');
    size_t length = strcspn(entry, ":");

    if (g_str_has_prefix(entry, RAW) || g_str_has_prefix(entry, DENY))
        return true;
    if (length == 0 || *entry == '[' || is_network(entry) ||
        (colon && strchr(colon + 1, ':')))
        return false;
    return !ends_in_number(entry, length);
}

struct network_name_extent network_name_find(const char *entry)
{
    size_t start = 0;

    if (g_str_has_prefix(entry, RAW))
        start = strlen(RAW);
    else if (g_str_has_prefix(entry, DENY))
        start = strlen(DENY);
    if (g_str_has_prefix(entry + start, BELOW))
        start += strlen(BELOW);
    return (struct network_name_extent){ start, strcspn(entry + start, ":") };
}

static const char *char_problem(char c)
{
    if (c == '/')
        return "a name has no path; leave out all from the '/' on";
    if (c == '*')
        return "'*' must be the whole first label; use *.example.org for all "
               "names below example.org, or use open for all names";
    if ((unsigned char)c >= 0x80)
        return "the name is not ASCII; use its A-labels (xn--...)";
    return "a name has only letters, digits, hyphens, underscores and dots; "
           "remove this character";
}

/* Return the first problem of the name's characters and labels, NULL if there
 * is none, and its offset. */
static const char *find_problem(const char *name, size_t length, size_t *ret_at)
{
    size_t label = 0;

    for (size_t i = 0; i < length; i++) {
        *ret_at = i;
        if (name[i] == '.' && label == 0)
            return "a label is empty; remove this dot";
        if (name[i] != '.' && !is_name_char(name[i]))
            return char_problem(name[i]);
        label = name[i] == '.' ? 0 : label + 1;
        if (label > NETWORK_LABEL_MAX)
            return "a label has more than 63 characters; shorten it";
        if (i - (name[i] == '.') >= NETWORK_NAME_MAX)
            return "the name has more than 253 characters; shorten it";
    }
    return NULL;
}

static bool is_address(const char *text, size_t length)
{
    return *text == '[' || is_network(text) || ends_in_number(text, length) ||
           (text[length] == ':' && strchr(text + length + 1, ':') &&
            !memchr(text, '.', length));
}

static const char *deny_problem(const struct network_name *name,
                                const char *text, size_t length)
{
    if (!name->deny || !is_address(text, length))
        return NULL;
    return "deny: excepts names only, not addresses; remove this entry, and "
           "list only networks that do not contain the address";
}

static const char *whole_problem(const char *name, size_t length, bool below)
{
    const char *dot = memchr(name, '.', length);

    if (g_str_has_prefix(name + length, "://"))
        return "a URL is not an entry; use only its name, as in example.org";
    if (length == 0)
        return "the name is missing; use for example api.example.org";
    if (ends_in_number(name, length))
        return "raw: needs a name, and no name ends in a number; "
               "write an address by itself, as in 1.2.3.4:443";
    if (below && (!dot || dot == name + length - 1))
        return "this is too wide: a wildcard needs at least two labels, as in "
               "*.example.org; open allows all names";
    if (!dot || dot == name + length - 1)
        return "a name needs at least two labels, as in example.org or "
               "*.example.org; for the host's own services use 10.0.2.2";
    return NULL;
}

static bool parse_port(const char *text, unsigned *ret_port)
{
    guint64 port;

    if (!g_ascii_string_to_unsigned(text, 10, 1, 65535, &port, NULL))
        return false;
    *ret_port = (unsigned)port;
    return true;
}

static const char *port_problem(struct network_name *name, const char *rest)
{
    if (*rest == ':' && !parse_port(rest + 1, &name->port))
        return "the port must be a number from 1 to 65535";
    if (name->raw && name->port == 0)
        return "raw: needs a port, as in raw:example.org:22";
    return NULL;
}

static void store(struct network_name *name, const char *text, size_t length)
{
    if (text[length - 1] == '.')
        length--;
    for (size_t i = 0; i < length; i++)
        name->text[i] = g_ascii_tolower(text[i]);
    name->text[length] = '\0';
}

gboolean network_name_parse(const char *entry, struct network_name *ret_name,
                            GError **error)
{
    struct network_name_extent extent = network_name_find(entry);
    const char *text = entry + extent.start, *rest = text + extent.length;
    struct network_name name = {
        .deny = g_str_has_prefix(entry, DENY),
        .raw = g_str_has_prefix(entry, RAW),
        .below = extent.start >= strlen(BELOW) && text[-1] == '.',
    };
    size_t at = 0;
    const char *problem = deny_problem(&name, text, extent.length);

    if (!problem)
        problem = find_problem(text, extent.length, &at);
    if (!problem) {
        at = 0;
        problem = whole_problem(text, extent.length, name.below);
    }
    if (!problem) {
        at = extent.length + (*rest == ':');
        problem = port_problem(&name, rest);
    }
    if (problem)
        return network_name_problem(error, entry, extent.start + at + 1,
                                    problem);
    store(&name, text, extent.length);
    *ret_name = name;
    return TRUE;
}

char *network_name_format(const struct network_name *name)
{
    g_autofree char *port = name->port ? g_strdup_printf(":%u", name->port)
                                       : g_strdup("");

    return g_strconcat(name->deny ? DENY : "", name->raw ? RAW : "",
                       name->below ? BELOW : "", name->text, port, NULL);
}

/* ---- comparison ---------------------------------------------------------- */

bool network_name_normalize(const char *name,
                            char ret_name[NETWORK_NAME_MAX + 1])
{
    struct network_name result = { 0 };
    size_t length = strlen(name), at;

    if (length == 0 || find_problem(name, length, &at))
        return false;
    store(&result, name, length);
    memcpy(ret_name, result.text, sizeof(result.text));
    return true;
}

bool network_name_is_below(const char *name, const char *top)
{
    size_t length = strlen(name), rest = strlen(top);

    return length > rest && name[length - rest - 1] == '.' &&
           strcmp(name + length - rest, top) == 0;
}

bool network_name_matches(const char *text, bool below, const char *name)
{
    return below ? network_name_is_below(name, text) : strcmp(name, text) == 0;
}
