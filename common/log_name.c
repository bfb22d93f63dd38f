/* SPDX-License-Identifier: Apache-2.0
 *
 * log_name - see log_name.h.
 */
#include "common/log_name.h"

#include <stddef.h>
#include <string.h>

#define SHORT_NAME "stepba~"

/* Characters that case folding turns into ASCII (Unicode, CaseFolding.txt). */
static const struct {
    const char *utf8, *folded;
} folds[] = {
    { "\xc5\xbf", "s" },      /* U+017F, long s */
    { "\xe2\x84\xaa", "k" },  /* U+212A, Kelvin sign */
    { "\xef\xac\x85", "st" }, /* U+FB05 */
    { "\xef\xac\x86", "st" }, /* U+FB06 */
};

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Return what the character at *p, of a name that ends at end, is without case:
 * "" for one to ignore. buffer: for the result. */
static const char *next_folded(const char **p, const char *end, char buffer[2])
{
    for (size_t i = 0; i < sizeof(folds) / sizeof(folds[0]); i++) {
        size_t len = strlen(folds[i].utf8);

        if ((size_t)(end - *p) >= len && memcmp(*p, folds[i].utf8, len) == 0) {
            *p += len;
            return folds[i].folded;
        }
    }
    buffer[0] = **p & 0x80 ? '\0' : fold(**p);
    buffer[1] = '\0';
    *p += 1;
    return buffer;
}

/* Return whether the folded name is wanted, or begins with it. */
static bool is_folded(const char *name, const char *end, const char *wanted,
                      bool begins)
{
    while (name < end && *wanted) {
        char buffer[2];
        const char *folded = next_folded(&name, end, buffer);
        size_t len = strlen(folded);

        if (strncmp(wanted, folded, len) != 0)
            return false;
        wanted += len;
    }
    if (*wanted || begins)
        return !*wanted;
    for (; name < end; name++) {
        if (!(*name & 0x80) && *name != '.' && *name != ' ')
            return false;
    }
    return true;
}

static bool is_log_name(const char *name, const char *end)
{
    return is_folded(name, end, LOG_NAME, false) ||
           is_folded(name, end, SHORT_NAME, true);
}

bool log_name_is(const char *name)
{
    return is_log_name(name, name + strlen(name));
}

bool log_name_is_in(const char *path)
{
    while (*path) {
        const char *end = path + strcspn(path, "/");

        if (end > path && is_log_name(path, end))
            return true;
        path = end + (*end == '/');
    }
    return false;
}
