/* SPDX-License-Identifier: Apache-2.0
 *
 * network_path - see network_path.h.
 */
#include "common/network_path.h"

#include <glib.h>
#include <string.h>

/* ---- segments ------------------------------------------------------------ */

/* Return whether the segment is "." or "..", also with parameters. */
static bool is_dots(const char *segment, size_t length)
{
    const char *parameters = memchr(segment, ';', length);

    if (parameters)
        length = (size_t)(parameters - segment);
    return (length == 1 && segment[0] == '.') ||
           (length == 2 && segment[0] == '.' && segment[1] == '.');
}

/* Return the offset of a segment that is dots, or is empty and not the last
 * one; length if there is none. */
static size_t find_segment(const char *path, size_t length)
{
    size_t start = 1;

    for (size_t i = 1; i <= length; i++) {
        if (i < length && path[i] != '/')
            continue;
        if (is_dots(path + start, i - start) || (i == start && i < length))
            return start;
        start = i + 1;
    }
    return length;
}

/* ---- a policy's prefix --------------------------------------------------- */

static bool is_prefix_char(char c)
{
    return g_ascii_isgraph(c) && !strchr("%?#\\;,\"", c);
}

const char *network_path_find_problem(const char *prefix, size_t length,
                                      size_t *ret_at)
{
    *ret_at = 0;
    if (length > NETWORK_PATH_MAX)
        return "the path has more than 255 characters; shorten it";
    for (size_t i = 0; i < length; i++) {
        *ret_at = i;
        if (prefix[i] == '*')
            return "a path includes all paths below it, and has no '*'; leave "
                   "it out, as in example.org/v1";
        if (!is_prefix_char(prefix[i]))
            return "a path has printable ASCII characters without spaces and "
                   "none of % ? # \\ ; , \"; end it before this character, at "
                   "a '/'";
    }
    *ret_at = find_segment(prefix, length);
    return *ret_at < length ? "a path has no segments '.' or '..' and no '//'"
                            : NULL;
}

/* ---- a request's path ---------------------------------------------------- */

static bool is_unreserved(char c)
{
    return g_ascii_isalnum(c) || c == '-' || c == '_' || c == '~';
}

/* Decode the two digits behind a percent sign. Return false if they are none,
 * or encode a character that servers treat differently. */
static bool decode(const char *digits, char *ret_char)
{
    int high = g_ascii_xdigit_value(digits[0]);
    int low = high < 0 ? -1 : g_ascii_xdigit_value(digits[1]);

    if (low < 0)
        return false;
    *ret_char = (char)(high << 4 | low);
    return !g_ascii_iscntrl(*ret_char) && !strchr("./\\%", *ret_char);
}

static bool put_chars(const char *path, struct network_path *ret_path)
{
    char *exact = ret_path->exact, *loose = ret_path->loose;
    bool parameters = false;

    for (const char *at = path; *at; at++) {
        char decoded = *at;
        bool encoded = *at == '%';

        if (!g_ascii_isgraph(*at) || strchr("\\?#", *at) ||
            (encoded && !decode(at + 1, &decoded)))
            return false;
        parameters = (parameters && *at != '/') || decoded == ';';
        if (!parameters)
            *loose++ = decoded;
        if (encoded && !is_unreserved(decoded)) {
            *exact++ = '%';
            *exact++ = g_ascii_toupper(at[1]);
            decoded = g_ascii_toupper(at[2]);
        }
        *exact++ = decoded;
        at += encoded ? 2 : 0;
    }
    *exact = *loose = '\0';
    return true;
}

bool network_path_convert(const char *path, struct network_path *ret_path)
{
    size_t length = strnlen(path, NETWORK_REQUEST_PATH_MAX + 1);

    if (*path != '/' || length > NETWORK_REQUEST_PATH_MAX ||
        find_segment(path, length) < length || !put_chars(path, ret_path))
        return false;
    /* An encoded semicolon may have hidden dots. */
    length = strlen(ret_path->loose);
    return find_segment(ret_path->loose, length) == length &&
           g_utf8_validate(ret_path->loose, -1, NULL);
}

static bool ends_segment(const char *path, const char *prefix, size_t length)
{
    return prefix[length - 1] == '/' || !path[length] || path[length] == '/';
}

bool network_path_is_allowed(const struct network_path *path,
                             const char *prefix)
{
    size_t length = strlen(prefix);

    return strncmp(path->exact, prefix, length) == 0 &&
           ends_segment(path->exact, prefix, length);
}

bool network_path_is_denied(const struct network_path *path, const char *prefix)
{
    size_t length = strlen(prefix);

    /* Some servers ignore what follows a dot or space: a format, "users.json".
     */
    return g_ascii_strncasecmp(path->loose, prefix, length) == 0 &&
           (ends_segment(path->loose, prefix, length) ||
            path->loose[length] == '.' || path->loose[length] == ' ');
}
