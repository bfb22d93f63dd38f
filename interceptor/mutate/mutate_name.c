/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate_name - see mutate_name.h.
 */
#include "interceptor/mutate/mutate_name.h"

#include <string.h>

bool mutate_is_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}
