/* SPDX-License-Identifier: Apache-2.0
 *
 * host_name - see host_name.h.
 */
#include "proxy/host_name.h"

#include <glib.h>
#include <string.h>

bool host_name_equals(const char *name, const char *text, size_t len)
{
    if (len > 1 && text[len - 1] == '.')
        len--;
    return len == strlen(name) && g_ascii_strncasecmp(name, text, len) == 0;
}

static bool is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!g_ascii_isalnum(text[i]) && !strchr("-_.", text[i]))
            return false;
    }
    return len > 0 && len < HOST_NAME_ROOM;
}

bool host_name_refuse(struct refusal *refusal, const char *reason,
                      const char *text, size_t len)
{
    refusal->reason = reason;
    refusal->is_mismatch = text != NULL;
    refusal->other[0] = '\0';
    /* strchr() above finds a NUL, too. */
    if (text && !memchr(text, '\0', len) && is_plain(text, len)) {
        memcpy(refusal->other, text, len);
        refusal->other[len] = '\0';
    }
    return false;
}

char *host_name_describe(const struct refusal *refusal)
{
    return refusal->other[0]
               ? g_strdup_printf("%s (%s)", refusal->reason, refusal->other)
               : g_strdup(refusal->reason);
}
