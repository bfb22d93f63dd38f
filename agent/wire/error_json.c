/* SPDX-License-Identifier: Apache-2.0
 *
 * error_json - see error_json.h.
 */
#include "agent/wire/error_json.h"

#include "common/errors.h"

json_t *error_to_json(const GError *error)
{
    g_autofree char *text = g_utf8_make_valid(error->message, -1);

    return json_pack("{s:s, s:i, s:s}", "code",
                     error_code_name(error_code_of(error)), "number",
                     (int)error_code_of(error), "message", text);
}
