/* SPDX-License-Identifier: Apache-2.0
 *
 * http_status - see http_status.h.
 */
#include "proxy/http_status.h"

#include <glib.h>
#include <string.h>

/* Judge the whole start of a status line. */
static void judge(struct http_status *status)
{
    const char *line = status->line;
    bool valid = memcmp(line, "HTTP/1.", 7) == 0 && g_ascii_isdigit(line[7]) &&
                 line[8] == ' ' && g_ascii_isdigit(line[10]) &&
                 g_ascii_isdigit(line[11]);

    if (!valid || line[9] != '1')
        status->verdict = HTTP_STATUS_OTHER;
    else if (memcmp(line + 9, "101", 3) == 0)
        status->verdict = HTTP_STATUS_SWITCHED;
    else
        status->skips = true;
    status->length = 0;
    status->line_empty = false;
}

static void read_byte(struct http_status *status, char byte)
{
    if (!status->skips) {
        status->line[status->length++] = byte;
        if (status->length == HTTP_STATUS_LENGTH)
            judge(status);
    } else if (byte == '\n') {
        status->skips = !status->line_empty;
        status->line_empty = true;
    } else if (byte != '\r') {
        status->line_empty = false;
    }
}

enum http_status_verdict http_status_read(struct http_status *status,
                                          const char *data, size_t length)
{
    for (size_t i = 0; i < length && status->verdict == HTTP_STATUS_MORE; i++)
        read_byte(status, data[i]);
    return status->verdict;
}
