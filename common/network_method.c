/* SPDX-License-Identifier: Apache-2.0
 *
 * network_method - see network_method.h.
 */
#include "common/network_method.h"

#include <glib.h>
#include <string.h>

/* https://www.iana.org/assignments/http-methods */
static const char *const methods[] = {
    "ACL",
    "BASELINE-CONTROL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "COPY",
    "DELETE",
    "GET",
    "HEAD",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKWORKSPACE",
    "MKREDIRECTREF",
    "MOVE",
    "OPTIONS",
    "ORDERPATCH",
    "PATCH",
    "POST",
    "PROPFIND",
    "PROPPATCH",
    "PUT",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UPDATE",
    "UPDATEREDIRECTREF",
    "VERSION-CONTROL",
};

size_t network_method_span(const char *text)
{
    return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");
}

bool network_method_is_alike(const char *text, size_t length)
{
    for (size_t i = 0; i < G_N_ELEMENTS(methods); i++) {
        if (strlen(methods[i]) == length &&
            g_ascii_strncasecmp(methods[i], text, length) == 0)
            return true;
    }
    return false;
}

bool network_method_is_known(const char *text, size_t length)
{
    return network_method_span(text) >= length &&
           network_method_is_alike(text, length);
}
