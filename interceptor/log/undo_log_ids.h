/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_ids - the user namespace of the user and group ids in a log.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_IDS_H
#define INTERCEPTOR_LOG_UNDO_LOG_IDS_H

#include "interceptor/log/undo_log_base.h"

/* Check, once after opening, that the log's steps use a user namespace with
 * these maps (a text; NULL: none). ERROR_INVALID_DIRECTORY: they use others. An
 * empty log takes these. */
bool undo_log_check_ids(struct undo_log *log, const char *path, const char *ids,
                        GError **error);

#endif
