/* SPDX-License-Identifier: Apache-2.0
 *
 * control_outside - the control protocol's requests that have to do with edits
 * from outside, which go back and forth in the history.
 */
#ifndef INTERCEPTOR_CONTROL_CONTROL_OUTSIDE_H
#define INTERCEPTOR_CONTROL_CONTROL_OUTSIDE_H

#include <jansson.h>

#include "interceptor/engine/rollback.h"
#include "interceptor/interceptor.h"

/* How far "rollback" and the like are to go: "steps" and "counts", or
 * "down_to". */
gboolean control_outside_get_extent(json_t *payload,
                                    struct rollback_extent *ret_extent,
                                    GError **error);

/* The answer of such a request, or, if it is not ok, the error's data and NULL.
 * Takes the result. */
json_t *control_outside_answer(struct ic_rollback_result *result, gboolean ok,
                               json_t **ret_data);

/* A new list of reports, for an answer: beyond 8 MiB they come without
 * "command", "changes" and "affected_paths", and are "truncated". */
json_t *control_outside_reports(const GPtrArray *infos);

/* "rollback". The answer: {"steps":[reports],"warnings":[texts],"barriers":
 * [those crossed]}. On error *ret_data, the error's data: {"steps": those that
 * were taken back before it, "barriers": those in the way, "paths": theirs}. */
json_t *control_outside_rollback(struct ic *ic, json_t *payload,
                                 json_t **ret_data, GError **error);
json_t *control_outside_redo(struct ic *ic, json_t *payload, json_t **ret_data,
                             GError **error);
json_t *control_outside_preview(struct ic *ic, json_t *payload,
                                json_t **ret_data, GError **error);

/* "write_file" with "replaces" (borrowed): {"size","sha256"} of what the file
 * has to hold. As ic_write_file(), but one that holds anything else by then is
 * left alone: ERROR_IO_ERROR, or ERROR_NOT_FOUND. */
gboolean control_outside_replace(struct ic *ic,
                                 const struct ic_file_write *request,
                                 json_t *replaces,
                                 struct ic_step_info **ret_info,
                                 GError **error);

/* What a request, by its answer, has done to the history, for all but the one
 * who asked: event.history_changed, new; NULL: nothing. */
json_t *control_outside_history_event(json_t *request, json_t *answer);

/* The part of "configure": external_modification_policy. */
gboolean control_outside_configure(struct ic *ic, json_t *payload,
                                   GError **error);

/* A new list of what ic_barriers() says. */
json_t *control_outside_barriers(struct ic *ic);

#endif
