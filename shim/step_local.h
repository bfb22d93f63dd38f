/* SPDX-License-Identifier: Apache-2.0
 *
 * step_local - what the command "step", the shells and the server of steps
 * (step_server.h) share within the guest.
 */
#ifndef SHIM_STEP_LOCAL_H
#define SHIM_STEP_LOCAL_H

#include "shim/wire_json.h"
#include "shim/wire.h"

/* The command's name. */
#define STEP_CLIENT_NAME "step"

/* The environment variable with the path of the server's socket. */
#define STEP_CLIENT_SOCKET "STEPBACK_STEP_SOCKET"

/* The default folder of the socket. */
#define STEP_SHELL_FOLDER "/run/stepback"

/* The environment variable with the scope of "step begin" and "step end". */
#define STEP_SHELL_SCOPE "STEPBACK_STEP_SCOPE"

/* A request line; every byte of the text may be escaped as \u00XX. */
#define STEP_SERVER_LINE (WIRE_JSON_WORST(WIRE_STEP_COMMAND) + 1024)

/* An answer; its text has few bytes that are escaped. */
#define STEP_SERVER_ANSWER (2 * WIRE_STEP_TEXT)

#endif
