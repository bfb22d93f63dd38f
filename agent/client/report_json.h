/* SPDX-License-Identifier: Apache-2.0
 *
 * report_json - convert reports and results to and from the JSON of the control
 * protocol, which the STDIO API and MCP share.
 */
#ifndef AGENT_CLIENT_REPORT_JSON_H
#define AGENT_CLIENT_REPORT_JSON_H

#include <jansson.h>

#include "agent/base/undo_result.h"

/* Parse an engine's answer (borrowed; NULL counts as {}). label (may be NULL)
 * is that of its folder. Returns a new object; malformed members count as
 * missing. */
struct step_report *report_from_json(json_t *object, const char *label);
struct undo_barrier *barrier_from_json(json_t *object, const char *label);
struct undo_result *result_from_json(json_t *object, const char *label);

/* Parse the payload of event.history_changed: the steps (a new list), the
 * operation (a new string, "" if missing) and whether there are more steps. */
GPtrArray *history_from_json(json_t *payload, const char *label,
                             char **ret_operation, bool *ret_truncated);

/* Convert to JSON. Returns a new reference. */
json_t *report_to_json(const struct step_report *report);
json_t *reports_to_json(const GPtrArray *reports);
json_t *result_to_json(const struct undo_result *result);

/* Set "directory" to the folder's label in an engine's answer and in each of
 * its changes. */
void label_json(json_t *object, const char *label);

/* Convert paths (of char *) to a JSON array of text or objects
 * (json_bytes.h). */
json_t *paths_to_json(const GPtrArray *paths);

#endif
