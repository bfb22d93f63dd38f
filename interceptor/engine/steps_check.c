/* SPDX-License-Identifier: Apache-2.0
 *
 * steps_check - see steps_check.h.
 */
#include "interceptor/engine/steps_check.h"

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/engine/ambient_rest.h"
#include "interceptor/engine/folder.h"
#include "interceptor/engine/safeguard.h"

gboolean steps_check_open(struct ic *ic, int64_t id, GError **error)
{
    if (ic->wal.step && !ambient_is_open(ic) && ic->wal.step->id == id)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "step %" G_GINT64_FORMAT " is not open", id);
    return FALSE;
}

gboolean steps_check_finished(struct ic *ic, GError **error)
{
    fd_auto int dir = ic->broken ? undo_log_open_wal(ic->log) : -1;
    g_autoptr(step_auto) step = NULL;

    if (!ic->broken)
        return TRUE;
    if (dir >= 0 && step_load_summary(dir, &step) == 0 &&
        !folder_check(ic, step, true, error))
        return FALSE;
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                        "a step or a rollback is unfinished; the next undo, "
                        "redo or run finishes it");
    return FALSE;
}

gboolean steps_check_none(struct ic *ic, GError **error)
{
    if (!safeguard_check_none(ic, error))
        return FALSE;
    if (!ic->wal.step || ambient_is_open(ic))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_STEP_ACTIVE,
                "step %" G_GINT64_FORMAT " is open; wait until it is complete",
                ic->wal.step->id);
    return FALSE;
}

int64_t steps_last_id(struct ic *ic)
{
    return MAX(ic->log ? undo_log_last_id(ic->log) : 0, ic->last_id);
}
