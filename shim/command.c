/* SPDX-License-Identifier: Apache-2.0
 *
 * command - see command.h.
 */
#include "shim/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/environment.h"
#include "shim/leftovers.h"
#include "shim/process_tree.h"

enum {
    EXIT_CANNOT_START = 126,
    EXIT_NO_SHELL = 127,
    CANCEL_POLL_MS = 20, /* the end of a stranger's process is no event */
};

static const char *const stream_names[COMMAND_STREAMS] = { WIRE_STDOUT,
                                                           WIRE_STDERR };

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* In the command's process; its stderr is in place. */
static void child_fail(int exit_code, const char *what, const char *name)
{
    dprintf(STDERR_FILENO, "stepback-shim: cannot %s %s: %s\n", what, name,
            strerror(errno));
    _exit(exit_code);
}

/* The shim's own arrangements must not be inherited: execve keeps the signal
 * mask and what is ignored. */
static void child_reset_signals(void)
{
    sigset_t none;

    for (int signal = 1; signal < NSIG; signal++)
        sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void child_run(const char *text, const char *cwd, const int *outputs)
{
    const char *argv[] = { "/bin/sh", "-c", text, NULL };
    int entered = process_tree_add(0), null_fd;

    setsid();
    child_reset_signals();
    umask(022);
    dup2(outputs[1], STDERR_FILENO);
    dup2(outputs[0], STDOUT_FILENO);
    if (entered < 0) {
        errno = -entered;
        child_fail(EXIT_CANNOT_START, "enter", "the command's cgroup");
    }
    null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null_fd < 0)
        child_fail(EXIT_CANNOT_START, "open", "/dev/null");
    dup2(null_fd, STDIN_FILENO);
    if (chdir(cwd) < 0)
        child_fail(EXIT_CANNOT_START, "enter the working directory", cwd);
    execve(argv[0], (char **)argv, environment_get());
    child_fail(errno == ENOENT ? EXIT_NO_SHELL : EXIT_CANNOT_START, "run",
               errno == E2BIG ? "a command of this length" : argv[0]);
}

static void say_started(int64_t id, struct port *port)
{
    json_writer_integer(port_begin(port, WIRE_STEP_STARTED), "id", id);
    port_send(port);
}

static void say_completed(const struct command *command, struct port *port)
{
    struct json_writer *writer = port_begin(port, WIRE_STEP_COMPLETED);
    int status = command->status;

    json_writer_integer(writer, "id", command->id);
    if (WIFSIGNALED(status)) {
        json_writer_integer(writer, "exit_code", 128 + WTERMSIG(status));
        json_writer_integer(writer, "signal", WTERMSIG(status));
    } else {
        json_writer_integer(writer, "exit_code", WEXITSTATUS(status));
    }
    port_send(port);
}

/* No process could be made (no memory, no pids, no fds): the step ends as it
 * would if the process had failed before execve. */
static void fail_start(struct command *command, int error, struct port *port)
{
    struct json_writer *writer = port_begin(port, WIRE_OUTPUT);
    char line[160];

    snprintf(line, sizeof(line), "stepback-shim: cannot start a process: %s\n",
             strerror(error));
    json_writer_integer(writer, "id", command->id);
    json_writer_string(writer, "stream", WIRE_STDERR);
    json_writer_string(writer, "data", line);
    port_send(port);
    command->status = W_EXITCODE(EXIT_CANNOT_START, 0);
    say_completed(command, port);
}

static int open_streams(struct command *command, int *outputs)
{
    for (int i = 0; i < COMMAND_STREAMS; i++) {
        outputs[i] = stream_open(&command->streams[i], stream_names[i]);
        if (outputs[i] < 0) {
            int error = outputs[i];

            while (i-- > 0) {
                close(outputs[i]);
                close(stream_release(&command->streams[i]));
            }
            return error;
        }
    }
    return 0;
}

void command_start(struct command *command, int64_t id, const char *text,
                   const char *cwd, struct port *port)
{
    int outputs[COMMAND_STREAMS], error;

    command->id = id;
    say_started(id, port);
    error = open_streams(command, outputs);
    if (error < 0) {
        fail_start(command, -error, port);
        return;
    }
    process_tree_begin();
    command->pid = fork();
    error = errno;
    if (command->pid == 0)
        child_run(text, cwd, outputs);
    for (int i = 0; i < COMMAND_STREAMS; i++) {
        close(outputs[i]);
        if (command->pid < 0)
            close(stream_release(&command->streams[i]));
    }
    if (command->pid < 0) {
        fail_start(command, error, port);
        return;
    }
    process_tree_add(command->pid);
    command->state = COMMAND_RUNNING;
}

/* A stopped process takes SIGTERM only when it goes on. */
void command_cancel(struct command *command)
{
    if (command->state == COMMAND_CANCELLING)
        return;
    command->state = COMMAND_CANCELLING;
    command->kill_time = now_ms() + WIRE_CANCEL_GRACE_MS;
    process_tree_signal(SIGTERM);
    process_tree_signal(SIGCONT);
}

void command_kill(struct command *command)
{
    if (command->state == COMMAND_IDLE)
        return;
    command->state = COMMAND_CANCELLING;
    command->kill_time = now_ms();
    process_tree_signal(SIGKILL);
}

void command_reaped(struct command *command, pid_t pid, int status)
{
    if (command->state == COMMAND_IDLE || pid != command->pid)
        return;
    command->pid = 0;
    command->status = status;
}

int command_poll(const struct command *command, const struct port *port,
                 struct pollfd *polls)
{
    int count = 0;

    if (command->state == COMMAND_IDLE || port_room(port) < STREAM_ROOM)
        return 0;
    for (int i = 0; i < COMMAND_STREAMS; i++) {
        if (command->streams[i].fd >= 0)
            polls[count++] = (struct pollfd){ .fd = command->streams[i].fd,
                                              .events = POLLIN };
    }
    return count;
}

static void advance_cancel(struct command *command)
{
    if (command->kill_time <= now_ms())
        process_tree_signal(SIGKILL);
}

static bool has_ended(const struct command *command)
{
    return command->pid == 0 &&
           (command->state == COMMAND_RUNNING || process_tree_is_empty());
}

static void begin_drain(struct command *command)
{
    command->state = COMMAND_DRAINING;
    for (int i = 0; i < COMMAND_STREAMS; i++)
        command->undrained[i] = stream_ready(&command->streams[i]);
}

/* True when all is sent. */
static bool drain(struct command *command, struct port *port)
{
    for (int i = 0; i < COMMAND_STREAMS; i++) {
        struct stream *stream = &command->streams[i];

        while (command->undrained[i] > 0) {
            size_t sent;

            if (port_room(port) < STREAM_ROOM)
                return false;
            sent = stream_pump(stream, command->undrained[i], command->id,
                               port);
            command->undrained[i] = sent ? command->undrained[i] - sent : 0;
        }
    }
    return port_room(port) >= STREAM_ROOM;
}

static void complete(struct command *command, struct port *port)
{
    for (int i = 0; i < COMMAND_STREAMS; i++) {
        stream_flush(&command->streams[i], command->id, port);
        leftovers_add(stream_release(&command->streams[i]));
    }
    say_completed(command, port);
    command->state = COMMAND_IDLE;
}

void command_advance(struct command *command, struct port *port)
{
    if (command->state == COMMAND_IDLE)
        return;
    if (command->state == COMMAND_CANCELLING)
        advance_cancel(command);
    if (command->state != COMMAND_DRAINING && has_ended(command))
        begin_drain(command);
    if (command->state == COMMAND_DRAINING) {
        if (drain(command, port))
            complete(command, port);
        return;
    }
    for (int i = 0; i < COMMAND_STREAMS; i++) {
        if (port_room(port) >= STREAM_ROOM)
            stream_pump(&command->streams[i], WIRE_OUTPUT_MAX, command->id,
                        port);
    }
}

int command_timeout(const struct command *command, const struct port *port)
{
    if (command->state == COMMAND_DRAINING && port_room(port) >= STREAM_ROOM)
        return 0;
    return command->state == COMMAND_CANCELLING ? CANCEL_POLL_MS : -1;
}
