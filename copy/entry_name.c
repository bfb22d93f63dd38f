/* SPDX-License-Identifier: Apache-2.0
 *
 * entry_name - see entry_name.h.
 */
#include "copy/entry_name.h"

#include <string.h>

bool entry_name_clean(const char *name, char *out)
{
    size_t used = 0;

    *out = '\0';
    if (*name == '/')
        return false;
    while (*name) {
        size_t len = strcspn(name, "/");
        bool empty = len == 0 || (len == 1 && name[0] == '.');

        if (len == 2 && name[0] == '.' && name[1] == '.')
            return false;
        if (used + len + 2 > ENTRY_NAME_MAX)
            return false;
        if (!empty) {
            if (used > 0)
                out[used++] = '/';
            memcpy(out + used, name, len);
            used += len;
            out[used] = '\0';
        }
        name += len;
        name += *name == '/';
    }
    return true;
}

size_t entry_name_top(const char *name)
{
    return strcspn(name, "/");
}

bool entry_name_is_below(const char *name, const char *directory)
{
    size_t len = strlen(directory);

    return len == 0 || (strncmp(name, directory, len) == 0 &&
                        (name[len] == '/' || name[len] == '\0'));
}
