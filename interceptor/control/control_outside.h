/* SPDX-License-Identifier: Apache-2.0
 *
 * control_outside - requests of the control protocol about undo, redo and
 * outside edits.
 */
#ifndef INTERCEPTOR_CONTROL_CONTROL_OUTSIDE_H
#define INTERCEPTOR_CONTROL_CONTROL_OUTSIDE_H

#include <jansson.h>

#include "interceptor/engine/rollback.h"
#include "interceptor/interceptor.h"

/* Read the extent of "rollback" and similar requests: "steps" and "counts", or
 * "down_to". */
gboolean control_outside_get_extent(json_t *payload,
                                    struct rollback_extent *ret_extent,
                                    GError **error);

/* Return the answer of such a request; if it is not ok, NULL and the error's
 * data. Takes ownership of the result. */
json_t *control_outside_answer(struct ic_rollback_result *result, gboolean ok,
                               json_t **ret_data);

/* Return a new list of reports for an answer: beyond 8 MiB they lack "command",
 * "changes" and "affected_paths", and are "truncated". */
json_t *control_outside_reports(const GPtrArray *infos);

/* "rollback". The answer: {"steps":[reports],"warnings":[texts],"barriers":
 * [those crossed]}. On error *ret_data, the error's data: {"steps": those
 * rolled back before it, "barriers": the blocking ones, "paths": theirs}. */
json_t *control_outside_rollback(struct ic *ic, json_t *payload,
                                 json_t **ret_data, GError **error);
json_t *control_outside_redo(struct ic *ic, json_t *payload, json_t **ret_data,
                             GError **error);
json_t *control_outside_preview(struct ic *ic, json_t *payload,
                                json_t **ret_data, GError **error);

/* "write_file" with "replaces" (borrowed): {"size","sha256"} of the file's
 * expected content. As ic_write_file(), but a file with other content is left
 * alone: ERROR_IO_ERROR, or ERROR_NOT_FOUND. */
gboolean control_outside_replace(struct ic *ic,
                                 const struct ic_file_write *request,
                                 json_t *replaces,
                                 struct ic_step_info **ret_info,
                                 GError **error);

/* Return event.history_changed, new, for all clients but the requester, if by
 * its answer the request has changed the history; NULL if not. */
json_t *control_outside_history_event(json_t *request, json_t *answer);

/* Apply external_modification_policy of "configure". */
gboolean control_outside_configure(struct ic *ic, json_t *payload,
                                   GError **error);

/* Return the barriers of ic_barriers() as a new list. */
json_t *control_outside_barriers(struct ic *ic);

#endif
