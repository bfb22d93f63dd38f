/* SPDX-License-Identifier: Apache-2.0
 *
 * json_strings - see json_strings.h.
 */
#include "common/json_strings.h"

json_t *json_strings(char *const *strings)
{
    json_t *list = json_array();

    for (; strings && *strings; strings++)
        json_array_append_new(list, json_string(*strings));
    return list;
}
