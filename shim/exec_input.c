/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_input - see exec_input.h.
 */
#include "shim/exec_input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "shim/wire_json.h"

/* Report in steps of this size, so that small writes do not each cost a
 * message; the rest is reported when the ring is empty. */
#define REPORT_SIZE (WIRE_INPUT_WINDOW / 4)

void exec_input_open(struct exec_input *input, int fd, bool is_terminal)
{
    input->fd = fd;
    input->is_terminal = is_terminal;
    input->ending = false;
    input->start = input->len = input->taken = 0;
    input->has_new = false;
}

void exec_input_close(struct exec_input *input)
{
    if (input->fd >= 0)
        close(input->fd);
    input->fd = -1;
    input->taken += input->len;
    input->len = 0;
}

bool exec_input_add(struct exec_input *input, const void *data, size_t len)
{
    size_t at, first;

    if (len > sizeof(input->ring) - input->len)
        return false;
    if (input->fd < 0) {
        input->taken += len;
        return true;
    }
    at = (input->start + input->len) % sizeof(input->ring);
    first = sizeof(input->ring) - at;
    if (first > len)
        first = len;
    memcpy(input->ring + at, data, first);
    memcpy(input->ring, (const char *)data + first, len - first);
    input->len += len;
    input->has_new = true;
    return true;
}

void exec_input_end(struct exec_input *input)
{
    input->ending = true;
}

bool exec_input_wants(const struct exec_input *input)
{
    return input->fd >= 0 && (input->len > 0 || input->ending);
}

/* On a terminal, end of input is a character; in raw mode the process reads it
 * as ^D, as if the user had typed it. */
static bool send_end(struct exec_input *input)
{
    struct termios settings;
    char end = 4; /* ^D */

    if (tcgetattr(input->fd, &settings) == 0)
        end = (char)settings.c_cc[VEOF];
    return write(input->fd, &end, 1) == 1 || errno != EAGAIN;
}

static void report(struct exec_input *input, int64_t id, struct port *port)
{
    if (input->taken == 0 || !port_can_answer(port))
        return;
    if (input->taken < REPORT_SIZE && input->len > 0)
        return;
    port_send(port,
              json_pack("{s:s, s:I, s:I}", "type", WIRE_INPUT_TAKEN, "id",
                        (json_int_t)id, "bytes", (json_int_t)input->taken));
    input->taken = 0;
}

/* ---- a terminal that takes no more --------------------------------------- */

static bool is_signal(const struct termios *settings, char key)
{
    static const int keys[] = { VINTR, VQUIT, VSUSP };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        cc_t known = settings->c_cc[keys[i]];

        if (known != _POSIX_VDISABLE && known == (cc_t)key)
            return true;
    }
    return false;
}

static char at(const struct exec_input *input, size_t offset)
{
    return input->ring[(input->start + offset) % sizeof(input->ring)];
}

/* Return the number of bytes before and with the last key that signals, 0:
 * there is none. A key after VLNEXT is data (termios(3)). */
static size_t find_signal(const struct exec_input *input,
                          const struct termios *settings)
{
    size_t end = input->len;
    bool quotes = (settings->c_lflag & ICANON) && (settings->c_lflag & IEXTEN);

    for (; end > 0; end--) {
        if (is_signal(settings, at(input, end - 1)) &&
            !(quotes && end > 1 &&
              (cc_t)at(input, end - 2) == settings->c_cc[VLNEXT]))
            break;
    }
    return end;
}

/* The line discipline discards its input when it sends a signal, but it does
 * not see a key behind input that nothing reads. Discard all before the last
 * such key, in the terminal as well. Return false if there is none. */
static bool discard_before_signal(struct exec_input *input)
{
    struct termios settings;
    size_t skip;
    int slave;

    if (!input->is_terminal || tcgetattr(input->fd, &settings) < 0 ||
        !(settings.c_lflag & ISIG) || (settings.c_lflag & NOFLSH))
        return false;
    skip = find_signal(input, &settings);
    if (skip == 0)
        return false;
    slave = ioctl(input->fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        return false;
    tcflush(input->fd, TCOFLUSH); /* on its way to the line discipline */
    tcflush(slave, TCIFLUSH);
    close(slave);
    skip--;
    input->start = (input->start + skip) % sizeof(input->ring);
    input->len -= skip;
    input->taken += skip;
    return true;
}

/* ---- writing ------------------------------------------------------------- */

void exec_input_advance(struct exec_input *input, int64_t id, struct port *port)
{
    while (input->fd >= 0 && input->len > 0) {
        size_t run = sizeof(input->ring) - input->start;
        ssize_t put = write(input->fd, input->ring + input->start,
                            run < input->len ? run : input->len);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EAGAIN && input->has_new) {
            input->has_new = false;
            if (discard_before_signal(input))
                continue;
        }
        if (put < 0 && errno == EAGAIN)
            break;
        if (put < 0) { /* the process has closed its end, or has ended */
            exec_input_close(input);
            break;
        }
        input->start = (input->start + (size_t)put) % sizeof(input->ring);
        input->len -= (size_t)put;
        input->taken += (size_t)put;
    }
    if (input->fd >= 0 && input->len == 0 && input->ending) {
        if (!input->is_terminal)
            exec_input_close(input);
        else if (send_end(input))
            input->ending = false;
    }
    report(input, id, port);
}
