/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_turn - see exec_turn.h.
 */
#include "agent/cli/exec_turn.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"

enum { WAITS_MS = 500 };

struct exec_turn {
    struct control_link *link;
    gint64 id;
    bool raw, stopped;
    guint source;
};

static const char *state_of(json_t *execution)
{
    const char *state = json_string_value(json_object_get(execution, "state"));

    return state ? state : "";
}

/* payload: of the response to exec.list. Return whether the execution waits.
 * ret_blocker: the one that runs with a step, or 0. */
static bool is_waiting(json_t *payload, gint64 id, gint64 *ret_blocker)
{
    bool waits = false;
    json_t *entry;
    size_t i;

    *ret_blocker = 0;
    json_array_foreach(json_object_get(payload, "executions"), i, entry)
    {
        gint64 entry_id = json_integer_value(json_object_get(entry, "exec_id"));

        if (entry_id == id)
            waits = strcmp(state_of(entry), "waiting") == 0;
        else if (strcmp(state_of(entry), "running") == 0 &&
                 json_object_get(entry, "step_id"))
            *ret_blocker = entry_id;
    }
    return waits;
}

struct exec_turn *exec_turn_new(struct control_link *link, gint64 id, bool raw)
{
    struct exec_turn *turn = g_new0(struct exec_turn, 1);

    turn->link = link;
    turn->id = id;
    turn->raw = raw;
    return turn;
}

void exec_turn_stop(struct exec_turn *turn)
{
    turn->stopped = true;
    g_clear_handle_id(&turn->source, g_source_remove);
}

void exec_turn_free(struct exec_turn *turn)
{
    if (!turn)
        return;
    exec_turn_stop(turn);
    g_free(turn);
}

static void on_executions(json_t *payload, const GError *error, json_t *data,
                          void *opaque)
{
    struct exec_turn *turn = opaque;
    gint64 blocker;

    if (turn->stopped || !is_waiting(payload, turn->id, &blocker) || !blocker)
        return;
    fprintf(stderr,
            CLI_PROGRAM ": waiting for execution %" G_GINT64_FORMAT
                        " ('" CLI_PROGRAM " jobs' lists it)%s\n",
            blocker, turn->raw ? "\r" : "");
}

static gboolean on_waits(gpointer data)
{
    struct exec_turn *turn = data;

    turn->source = 0;
    control_link_request(turn->link, "exec.list", json_object(), on_executions,
                         turn);
    return G_SOURCE_REMOVE;
}

void exec_turn_watch(struct exec_turn *turn)
{
    turn->source = g_timeout_add(WAITS_MS, on_waits, turn);
}

static void on_interrupted(json_t *payload, const GError *error, json_t *data,
                           void *opaque)
{
    struct exec_turn *turn = opaque;
    gint64 blocker;

    if (!turn->stopped && is_waiting(payload, turn->id, &blocker))
        control_link_request(turn->link, "exec.signal",
                             json_pack("{s:I, s:i}", "exec_id",
                                       (json_int_t)turn->id, "signal", SIGINT),
                             NULL, NULL);
}

void exec_turn_interrupt(struct exec_turn *turn)
{
    control_link_request(turn->link, "exec.list", json_object(), on_interrupted,
                         turn);
}
