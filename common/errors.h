/* SPDX-License-Identifier: Apache-2.0
 *
 * errors - the stable error codes of the STDIO API and the control protocol.
 *
 * A code's name and number never change once released; a message may.
 */
#ifndef COMMON_ERRORS_H
#define COMMON_ERRORS_H

#include <glib.h>

enum error_code {
    ERROR_MALFORMED_JSON = 1000,
    ERROR_UNSUPPORTED_PROTOCOL_VERSION = 1001,
    ERROR_UNKNOWN_OPERATION = 1002,
    ERROR_MISSING_FIELD = 1003,
    ERROR_INVALID_FIELD = 1004,
    ERROR_MESSAGE_TOO_LARGE = 1005,

    ERROR_NO_SESSION = 2000,
    ERROR_SESSION_ACTIVE = 2001,
    ERROR_INVALID_DIRECTORY = 2002,
    ERROR_VM_LAUNCH_FAILED = 2003,
    ERROR_VM_BOOT_TIMEOUT = 2004,
    ERROR_CONTROL_DISCONNECTED = 2005,
    ERROR_TOO_MANY_DIRECTORIES = 2006,
    ERROR_BACKEND_FAILED = 2007,
    ERROR_NO_BUBBLEWRAP = 2008,
    ERROR_NO_USER_NAMESPACES = 2009,
    ERROR_NO_FUSE = 2010,
    ERROR_NO_CGROUP = 2011,

    ERROR_NOTHING_TO_UNDO = 3000,
    ERROR_UNDO_BARRIER = 3001,
    ERROR_STEP_UNPROTECTED = 3002,
    ERROR_UNDO_VERSION_MISMATCH = 3003,
    ERROR_PREIMAGE_MISSING = 3004,
    ERROR_PREIMAGE_CORRUPT = 3005,
    ERROR_STEP_ACTIVE = 3006,
    ERROR_NOTHING_TO_REDO = 3007,

    ERROR_PATH_OUTSIDE_ROOT = 4000,
    ERROR_NOT_FOUND = 4001,
    ERROR_READ_ONLY_DIRECTORY = 4002,
    ERROR_TOO_LARGE = 4003,
    ERROR_IO_ERROR = 4004,

    ERROR_UNKNOWN_SAFEGUARD = 5000,
    ERROR_DENIED = 5001,

    ERROR_BUSY = 6000,
    ERROR_CANCELLED = 6001,
    ERROR_TIMEOUT = 6002,

    ERROR_PORT_TAKEN = 7000,
    ERROR_PORT_PUBLISHED = 7001,
    ERROR_PORT_PRIVILEGED = 7002,
    ERROR_NO_NETWORK = 7003,

    ERROR_INTERNAL = 9000,
};

/* Return the code's stable name, e.g. "undo_barrier"; "internal" for an unknown
 * number. Static. */
const char *error_code_name(int code);

/* Return the code with this name, or ERROR_INTERNAL. */
enum error_code error_code_from_name(const char *name);

/* GError domain whose codes are enum error_code: errors that reach a frontend
 * have it, so that no layer has to guess a code from a message. */
#define STEPBACK_ERROR (stepback_error_quark())
GQuark stepback_error_quark(void);

/* Return the enum error_code of an error: its own if the domain is
 * STEPBACK_ERROR, else ERROR_INTERNAL. */
int error_code_of(const GError *error);

#endif
