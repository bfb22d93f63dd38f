/* SPDX-License-Identifier: Apache-2.0
 *
 * network_name - see network_name.h.
 */
#include "common/network_name.h"

#include <string.h>

#include "common/errors.h"
#include "common/network_method.h"

#define BELOW "*."

enum word {
    WORD_NONE,
    WORD_RAW,
    WORD_DENY,
    WORD_INTERCEPT,
    WORD_SECRET,
    WORD_ASK
};

static const char *const words[] = {
    [WORD_NONE] = "",          [WORD_RAW] = "raw:",
    [WORD_DENY] = "deny:",     [WORD_INTERCEPT] = "intercept:",
    [WORD_SECRET] = "secret:", [WORD_ASK] = "ask:",
};

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

/* ---- the parts of an entry ----------------------------------------------- */

static enum word find_word(const char *entry)
{
    enum word word = WORD_ASK;

    while (!g_str_has_prefix(entry, words[word]))
        word--;
    return word;
}

/* Return the length of a method in front of a name, 0: none. "DEAD:" may also
 * begin an IPv6 address. */
static size_t method_length(const char *text)
{
    size_t length = network_method_span(text);
    const char *rest = text + length + 1;

    if (length == 0 || text[length] != ':')
        return 0;
    return strspn(text, "ABCDEF") < length ||
                   memchr(rest, '.', strcspn(rest, ":/"))
               ? length
               : 0;
}

/* A network has a slash behind digits and dots. */
static bool is_network(const char *entry)
{
    return entry[strspn(entry, "0123456789.")] == '/';
}

bool network_name_is_meant(const char *entry)
{
    size_t length = strcspn(entry, ":/");
    size_t more = entry[length] == ':' ? strcspn(entry + length + 1, ":/") : 0;

    if (find_word(entry) != WORD_NONE || method_length(entry) > 0)
        return true;
    if (length == 0 || *entry == '[' || is_network(entry) ||
        (entry[length] == ':' && entry[length + 1 + more] == ':'))
        return false;
    return !ends_in_number(entry, length);
}

struct network_name_extent network_name_find(const char *entry)
{
    size_t start = strlen(words[find_word(entry)]);
    size_t method = method_length(entry + start);

    start += method > 0 ? method + 1 : 0;
    if (g_str_has_prefix(entry + start, BELOW))
        start += strlen(BELOW);
    return (struct network_name_extent){ start, strcspn(entry + start, ":/") };
}

/* ---- problems ------------------------------------------------------------ */

static const char *char_problem(char c)
{
    if (c == '*')
        return "'*' must be the whole first label; use *.example.org for all "
               "names below example.org, ask:* to be asked for each name, or "
               "use open for all names";
    if ((unsigned char)c >= 0x80)
        return "the name is not ASCII; use its A-labels (xn--...)";
    return "a name has only letters, digits, hyphens, underscores and dots; "
           "remove this character";
}

static bool is_any(const char *name, size_t length)
{
    return length == strlen(NETWORK_NAME_ANY) && *name == *NETWORK_NAME_ANY;
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

static const char unknown_method[] =
    "this is no method of HTTP that an entry can have; use GET, HEAD, POST, "
    "PUT, PATCH, DELETE, OPTIONS or another one of IANA's registry but CONNECT "
    "and TRACE, or leave it out for all methods";

/* A word, without a dot, is where a name should begin. */
static const char *word_problem(const char *word, size_t length)
{
    if (network_method_is_alike(word, length))
        return "write a method in capital letters, as in GET:example.org";
    for (enum word i = WORD_RAW; i <= WORD_ASK; i++) {
        if (strlen(words[i]) == length + 1 &&
            strncmp(words[i], word, length) == 0)
            return "deny:, raw:, intercept: and ask: exclude each other; leave "
                   "this one out";
    }
    return unknown_method;
}

static const char *whole_problem(const char *name, size_t length, bool below)
{
    const char *dot = memchr(name, '.', length);

    if (g_str_has_prefix(name + length, "://"))
        return "a URL is not an entry; use only its name, as in example.org";
    if (length == 0)
        return "the name is missing; use for example api.example.org";
    if (ends_in_number(name, length))
        return "this needs a name, and no name ends in a number; "
               "write an address by itself, as in 1.2.3.4:443";
    if (below && (!dot || dot == name + length - 1))
        return "this is too wide: a wildcard needs at least two labels, as in "
               "*.example.org; open allows all names";
    if (!dot && name[length] == ':' && strchr(name + length, '.'))
        return word_problem(name, length);
    if (!dot || dot == name + length - 1)
        return "a name needs at least two labels, as in example.org or "
               "*.example.org; for the host's own services use 10.0.2.2";
    return NULL;
}

/* ---- port, path and method ----------------------------------------------- */

static bool parse_port(const char *text, size_t length, unsigned *ret_port)
{
    g_autofree char *digits = g_strndup(text, length);
    guint64 port;

    if (!g_ascii_string_to_unsigned(digits, 10, 1, 65535, &port, NULL))
        return false;
    *ret_port = (unsigned)port;
    return true;
}

/* "/tcp" would be a path. */
static bool has_protocol(const char *rest)
{
    const char *end = rest + strcspn(rest, "/");

    return g_ascii_strcasecmp(end, "/tcp") == 0 ||
           g_ascii_strcasecmp(end, "/udp") == 0;
}

static const char *port_problem(struct network_name *name, const char *rest)
{
    if (*rest == ':' && has_protocol(rest))
        return "a port is written without a protocol, as in "
               "example.org:443; a name is reached by TCP alone";
    if (*rest == ':' &&
        !parse_port(rest + 1, strcspn(rest + 1, "/"), &name->port))
        return "the port must be a number from 1 to 65535";
    if (name->raw && name->port == 0)
        return "raw: needs a port, as in raw:example.org:22";
    return NULL;
}

static const char *path_problem(struct network_name *name, const char *path,
                                size_t *ret_at)
{
    const char *problem = *path ? network_path_find_problem(path, strlen(path),
                                                            ret_at)
                                : NULL;

    if (problem)
        return problem;
    *ret_at = 0;
    g_strlcpy(name->path, path, sizeof(name->path));
    if (*path && name->raw)
        return "raw: passes all bytes unread; leave out raw: or the path";
    if (*path && name->ask)
        return "ask: decides on whole connections; leave out ask: or the path";
    if (*path && (name->intercept || name->secret))
        return "intercept: is for all paths; leave it out, since a path "
               "intercepts by itself";
    return NULL;
}

/* text: between a word such as "deny:" and the name. */
static const char *method_problem(struct network_name *name, const char *text)
{
    size_t length = method_length(text);

    if (length > NETWORK_METHOD_MAX ||
        (length > 0 && !network_method_is_known(text, length)))
        return unknown_method;
    if (length > 0 && name->raw)
        return "raw: passes all bytes unread; leave out raw: or the method";
    if (length > 0 && name->ask)
        return "ask: decides on whole connections; leave out ask: or the "
               "method";
    if (length > 0 && (name->intercept || name->secret))
        return "intercept: is for all methods; leave it out, since a method "
               "intercepts by itself";
    g_strlcpy(name->method, text, length + 1);
    return NULL;
}

/* ---- entries ------------------------------------------------------------- */

static void store(struct network_name *name, const char *text, size_t length)
{
    if (text[length - 1] == '.')
        length--;
    for (size_t i = 0; i < length; i++)
        name->text[i] = g_ascii_tolower(text[i]);
    name->text[length] = '\0';
}

/* The problem of the name alone. */
static const char *text_problem(const struct network_name *name,
                                const char *text, size_t length, size_t *ret_at)
{
    const char *problem = deny_problem(name, text, length);

    *ret_at = 0;
    if (problem || (name->ask && !name->below && is_any(text, length)))
        return problem;
    problem = find_problem(text, length, ret_at);
    if (problem)
        return problem;
    *ret_at = 0;
    return whole_problem(text, length, name->below);
}

gboolean network_name_parse(const char *entry, struct network_name *ret_name,
                            GError **error)
{
    struct network_name_extent extent = network_name_find(entry);
    const char *text = entry + extent.start, *rest = text + extent.length;
    enum word word = find_word(entry);
    struct network_name name = {
        .deny = word == WORD_DENY,
        .raw = word == WORD_RAW,
        .intercept = word == WORD_INTERCEPT,
        .secret = word == WORD_SECRET,
        .ask = word == WORD_ASK,
        .below = extent.start >= strlen(BELOW) && text[-1] == '.',
    };
    size_t at = 0, before = strlen(words[word]);
    const char *problem = method_problem(&name, entry + before);

    if (problem)
        return network_name_problem(error, entry, before + 1, problem);
    problem = text_problem(&name, text, extent.length, &at);
    if (!problem) {
        at = extent.length + (*rest == ':');
        problem = port_problem(&name, rest);
    }
    if (!problem) {
        rest += strcspn(rest, "/");
        problem = path_problem(&name, rest, &at);
        at += (size_t)(rest - text);
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

    enum word word = name->deny        ? WORD_DENY
                     : name->raw       ? WORD_RAW
                     : name->intercept ? WORD_INTERCEPT
                     : name->secret    ? WORD_SECRET
                     : name->ask       ? WORD_ASK
                                       : WORD_NONE;

    return g_strconcat(words[word], name->method, *name->method ? ":" : "",
                       name->below ? BELOW : "", name->text, port, name->path,
                       NULL);
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

bool network_name_is_web(unsigned port)
{
    return port == NETWORK_HTTP_PORT || port == NETWORK_HTTPS_PORT;
}

bool network_name_matches(const char *text, bool below, const char *name)
{
    if (strcmp(text, NETWORK_NAME_ANY) == 0)
        return strchr(name, '.') && !ends_in_number(name, strlen(name));
    return below ? network_name_is_below(name, text) : strcmp(name, text) == 0;
}
