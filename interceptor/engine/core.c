/* SPDX-License-Identifier: Apache-2.0
 *
 * core - see core.h.
 */
#include "interceptor/engine/core.h"

#include "common/errors.h"

char *core_describe_version(struct ic *ic)
{
    return g_strdup_printf("%s: undo log of version '%s', but this program "
                           "supports version %d; undo is off until the log is "
                           "discarded, or the program that wrote it is used",
                           ic->undo_dir, undo_log_other_version(ic->closed_log),
                           UNDO_LOG_FORMAT);
}

static void set_version_error(struct ic *ic, GError **error)
{
    g_autofree char *text = core_describe_version(ic);

    g_set_error_literal(error, STEPBACK_ERROR, ERROR_UNDO_VERSION_MISMATCH,
                        text);
}

gboolean core_check_log(struct ic *ic, GError **error)
{
    if (ic->log)
        return TRUE;
    if (ic->closed_log) {
        set_version_error(ic, error);
        return FALSE;
    }
    g_set_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                "%s is served without an undo log", ic->share);
    return FALSE;
}
