/* SPDX-License-Identifier: Apache-2.0
 *
 * control_timed - see control_timed.h.
 */
#include "agent/client/control_timed.h"

#include "common/errors.h"

/* Owned by the request, which ends with an answer or with its link. */
struct timed {
    control_link_done done; /* NULL: was called */
    void *opaque;
    unsigned milliseconds;
    guint timer;
};

static void on_answer(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct timed *timed = opaque;

    g_clear_handle_id(&timed->timer, g_source_remove);
    if (timed->done)
        timed->done(payload, error, data, timed->opaque);
    g_free(timed);
}

/* The callback may free the link, and so this. */
static gboolean on_late(gpointer data)
{
    struct timed *timed = data;
    control_link_done done = timed->done;
    g_autoptr(GError) error = g_error_new(STEPBACK_ERROR, ERROR_BACKEND_FAILED,
                                          "there is no answer after %g s",
                                          timed->milliseconds / 1000.0);

    timed->timer = 0;
    timed->done = NULL;
    done(NULL, error, NULL, timed->opaque);
    return G_SOURCE_REMOVE;
}

void control_timed_request(struct control_link *link, const char *type,
                           json_t *payload, unsigned milliseconds,
                           control_link_done done, void *opaque)
{
    struct timed *timed = g_new(struct timed, 1);

    *timed = (struct timed){ done, opaque, milliseconds, 0 };
    timed->timer = g_timeout_add(milliseconds, on_late, timed);
    control_link_request(link, type, payload, on_answer, timed);
}
