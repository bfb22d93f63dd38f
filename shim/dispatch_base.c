/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch_base - see dispatch_base.h.
 */
#include "shim/dispatch_base.h"

#include <stdarg.h>
#include <stdio.h>

#include "shim/wire.h"

void dispatch_error(struct dispatch *dispatch, const struct json_value *object,
                    const char *format, ...)
{
    struct json_writer writer;
    char text[256];
    int64_t id;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    port_begin(dispatch->port, &writer);
    json_writer_add_string(&writer, "type", WIRE_ERROR);
    json_writer_add_string(&writer, "message", text);
    if (json_reader_get_integer(object, "id", &id))
        json_writer_add_integer(&writer, "id", id);
    port_end(dispatch->port, &writer);
}
