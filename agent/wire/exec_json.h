/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_json - executions as JSON of the API.
 */
#ifndef AGENT_WIRE_EXEC_JSON_H
#define AGENT_WIRE_EXEC_JSON_H

#include <glib.h>
#include <jansson.h>

#include "agent/base/command.h"
#include "agent/session/session_exec.h"

/* Read the command of exec.start from a payload (borrowed). On failure return
 * NULL with ERROR_MISSING_FIELD or ERROR_INVALID_FIELD. */
struct command *exec_command_from_json(json_t *payload, GError **error);

/* All return new references. */
json_t *exec_exit_to_json(const struct exec_exit *exit);
json_t *exec_info_to_json(const struct exec_info *info);
json_t *exec_reading_to_json(const struct exec_reading *reading);
json_t *exec_output_to_json(const struct command_output *output);

/* Read a terminal's size. Fails with ERROR_INVALID_FIELD. */
gboolean exec_size_from_json(json_t *payload, unsigned *ret_rows,
                             unsigned *ret_columns, GError **error);

/* Read a signal: its number, or its name with or without "SIG". Fails with
 * ERROR_MISSING_FIELD or ERROR_INVALID_FIELD. */
gboolean exec_signal_from_json(json_t *payload, int *ret_number,
                               GError **error);

#endif
