/* SPDX-License-Identifier: Apache-2.0
 *
 * copy_error - see copy_error.h.
 */
#include "copy/copy_error.h"

#include <stdarg.h>
#include <stdio.h>

bool copy_fail(struct copy_error *error, const char *format, ...)
{
    va_list args;

    error->stream = false;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    /* A name may hold terminal control sequences. */
    for (char *p = error->text; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    }
    return false;
}

bool copy_fail_stream(struct copy_error *error, const char *text)
{
    copy_fail(error, "%s", text);
    error->stream = true;
    return false;
}
