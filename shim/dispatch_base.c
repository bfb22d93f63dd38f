/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch_base - see dispatch_base.h.
 */
#include "shim/dispatch_base.h"

#include <stdarg.h>
#include <stdio.h>

#include "shim/wire.h"

void dispatch_error(struct dispatch *dispatch, json_t *object,
                    const char *format, ...)
{
    json_t *message;
    char text[256];
    int64_t id;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    message = json_pack("{s:s, s:o}", "type", WIRE_ERROR, "message",
                        wire_text(text));
    if (wire_get_integer(object, "id", &id))
        json_object_set_new(message, "id", json_integer(id));
    port_send(dispatch->port, message);
}
