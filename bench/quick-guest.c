/* SPDX-License-Identifier: Apache-2.0
 *
 * quick-guest - replaces QEMU with a guest of zero latency, to measure the
 * supervisor's overhead on a command.
 *
 * Accepts QEMU's command line and emulates the monitor and the shim. Each
 * command prints two times, CLOCK_MONOTONIC in ns: the arrival of its request,
 * and the sending of this output.
 *
 * With STEPBACK_BENCH_SHIM, the path of stepback-shim, the real shim runs, on
 * the host; only mounts are emulated.
 *
 * As "quick-guest --spawn" it is what a command costs without Stepback: it runs
 * `true` for each line on its standard input, and answers with a line.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/wire.h"

enum { MAX_INPUT = 2 << 20, MAX_RELAY = 1 << 16 };

extern char **environ;

struct peer {
    int fd;
    char *input; /* MAX_INPUT bytes */
    size_t len;
    int shim; /* a socket to the real shim; -1: none */
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

static void send_bytes(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t put = send(fd, bytes, len, MSG_NOSIGNAL);

        if (put < 0)
            fail("send");
        bytes += put;
        len -= (size_t)put;
    }
}

static void send_text(int fd, const char *text)
{
    send_bytes(fd, text, strlen(text));
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

/* Connect as the front-end that a daemon waits for. */
static void connect_daemon(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (fd < 0)
        fail("a socket");
    strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        fail(path);
}

/* The path of the socket in "chardev-add"; NULL if it is another command. */
static const char *socket_path(json_t *message)
{
    const char *path = NULL;

    json_unpack(message, "{s:{s:{s:{s:{s:{s:s}}}}}}", "arguments", "backend",
                "data", "addr", "data", "path", &path);
    return path;
}

static void take_monitor(struct peer *peer, json_t *message, int64_t came_ns)
{
    const char *name = json_string_value(json_object_get(message, "execute"));
    const char *path = socket_path(message);
    json_int_t id = json_integer_value(json_object_get(message, "id"));

    if (path)
        connect_daemon(path);
    if (id)
        send_line(peer->fd, "{\"return\":{},\"id\":%" JSON_INTEGER_FORMAT "}\n",
                  id);
    else
        send_text(peer->fd, "{\"return\":{}}\n");
    if (name && strcmp(name, "quit") == 0)
        exit(EXIT_SUCCESS);
}

/* ---- the real shim ------------------------------------------------------- */

/* Start the shim with the bulk port of QEMU's command line. Return the socket
 * of its control port. */
static int start_shim(const char *program, const char *bulk)
{
    char port[32], copies[32];
    int ends[2];

    if (!bulk || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        fail(program);
    snprintf(port, sizeof(port), "--port=%d", ends[1]);
    snprintf(copies, sizeof(copies), "--bulk=%d", atoi(bulk));
    if (fork() == 0) {
        close(ends[0]);
        execl(program, program, port, copies, "--no-init", NULL);
        _exit(127);
    }
    close(ends[1]);
    return ends[0];
}

/* Return true if the line is a message for the shim. */
static bool is_relayed(const struct peer *peer, const char *line, size_t len)
{
    return peer->shim >= 0 &&
           !memmem(line, len, "\"" WIRE_MOUNT "\"", strlen(WIRE_MOUNT) + 2) &&
           !memmem(line, len, "\"" WIRE_SHUTDOWN "\"",
                   strlen(WIRE_SHUTDOWN) + 2);
}

static void relay_shim(const struct peer *control)
{
    static char bytes[MAX_RELAY];
    ssize_t got = recv(control->shim, bytes, sizeof(bytes), 0);

    if (got <= 0)
        exit(EXIT_SUCCESS);
    send_bytes(control->fd, bytes, (size_t)got);
}

/* ---- lines --------------------------------------------------------------- */

static void take_line(struct peer *peer, const char *line, size_t len,
                      int64_t came_ns)
{
    json_t *message;

    if (is_relayed(peer, line, len)) {
        send_bytes(peer->shim, line, len + 1);
        return;
    }
    message = json_loadb(line, len, 0, NULL);
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
    struct peer peer = { .take = take, .input = malloc(MAX_INPUT), .shim = -1 };

    if (!number || !peer.input)
        fail(mark);
    peer.fd = atoi(number);
    return peer;
}

/* Answer each line after a run of `true`. */
static int serve_spawns(void)
{
    char name[] = "true", *words[] = { name, NULL };
    char byte;

    while (read(STDIN_FILENO, &byte, 1) == 1) {
        pid_t pid;

        if (posix_spawnp(&pid, words[0], NULL, NULL, words, environ) != 0 ||
            waitpid(pid, NULL, 0) != pid || write(STDOUT_FILENO, "\n", 1) != 1)
            fail(words[0]);
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *shim = getenv("STEPBACK_BENCH_SHIM");
    struct peer peers[2];

    if (argc == 2 && strcmp(argv[1], "--spawn") == 0)
        return serve_spawns();
    peers[0] = open_peer(argv, "id=control,fd=", take_control);
    peers[1] = open_peer(argv, "id=qmp,fd=", take_monitor);
    send_text(peers[1].fd, "{\"QMP\":{\"version\":{},\"capabilities\":[]}}\n");
    if (shim)
        peers[0].shim = start_shim(shim, find_option(argv, "id=bulk,fd="));
    else
        send_text(peers[0].fd, "{\"type\":\"" WIRE_HELLO
                               "\",\"version\":1,\"plugs_folders\":1}\n");
    for (;;) {
        struct pollfd fds[] = { { peers[0].fd, POLLIN, 0 },
                                { peers[1].fd, POLLIN, 0 },
                                { peers[0].shim, POLLIN, 0 } };

        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            fail("poll");
        for (int i = 0; i < 2; i++) {
            if (fds[i].revents)
                serve(&peers[i]);
        }
        if (fds[2].revents)
            relay_shim(&peers[0]);
    }
}
