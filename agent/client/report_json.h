/* SPDX-License-Identifier: Apache-2.0
 *
 * report_json - reports and results as JSON: that of the control protocol,
 * which the STDIO API and MCP share.
 */
#ifndef AGENT_CLIENT_REPORT_JSON_H
#define AGENT_CLIENT_REPORT_JSON_H

#include <jansson.h>

#include "agent/base/file_write.h"
#include "agent/base/undo_result.h"

/* Read what an engine says (borrowed; NULL is {}). label (may be NULL) is that
 * of its folder. A new object; members that are not as they should be count as
 * missing. */
struct step_report *report_from_json(json_t *object, const char *label);
struct undo_barrier *barrier_from_json(json_t *object, const char *label);
struct undo_result *result_from_json(json_t *object, const char *label);

/* Read the payload of event.history_changed: the steps (a new list), the
 * operation (a new string, "" if there is none) and whether there are more. */
GPtrArray *history_from_json(json_t *payload, const char *label,
                             char **ret_operation, bool *ret_truncated);

/* The other way. A new reference. */
json_t *report_to_json(const struct step_report *report);
json_t *reports_to_json(const GPtrArray *reports);
json_t *result_to_json(const struct undo_result *result);

/* The payload of "write_file". A new object. */
json_t *write_to_json(const struct file_write *write, gint64 step_id);

/* Name the folder, as "directory", in what an engine says, and in each of its
 * changes. */
void label_json(json_t *object, const char *label);

/* Paths (of char *) as an array of JSON: text, or objects (json_bytes.h). */
json_t *paths_to_json(const GPtrArray *paths);

#endif
