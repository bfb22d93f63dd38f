/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback-shim - runs the host's commands in the guest (see wire.h).
 *
 * One thread, one poll loop. Each round: take what the kernel has (ended
 * children, input, output of the command), do what can be done, write what
 * the port takes. Whoever wants to send looks at port_room() first and leaves
 * its source unread otherwise, so a host that does not read stops the command
 * and not the shim; cancel still works then, because input is read as long as
 * there is room for one small answer.
 *
 * After the start nothing allocates: all buffers are static. As PID 1 it never
 * returns, because the kernel panics when init ends.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "shim/command.h"
#include "shim/environment.h"
#include "shim/json_reader.h"
#include "shim/leftovers.h"
#include "shim/mounts.h"
#include "shim/port.h"
#include "shim/power.h"
#include "shim/process_tree.h"
#include "shim/wire.h"

#define DEFAULT_CGROUP "/sys/fs/cgroup/stepback"

enum {
    /* Kept free of command output, so that answers always find room. */
    INPUT_ROOM = 2 * PORT_SMALL_MESSAGE,
    HUNG_UP_POLL_MS = 100,
};

static struct port port;
static struct command command;
static struct json_reader reader;
static bool stopping;

static void send_error(bool has_id, int64_t id, const char *message)
{
    struct json_writer *writer = port_begin(&port, WIRE_ERROR);

    if (has_id)
        json_writer_integer(writer, "id", id);
    json_writer_string(writer, "message", message);
    port_send(&port);
}

static void on_hello(const struct json_node *message)
{
    struct json_writer *writer = port_begin(&port, WIRE_HELLO);
    struct utsname system;

    uname(&system);
    json_writer_integer(writer, "version", WIRE_VERSION);
    json_writer_string(writer, "shim_version", PACKAGE_VERSION);
    json_writer_string(writer, "kernel", system.release);
    port_send(&port);
}

static void on_exec(const struct json_node *message)
{
    const struct json_node *cwd_node = json_reader_member(&reader, message,
                                                          "cwd");
    const char *text = json_reader_string(&reader, message, "command");
    const char *cwd = WIRE_DEFAULT_CWD, *error = NULL;
    int64_t id = 0;
    bool has_id = json_reader_integer(&reader, message, "id", &id);

    if (cwd_node)
        cwd = cwd_node->kind == JSON_STRING ? cwd_node->string : NULL;
    if (!has_id)
        error = "exec needs a whole number as id";
    else if (!text)
        error = "exec needs a string as command";
    else if (!cwd)
        error = "cwd must be a string";
    else if (command.state != COMMAND_IDLE)
        error = "a command is running";
    else
        error = environment_build(&reader,
                                  json_reader_member(&reader, message, "env"));
    if (error)
        send_error(has_id, id, error);
    else
        command_start(&command, id, text, cwd, &port);
}

static void on_cancel(const struct json_node *message)
{
    int64_t id = 0;

    if (!json_reader_integer(&reader, message, "id", &id))
        send_error(false, 0, "cancel needs a whole number as id");
    else if (command.state == COMMAND_IDLE || command.id != id)
        send_error(true, id, "no command with this id is running");
    else
        command_cancel(&command);
}

static void on_rollback_notify(const struct json_node *message)
{
    int64_t step_id;

    if (!json_reader_integer(&reader, message, "step_id", &step_id)) {
        send_error(false, 0, "rollback_notify needs a whole number as step_id");
        return;
    }
    json_writer_integer(port_begin(&port, WIRE_ROLLBACK_NOTED), "step_id",
                        step_id);
    port_send(&port);
}

static void on_mount(const struct json_node *message)
{
    const struct json_node *read_only = json_reader_member(&reader, message,
                                                           "read_only");
    const char *fstype = json_reader_string(&reader, message, "fstype");
    struct mounts_request request = {
        .tag = json_reader_string(&reader, message, "tag"),
        .path = json_reader_string(&reader, message, "path"),
        .fstype = fstype ? fstype : WIRE_DEFAULT_FSTYPE,
        .read_only = read_only && read_only->kind != JSON_FALSE,
    };
    struct json_writer *writer;
    const char *error;

    if (!request.tag || !request.path) {
        send_error(false, 0, "mount needs strings as tag and path");
        return;
    }
    error = mounts_begin(&request);
    if (!error)
        return;
    request.tag = strlen(request.tag) > WIRE_TAG_MAX ? "" : request.tag;
    writer = port_begin(&port, WIRE_MOUNTED);
    json_writer_string(writer, "tag", request.tag);
    json_writer_string(writer, "status", WIRE_STATUS_ERROR);
    json_writer_string(writer, "message", error);
    port_send(&port);
}

static void on_shutdown(const struct json_node *message)
{
    stopping = true;
}

static const struct {
    const char *type;
    void (*handle)(const struct json_node *message);
} handlers[] = {
    { WIRE_HELLO, on_hello },   { WIRE_EXEC, on_exec },
    { WIRE_CANCEL, on_cancel }, { WIRE_ROLLBACK_NOTIFY, on_rollback_notify },
    { WIRE_MOUNT, on_mount },   { WIRE_SHUTDOWN, on_shutdown },
};

static void dispatch(const struct json_node *message)
{
    const char *type = json_reader_string(&reader, message, "type");
    int64_t id = 0;
    bool has_id;

    for (size_t i = 0; type && i < sizeof(handlers) / sizeof(handlers[0]);
         i++) {
        if (strcmp(type, handlers[i].type) == 0) {
            handlers[i].handle(message);
            return;
        }
    }
    has_id = json_reader_integer(&reader, message, "id", &id);
    send_error(has_id, id,
               type ? "the type is unknown" : "a message needs a type");
}

static void handle_lines(void)
{
    char *line;
    size_t length;

    while (!stopping && port_room(&port) >= INPUT_ROOM) {
        switch (port_next_line(&port, &line, &length)) {
        case PORT_LINE_NONE:
            return;
        case PORT_LINE_TOO_LONG:
            send_error(false, 0, "a line is longer than 1 MiB");
            break;
        case PORT_LINE_OK:
            if (!json_reader_parse(&reader, line, length))
                send_error(false, 0, reader.error);
            else
                dispatch(&reader.nodes[0]);
        }
    }
}

static void reap_children(int signal_fd)
{
    struct signalfd_siginfo info;
    pid_t pid;
    int status;

    while (read(signal_fd, &info, sizeof(info)) > 0)
        ;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        command_reaped(&command, pid, status);
        mounts_reaped(pid, status);
    }
}

/* How long poll() may sleep. Work that waited for room in the output buffer
 * has no fd to wake it, so with room it is due at once. */
static int next_timeout(void)
{
    int timeout = command_timeout(&command, &port);

    if (port_room(&port) >= INPUT_ROOM &&
        (mounts_have_answers() || port_has_line(&port)))
        return 0;
    if (port_is_hung_up(&port) && (timeout < 0 || timeout > HUNG_UP_POLL_MS))
        timeout = HUNG_UP_POLL_MS;
    return timeout;
}

/* One round; false when the port is gone. */
static bool run_once(int signal_fd)
{
    struct pollfd polls[2 + COMMAND_STREAMS + LEFTOVERS_MAX];
    int commands, leftovers, error = 0;
    bool input = port_room(&port) >= INPUT_ROOM;

    polls[0] = (struct pollfd){ .fd = signal_fd, .events = POLLIN };
    polls[1] = (struct pollfd){
        .fd = port_is_hung_up(&port) ? -1 : port.fd,
        .events = (short)((input ? POLLIN : 0) |
                          (port_has_output(&port) ? POLLOUT : 0)),
    };
    commands = command_poll(&command, &port, polls + 2);
    leftovers = leftovers_poll(polls + 2 + commands);
    poll(polls, (nfds_t)(2 + commands + leftovers), next_timeout());

    reap_children(signal_fd);
    leftovers_drain(polls + 2 + commands, leftovers);
    if (polls[1].revents & POLLHUP)
        port_hang_up(&port);
    if (input)
        error = port_read(&port);
    handle_lines();
    mounts_answer(&port);
    command_advance(&command, &port);
    return port_flush(&port) == 0 && error == 0;
}

static int open_signals(void)
{
    sigset_t signals;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* As an ordinary process: leave nothing of the command behind. */
static void end_command(int signal_fd)
{
    while (command.state != COMMAND_IDLE) {
        struct pollfd wait = { .fd = signal_fd, .events = POLLIN };

        command_kill(&command);
        poll(&wait, 1, 20);
        reap_children(signal_fd);
        if (command.pid == 0 && process_tree_is_empty())
            command.state = COMMAND_IDLE;
    }
}

static _Noreturn void usage(int status)
{
    dprintf(status ? STDERR_FILENO : STDOUT_FILENO,
            "usage: stepback-shim [--port=FD_OR_PATH] [--no-init] "
            "[--cgroup=DIR] [--version]\n");
    exit(status);
}

struct options {
    const char *port, *cgroup;
    bool is_init;
};

static void parse_options(int argc, char **argv, struct options *ret_options)
{
    static const struct option known[] = {
        { "port", required_argument, NULL, 'p' },
        { "no-init", no_argument, NULL, 'n' },
        { "cgroup", required_argument, NULL, 'c' },
        { "version", no_argument, NULL, 'V' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'p':
            ret_options->port = optarg;
            break;
        case 'n':
            ret_options->is_init = false;
            break;
        case 'c':
            ret_options->cgroup = optarg;
            break;
        case 'V':
            dprintf(STDOUT_FILENO, "%s\n", PACKAGE_VERSION);
            exit(0);
        default:
            usage(option == 'h' ? 0 : 2);
        }
    }
}

int main(int argc, char **argv)
{
    struct options options = { .port = WIRE_PORT_DEVICE,
                               .is_init = getpid() == 1 };
    int signal_fd, error;

    parse_options(argc, argv, &options);
    if (options.is_init && !options.cgroup)
        options.cgroup = DEFAULT_CGROUP;
    process_tree_init(options.cgroup);
    signal_fd = open_signals();
    error = port_open(&port, options.port);
    if (error < 0)
        dprintf(STDERR_FILENO, "stepback-shim: cannot open the port %s: %s\n",
                options.port, strerror(-error));
    if (error == 0) {
        on_hello(NULL);
        port_flush(&port);
        while (!stopping && run_once(signal_fd))
            ;
    }
    if (options.is_init)
        power_off();
    end_command(signal_fd);
    return error < 0 ? 1 : 0;
}
