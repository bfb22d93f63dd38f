/* SPDX-License-Identifier: Apache-2.0
 *
 * report - see report.h.
 */
#include "local/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd_message.h"

static int control = -1;

void report_open(int fd)
{
    control = fd;
}

void report_failure(enum local_message type, const char *format, ...)
{
    char text[LOCAL_MAX_TEXT] = { (char)type };
    int reason = errno;
    size_t length = 1;
    va_list args;

    va_start(args, format);
    vsnprintf(text + length, sizeof(text) - length, format, args);
    va_end(args);
    length = strlen(text);
    snprintf(text + length, sizeof(text) - length, ": %s", strerror(reason));
    if (control >= 0)
        send(control, text, strlen(text), MSG_NOSIGNAL);
    fprintf(stderr, "stepback-local: %s\n", text + 1);
    exit(EXIT_FAILURE);
}

void report_ready(const int *fds, size_t count, const uint64_t *devices,
                  size_t mounts)
{
    char message[1 + LOCAL_MAX_FOLDERS * sizeof(*devices)] = { LOCAL_READY };
    char byte;
    ssize_t n;

    memcpy(message + 1, devices, mounts * sizeof(*devices));
    n = fd_message_send(control, message, 1 + mounts * sizeof(*devices), fds,
                        count, 0);
    errno = (int)-n;
    if (n < 0)
        report_failure(LOCAL_FAILED, "cannot hand over the mounts");
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    do {
        n = recv(control, &byte, 1, 0);
    } while (n < 0 && errno == EINTR);
    if (n != 1)
        exit(EXIT_FAILURE);
}

void report_done(void)
{
    const char type = LOCAL_DONE;

    send(control, &type, 1, MSG_NOSIGNAL);
}

void report_close(void)
{
    close(control);
    control = -1;
}
