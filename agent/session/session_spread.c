/* SPDX-License-Identifier: Apache-2.0
 *
 * session_spread - see session_spread.h.
 */
#include "agent/session/session_spread.h"

#include <string.h>

#include "agent/client/step_merge.h"
#include "agent/session/session_core.h"
#include "agent/session/session_folder.h"
#include "common/errors.h"

static void ask_next(struct session_spread *spread);

const char *session_spread_label(const struct session_spread *spread,
                                 unsigned i)
{
    return spread->session->config->directories[spread->folders[i]]->label;
}

enum { HISTORY_ALL = 1000000 }; /* what a daemon takes as a limit */

/* ---- life ---------------------------------------------------------------- */

static void spread_free(struct session_spread *spread)
{
    for (unsigned i = 0; i < SESSION_MAX_DIRECTORIES; i++) {
        json_decref(spread->lists[i]);
        json_decref(spread->redos[i]);
        json_decref(spread->planned[i]);
    }
    json_decref(spread->payload);
    json_decref(spread->barriers);
    json_decref(spread->warnings);
    json_decref(spread->not_restored);
    json_decref(spread->last);
    g_free(spread);
}

static gboolean choose_folders(struct session_spread *spread, json_t *directory,
                               GError **error)
{
    struct session *session = spread->session;

    if (!session_find_folder(session, directory, &spread->folders[0], error))
        return FALSE;
    for (unsigned i = 0; !directory && i < session->config->n_directories;
         i++) {
        if (backends_has_undo(machine_backends(session->machine), i))
            spread->folders[spread->n++] = i;
    }
    spread->n = MAX(spread->n, 1);
    return TRUE;
}

struct session_spread *
session_spread_new(struct session *session, const char *type,
                   const struct session_spread_owner *owner, json_t *directory,
                   json_t *payload, reply_done done, void *opaque)
{
    struct session_spread *spread = g_new0(struct session_spread, 1);
    GError *error = NULL;

    spread->session = session;
    spread->reply = (struct reply){ done, opaque };
    spread->owner = owner;
    spread->type = type;
    spread->payload = payload;
    spread->barriers = json_array();
    spread->warnings = json_array();
    spread->not_restored = json_array();
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
    spread->session->occupied = "steps are being taken back or brought back";
}

void session_spread_finish(struct session_spread *spread, json_t *payload,
                           const GError *error, json_t *data)
{
    struct session *session = spread->session;

    if (spread->occupies)
        session->occupied = NULL;
    reply_send(&spread->reply, payload, error, data);
    spread_free(spread);
    session_command_over(session);
}

/* ---- asking -------------------------------------------------------------- */

void session_spread_begin(struct session_spread *spread, const char *phase)
{
    spread->phase = phase;
    spread->next = 0;
    for (unsigned i = 0; i < spread->n; i++)
        g_clear_pointer(&spread->lists[i], json_decref);
    json_array_clear(spread->barriers);
    json_array_clear(spread->warnings);
    json_array_clear(spread->not_restored);
    ask_next(spread);
}

static void fail(struct session_spread *spread, const GError *error,
                 json_t *data)
{
    json_t *all;

    if (spread->owner->failed) {
        spread->owner->failed(spread, error, data);
        return;
    }
    all = data ? json_deep_copy(data) : json_object();
    json_object_set_new(
        all, "directory",
        json_string(session_spread_label(spread, spread->next)));
    session_spread_finish(spread, NULL, error, all);
    json_decref(all);
}

static void keep_all(json_t *into, json_t *list, const char *label)
{
    json_t *copy = json_deep_copy(list);

    if (label)
        step_merge_label_all(copy, label);
    json_array_extend(into, copy);
    json_decref(copy);
}

/* Only a history has them; what is done after it needs them still. */
static void take_redos(struct session_spread *spread, json_t *payload,
                       const char *label)
{
    json_t *redos = json_deep_copy(json_object_get(payload, "redo_steps"));

    if (!redos)
        return;
    step_merge_label_all(redos, label);
    json_decref(spread->redos[spread->next]);
    spread->redos[spread->next] = redos;
    spread->redoable[spread->next] = (unsigned)json_integer_value(
        json_object_get(payload, "redoable"));
}

static void take_answer(struct session_spread *spread, json_t *payload)
{
    const char *label = session_spread_label(spread, spread->next);
    json_t *steps = json_deep_copy(json_object_get(payload, "steps"));

    json_decref(spread->last);
    spread->last = json_incref(payload);
    if (steps)
        step_merge_label_all(steps, label);
    spread->lists[spread->next] = steps;
    take_redos(spread, payload, label);
    keep_all(spread->barriers, json_object_get(payload, "barriers"), label);
    keep_all(spread->warnings, json_object_get(payload, "warnings"), NULL);
    keep_all(spread->not_restored, json_object_get(payload, "not_restored"),
             NULL);
}

static void on_answer(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct session_spread *spread = opaque;

    if (error) {
        fail(spread, error, data);
        return;
    }
    take_answer(spread, payload);
    spread->next++;
    ask_next(spread);
}

/* By its id, as another step may come before it is asked for. */
static json_t *planned_payload(const struct session_spread *spread)
{
    json_t *ids = spread->planned[spread->next];
    json_t *oldest = json_array_get(ids, json_array_size(ids) - 1);

    return json_pack("{s:O, s:b}", "down_to", oldest, "force", spread->force);
}

static json_t *next_payload(const struct session_spread *spread)
{
    if (spread->payload)
        return json_incref(spread->payload);
    if (strcmp(spread->phase, "history") == 0)
        return json_pack("{s:I}", "limit",
                         (json_int_t)(strcmp(spread->type, "history") == 0
                                          ? spread->steps
                                          : HISTORY_ALL));
    if (spread->planned[spread->next])
        return planned_payload(spread);
    /* Of several folders they are counted already. */
    return json_pack(
        "{s:I, s:s, s:b}", "steps", (json_int_t)spread->counts[spread->next],
        "counts", spread->n == 1 ? "changes" : "all", "force", spread->force);
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
