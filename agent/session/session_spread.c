/* SPDX-License-Identifier: Apache-2.0
 *
 * session_spread - see session_spread.h.
 */
#include "agent/session/session_spread.h"

#include <string.h>

#include "agent/client/engine_request.h"
#include "agent/client/report_json.h"
#include "agent/session/session_core.h"
#include "agent/session/session_folder.h"
#include "common/errors.h"

static void ask_next(struct session_spread *spread);

const char *session_spread_label(const struct session_spread *spread,
                                 unsigned i)
{
    return spread->session->config->directories[spread->folders[i]]->label;
}

enum { HISTORY_ALL = 1000000 }; /* the maximum limit that a daemon accepts */

/* ---- life ---------------------------------------------------------------- */

static void spread_free(struct session_spread *spread)
{
    for (unsigned i = 0; i < SESSION_MAX_DIRECTORIES; i++) {
        g_clear_pointer(&spread->lists[i], g_ptr_array_unref);
        g_clear_pointer(&spread->redos[i], g_ptr_array_unref);
        g_clear_pointer(&spread->planned[i], g_array_unref);
    }
    spread->session->lookups--;
    undo_result_free(spread->result);
    relayed_unref(spread->payload);
    relayed_unref(spread->last);
    g_free(spread);
}

static gboolean choose_folders(struct session_spread *spread,
                               struct folder_ref directory, GError **error)
{
    struct session *session = spread->session;

    if (!session_find_folder(session, directory, &spread->folders[0], error))
        return FALSE;
    for (unsigned i = 0; !directory.given && i < session->config->n_directories;
         i++) {
        if (backends_has_undo(machine_backends(session->machine), i))
            spread->folders[spread->n++] = i;
    }
    spread->n = MAX(spread->n, 1);
    return TRUE;
}

struct session_spread *
session_spread_new(struct session *session, const char *type,
                   const struct session_spread_owner *owner,
                   struct folder_ref directory, json_t *payload,
                   reply_done done, void *opaque)
{
    struct session_spread *spread = g_new0(struct session_spread, 1);
    GError *error = NULL;

    spread->session = session;
    session->lookups++;
    spread->reply = (struct reply){ done, opaque };
    spread->owner = owner;
    spread->type = type;
    spread->payload = payload;
    if (session_check_idle(session, &error) &&
        choose_folders(spread, directory, &error))
        return spread;
    spread_free(spread);
    reply_post_error(done, opaque, error);
    return NULL;
}

void session_spread_refuse(struct session_spread *spread, GError *error)
{
    reply_post_error(spread->reply.done, spread->reply.opaque, error);
    spread_free(spread);
}

void session_spread_occupy(struct session_spread *spread)
{
    spread->occupies = true;
    spread->session->occupied = "an undo or redo is running";
}

void session_spread_finish(struct session_spread *spread,
                           const struct answer *answer, const GError *error)
{
    struct session *session = spread->session;

    if (spread->occupies)
        session->occupied = NULL;
    reply_send(&spread->reply, answer, error);
    spread_free(spread);
    session_command_over(session);
}

/* ---- requests ------------------------------------------------------------ */

void session_spread_begin(struct session_spread *spread, const char *phase)
{
    spread->phase = phase;
    spread->next = 0;
    for (unsigned i = 0; i < spread->n; i++)
        g_clear_pointer(&spread->lists[i], g_ptr_array_unref);
    undo_result_free(spread->result);
    spread->result = undo_result_new();
    spread->result->barriers = undo_barrier_list_new();
    spread->result->warnings = g_ptr_array_new_with_free_func(g_free);
    spread->result->not_restored = g_ptr_array_new_with_free_func(g_free);
    ask_next(spread);
}

static void move_all(GPtrArray *into, GPtrArray **list)
{
    if (*list)
        g_ptr_array_extend_and_steal(into, g_steal_pointer(list));
}

static void take_answer(struct session_spread *spread, json_t *payload)
{
    struct undo_result *answer = result_from_json(
        payload, session_spread_label(spread, spread->next));
    unsigned i = spread->next;

    relayed_unref(spread->last);
    spread->last = relayed_ref(payload);
    spread->lists[i] = g_steal_pointer(&answer->steps);
    /* Only a history answer has them; later phases still need them. */
    if (answer->redo_steps) {
        g_clear_pointer(&spread->redos[i], g_ptr_array_unref);
        spread->redos[i] = g_steal_pointer(&answer->redo_steps);
        spread->redoable[i] = (unsigned)MAX(answer->redoable, 0);
    }
    move_all(spread->result->barriers, &answer->barriers);
    move_all(spread->result->warnings, &answer->warnings);
    move_all(spread->result->not_restored, &answer->not_restored);
    undo_result_free(answer);
}

static void on_answer(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct session_spread *spread = opaque;
    const char *label = session_spread_label(spread, spread->next);

    if (error) {
        struct undo_result *result = result_from_json(data, label);

        result->directory = g_strdup(label);
        spread->owner->failed(spread, error, result);
        return;
    }
    take_answer(spread, payload);
    spread->next++;
    ask_next(spread);
}

/* Address the step by id: another step may be added before the request
 * arrives. */
static json_t *planned_payload(const struct session_spread *spread)
{
    const GArray *ids = spread->planned[spread->next];
    gint64 oldest = g_array_index(ids, gint64, ids->len - 1);

    return engine_request_undo_down_to(oldest, spread->force);
}

static json_t *next_payload(const struct session_spread *spread)
{
    if (spread->payload)
        return relayed_ref(spread->payload);
    if (strcmp(spread->phase, "history") == 0)
        return engine_request_history(
            strcmp(spread->type, "history") == 0 ? spread->steps : HISTORY_ALL);
    if (spread->planned[spread->next])
        return planned_payload(spread);
    /* With several folders, unchanged steps are already counted. */
    return engine_request_undo(spread->counts[spread->next], spread->n == 1,
                               spread->force);
}

static void ask_next(struct session_spread *spread)
{
    bool counted = !spread->payload && strcmp(spread->phase, "history") != 0;

    while (counted && spread->next < spread->n &&
           spread->counts[spread->next] == 0)
        spread->next++;
    if (spread->next == spread->n)
        spread->owner->answered(spread);
    else
        control_link_request(
            session_folder_link(spread->session, spread->folders[spread->next]),
            spread->phase, next_payload(spread), on_answer, spread);
}
