/* SPDX-License-Identifier: Apache-2.0
 *
 * json_problem - see json_problem.h.
 */
#include "common/json_problem.h"

#include <glib.h>

static const char *sentence(const json_error_t *error)
{
    switch ((int)json_error_code(error)) {
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "a string contains a NUL character (\\u0000), which is not "
               "supported";
    case json_error_duplicate_key:
        return "an object has two members of the same name";
    case json_error_numeric_overflow:
        return "a number is too large; integers are signed 64-bit";
    case json_error_stack_overflow:
        return "objects and arrays are nested too deeply";
    case json_error_invalid_utf8:
        return "the line is not UTF-8";
    case json_error_premature_end_of_input:
        return "the line ends within a JSON value";
    case json_error_end_of_input_expected:
        return "trailing characters after the JSON value";
    default:
        break;
    }
    /* This error has no code of its own. */
    if (g_str_has_prefix(error->text, "invalid Unicode"))
        return "a string contains an unpaired surrogate (\\ud800 to \\udfff)";
    return "the line is not valid JSON";
}

char *json_problem_tell(const json_error_t *error)
{
    return g_strdup_printf("%s (at byte %d)", sentence(error), error->position);
}
