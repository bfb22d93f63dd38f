/* SPDX-License-Identifier: Apache-2.0
 *
 * report - the message to the supervisor.
 */
#ifndef LOCAL_REPORT_H
#define LOCAL_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "local/wire.h"

/* Use this socket (borrowed). */
void report_open(int fd);

/* Report a failure, with errno's text, and exit. */
_Noreturn void report_failure(enum local_message type, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Hand over the fds (taken) and the device numbers of the mounts, and wait for
 * the supervisor's byte. Exit if it is gone. */
void report_ready(const int *fds, size_t count, const uint64_t *devices,
                  size_t mounts);

/* Report success. */
void report_done(void);

/* Close the socket. */
void report_close(void);

#endif
