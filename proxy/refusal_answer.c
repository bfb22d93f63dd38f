/* SPDX-License-Identifier: Apache-2.0
 *
 * refusal_answer - see refusal_answer.h.
 */
#include "proxy/refusal_answer.h"

#include <glib.h>
#include <string.h>
#include <sys/socket.h>

void refusal_answer_send(int fd, const struct guest_check *check,
                         const char *reason)
{
    static const char alert[] = { 21, 3, 1, 0, 2, 2, 49 }; /* access_denied */
    g_autofree char *body = NULL, *answer = NULL;

    if (check->protocol == GUEST_CHECK_TLS)
        send(fd, alert, sizeof(alert), MSG_NOSIGNAL);
    if (check->protocol != GUEST_CHECK_HTTP)
        return;
    body = g_strdup_printf("Stepback refused this request to %s: %s.\n",
                           check->name, reason);
    answer = g_strdup_printf("HTTP/1.1 403 Forbidden\r\n"
                             "Content-Type: text/plain\r\n"
                             "Content-Length: %zu\r\n"
                             "Connection: close\r\n\r\n%s",
                             strlen(body), body);
    send(fd, answer, strlen(answer), MSG_NOSIGNAL);
}

char *refusal_answer_find_entry(const struct guest_check *check, unsigned port)
{
    if (check->refusal.is_mismatch || check->kind == GUEST_CHECK_INTERCEPT)
        return NULL; /* raw: would contradict interception */
    if (check->protocol == GUEST_CHECK_TLS)
        return g_strdup_printf("raw:%s:%u", check->name, port);
    return check->protocol == GUEST_CHECK_UNKNOWN &&
                   check->kind == GUEST_CHECK_WEB
               ? g_strdup_printf("%s:%u", check->name, port)
               : NULL;
}
