/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate_name - see mutate_name.h.
 */
#include "interceptor/mutate/mutate_name.h"

#include <glib.h>
#include <string.h>

#define LOG_NAME    ".stepback"
#define LONG_S      "\xc5\xbf"     /* U+017F, whose other case is "s" */
#define KELVIN_SIGN "\xe2\x84\xaa" /* U+212A, whose other case is "k" */

bool mutate_is_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Return the lower-case ASCII character at *p, or 0 for one to ignore. */
static char next_folded(const char **p)
{
    const char *at = *p;

    if (strncmp(at, LONG_S, strlen(LONG_S)) == 0) {
        *p += strlen(LONG_S);
        return 's';
    }
    if (strncmp(at, KELVIN_SIGN, strlen(KELVIN_SIGN)) == 0) {
        *p += strlen(KELVIN_SIGN);
        return 'k';
    }
    *p += 1;
    return *at & 0x80 ? 0 : g_ascii_tolower(*at);
}

bool mutate_is_log_name(const char *name)
{
    size_t len = 0;

    while (*name) {
        char c = next_folded(&name);

        if (c && (len == strlen(LOG_NAME) || c != LOG_NAME[len++]))
            return false;
    }
    return len == strlen(LOG_NAME);
}
