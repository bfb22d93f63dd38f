/* SPDX-License-Identifier: Apache-2.0
 *
 * session_party - who started an execution, or attached to it: gets its output
 * and its end.
 */
#ifndef AGENT_SESSION_SESSION_PARTY_H
#define AGENT_SESSION_SESSION_PARTY_H

#include <glib.h>

#include "agent/base/command.h"
#include "agent/base/undo_result.h"

/* How many executions that have ended are known. */
enum { SESSION_EXEC_ENDED = 64 };

/* The end of an execution; all borrowed. */
struct exec_exit {
    gint64 exec_id;
    struct command_end end;     /* exit_code is -1 if it is unknown */
    gint64 step_id;             /* 0: it had no step */
    struct step_report *report; /* of its step, or NULL */
    const GError *error;        /* why it did not run to its end, or NULL */
};

/* No callback frees the session. */
struct session_party_callbacks {
    /* Output. It counts as in flight until session_exec_consumed(): the guest
     * stops while too much is. */
    void (*output)(const struct command_output *output, void *opaque);
    void (*exited)(const struct exec_exit *exit, void *opaque);
    /* Another party has attached to the execution in place of this one. */
    void (*replaced)(gint64 exec_id, void *opaque);
};

struct session_party {
    const struct session_party_callbacks *callbacks;
    void *opaque;
};

#endif
