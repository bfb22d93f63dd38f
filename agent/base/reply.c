/* SPDX-License-Identifier: Apache-2.0
 *
 * reply - see reply.h.
 */
#include "agent/base/reply.h"

struct late {
    struct reply reply;
    GError *error;
};

void reply_send(struct reply *reply, const struct answer *answer,
                const GError *error)
{
    struct reply copy = *reply;

    reply->done = NULL;
    if (copy.done)
        copy.done(answer, error, copy.opaque);
}

static gboolean send_late(gpointer data)
{
    struct late *late = data;

    reply_send(&late->reply, NULL, late->error);
    return G_SOURCE_REMOVE;
}

static void late_free(gpointer data)
{
    struct late *late = data;

    g_clear_error(&late->error);
    g_free(late);
}

void reply_post_error(reply_done done, void *opaque, GError *error)
{
    struct late *late = g_new0(struct late, 1);

    late->reply = (struct reply){ done, opaque };
    late->error = error;
    g_idle_add_full(G_PRIORITY_DEFAULT, send_late, late, late_free);
}

void reply_post_refusal(reply_done done, void *opaque, enum error_code code,
                        const char *text)
{
    reply_post_error(done, opaque,
                     g_error_new_literal(STEPBACK_ERROR, code, text));
}
