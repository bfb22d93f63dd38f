/* SPDX-License-Identifier: Apache-2.0
 *
 * relay_output - see relay_output.h.
 */
#include "proxy/relay_output.h"

#include <string.h>

#include "common/wiped.h"

static size_t pending(const struct relay_output *output)
{
    return (output->front ? output->front->len - output->written : 0) +
           (output->back ? output->back->len : 0);
}

size_t relay_output_room(const struct relay_output *output)
{
    return RELAY_OUTPUT_MAX - MIN(pending(output), (size_t)RELAY_OUTPUT_MAX);
}

void relay_output_add(struct relay_output *output, const char *data,
                      size_t length)
{
    if (!output->back)
        output->back = g_string_sized_new(length);
    wiped_append(output->back, data, length);
}

bool relay_output_is_empty(const struct relay_output *output)
{
    return pending(output) == 0;
}

static void drop(GString **buffer, bool clears)
{
    if (clears)
        wiped_free(*buffer);
    else if (*buffer)
        g_string_free(*buffer, TRUE);
    *buffer = NULL;
}

const uint8_t *relay_output_get(struct relay_output *output, size_t *ret_length)
{
    if (!output->front) {
        output->front = output->back;
        output->back = NULL;
        output->written = 0;
    }
    *ret_length = output->front ? output->front->len - output->written : 0;
    return *ret_length > 0
               ? (const uint8_t *)output->front->str + output->written
               : NULL;
}

void relay_output_written(struct relay_output *output, size_t length)
{
    output->written += length;
    if (!output->front || output->written < output->front->len)
        return;
    drop(&output->front, output->has_secrets);
    output->written = 0;
    output->has_secrets = output->has_secrets && output->back;
}

void relay_output_clear(struct relay_output *output)
{
    drop(&output->front, output->has_secrets);
    drop(&output->back, output->has_secrets);
    *output = (struct relay_output){ 0 };
}
