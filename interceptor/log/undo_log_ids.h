/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_ids - whose numbers of users and groups a log has.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_IDS_H
#define INTERCEPTOR_LOG_UNDO_LOG_IDS_H

#include "interceptor/log/undo_log_base.h"

/* Once, after opening: its steps have the numbers of a user namespace with
 * these maps (a text; NULL: of none). ERROR_INVALID_DIRECTORY: they have
 * others. An empty log gets these. */
bool undo_log_check_ids(struct undo_log *log, const char *path, const char *ids,
                        GError **error);

#endif
