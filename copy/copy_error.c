/* SPDX-License-Identifier: Apache-2.0
 *
 * copy_error - see copy_error.h.
 */
#include "copy/copy_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SHOWN = COPY_ERROR_MAX - 128 };

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

bool copy_fail_at(struct copy_error *error, const char *base, const char *name,
                  const char *reason)
{
    size_t base_len = strlen(base), len = strlen(name);
    bool joined = len == 0 || *name == '/' ||
                  (base_len > 0 && base[base_len - 1] == '/');
    size_t over = base_len + len > PATH_SHOWN ? base_len + len - PATH_SHOWN : 0;
    const char *cut = over > 0 ? "..." : "";

    if (over > base_len)
        return copy_fail(error, "%s%s: %s", cut, name + (over - base_len),
                         reason);
    return copy_fail(error, "%s%s%s%s: %s", cut, base + over, joined ? "" : "/",
                     name, reason);
}

bool copy_fail_stream(struct copy_error *error, const char *text)
{
    copy_fail(error, "%s", text);
    error->stream = true;
    return false;
}
