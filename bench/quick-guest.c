/* SPDX-License-Identifier: Apache-2.0
 *
 * quick-guest - replaces QEMU with a guest of zero latency, to measure the
 * supervisor's overhead on a command.
 *
 * Accepts QEMU's command line and emulates the monitor and the shim. Each
 * command prints two times, CLOCK_MONOTONIC in ns: the arrival of its request,
 * and the sending of this output.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shim/wire.h"

enum { MAX_INPUT = 1 << 20 };

struct peer {
    int fd;
    char *input; /* MAX_INPUT bytes */
    size_t len;
    void (*take)(struct peer *peer, json_t *message, int64_t came_ns);
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "quick-guest: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void send_text(int fd, const char *text)
{
    size_t len = strlen(text);

    if (send(fd, text, len, MSG_NOSIGNAL) != (ssize_t)len)
        fail("send");
}

__attribute__((format(printf, 2, 3))) static void
send_line(int fd, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    send_text(fd, line);
}

/* ---- the shim ------------------------------------------------------------ */

static void run_command(int fd, json_int_t id, int64_t came_ns)
{
    send_line(fd,
              "{\"type\":\"" WIRE_STEP_STARTED "\",\"id\":%" JSON_INTEGER_FORMAT
              "}\n",
              id);
    send_line(fd,
              "{\"type\":\"" WIRE_OUTPUT "\",\"id\":%" JSON_INTEGER_FORMAT
              ",\"stream\":\"stdout\",\"data\":\"%" PRId64 " %" PRId64 "\"}\n",
              id, came_ns, now_ns());
    send_line(fd,
              "{\"type\":\"" WIRE_STEP_COMPLETED
              "\",\"id\":%" JSON_INTEGER_FORMAT ",\"exit_code\":0}\n",
              id);
}

static void take_control(struct peer *peer, json_t *message, int64_t came_ns)
{
    const char *type = json_string_value(json_object_get(message, "type"));
    const char *tag = json_string_value(json_object_get(message, "tag"));

    if (!type)
        return;
    if (strcmp(type, WIRE_EXEC) == 0)
        run_command(peer->fd,
                    json_integer_value(json_object_get(message, "id")),
                    came_ns);
    else if (strcmp(type, WIRE_MOUNT) == 0)
        send_line(peer->fd,
                  "{\"type\":\"" WIRE_MOUNTED
                  "\",\"tag\":\"%.100s\",\"status\":\"ok\"}\n",
                  tag ? tag : "");
    else if (strcmp(type, WIRE_SHUTDOWN) == 0)
        exit(EXIT_SUCCESS);
}

/* ---- the monitor --------------------------------------------------------- */

static void take_monitor(struct peer *peer, json_t *message, int64_t came_ns)
{
    const char *name = json_string_value(json_object_get(message, "execute"));

    send_text(peer->fd, "{\"return\":{}}\n");
    if (name && strcmp(name, "quit") == 0)
        exit(EXIT_SUCCESS);
}

/* ---- lines --------------------------------------------------------------- */

static void take_line(struct peer *peer, const char *line, size_t len,
                      int64_t came_ns)
{
    json_t *message = json_loadb(line, len, 0, NULL);

    if (message)
        peer->take(peer, message, came_ns);
    json_decref(message);
}

static void serve(struct peer *peer)
{
    ssize_t n = recv(peer->fd, peer->input + peer->len, MAX_INPUT - peer->len,
                     0);
    int64_t came_ns = now_ns();
    char *start = peer->input, *newline;

    if (n <= 0)
        exit(EXIT_SUCCESS);
    peer->len += (size_t)n;
    while ((newline = memchr(start, '\n',
                             peer->len - (size_t)(start - peer->input)))) {
        take_line(peer, start, (size_t)(newline - start), came_ns);
        start = newline + 1;
    }
    peer->len -= (size_t)(start - peer->input);
    memmove(peer->input, start, peer->len);
}

/* ---- the command line ---------------------------------------------------- */

/* Return the text after mark in one of the arguments; NULL if none contains
 * it. */
static const char *find_option(char **argv, const char *mark)
{
    for (; *argv; argv++) {
        const char *found = strstr(*argv, mark);

        if (found)
            return found + strlen(mark);
    }
    return NULL;
}

static struct peer open_peer(char **argv, const char *mark,
                             void (*take)(struct peer *, json_t *, int64_t))
{
    const char *number = find_option(argv, mark);
    struct peer peer = { .take = take, .input = malloc(MAX_INPUT) };

    if (!number || !peer.input)
        fail(mark);
    peer.fd = atoi(number);
    return peer;
}

/* Connect as the front-end that the daemon waits for. */
static void connect_daemon(char **argv)
{
    const char *path = find_option(argv, "id=fs0,path=");
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (!path || fd < 0)
        fail("the daemon's socket");
    strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        fail(path);
}

int main(int argc, char **argv)
{
    struct peer peers[] = {
        open_peer(argv, "id=control,fd=", take_control),
        open_peer(argv, "id=qmp,fd=", take_monitor),
    };

    connect_daemon(argv);
    send_text(peers[1].fd, "{\"QMP\":{\"version\":{},\"capabilities\":[]}}\n");
    send_text(peers[0].fd, "{\"type\":\"" WIRE_HELLO "\",\"version\":1}\n");
    for (;;) {
        struct pollfd fds[] = { { peers[0].fd, POLLIN, 0 },
                                { peers[1].fd, POLLIN, 0 } };

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            fail("poll");
        for (int i = 0; i < 2; i++) {
            if (fds[i].revents)
                serve(&peers[i]);
        }
    }
}
