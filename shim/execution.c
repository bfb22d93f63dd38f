/* SPDX-License-Identifier: Apache-2.0
 *
 * execution - see execution.h; spawn.c has the code of the child.
 */
#include "shim/execution.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/oom_count.h"
#include "shim/terminal.h"
#include "shim/wire.h"

#define KILL_AGAIN_MS 100

/* ---- the start ----------------------------------------------------------- */

static void send_started(struct port *port, int64_t id)
{
    port_send(port, json_pack("{s:s, s:I}", "type", WIRE_STEP_STARTED, "id",
                              (json_int_t)id));
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* Pipes between the shim and a command; the shim's ends are non-blocking. */
struct pipes {
    int out[2], err[2], in[2];
};

static void close_pipes(const struct pipes *pipes, int end)
{
    close_if_open(pipes->out[end]);
    close_if_open(pipes->err[end]);
    close_if_open(pipes->in[!end]);
}

static int make_pipes(struct pipes *pipes, bool has_input)
{
    *pipes = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
    if (pipe2(pipes->out, O_CLOEXEC) < 0 || pipe2(pipes->err, O_CLOEXEC) < 0 ||
        (has_input && pipe2(pipes->in, O_CLOEXEC) < 0)) {
        int error = errno;

        close_pipes(pipes, 0);
        close_pipes(pipes, 1);
        return -error;
    }
    fcntl(pipes->out[0], F_SETFL, O_NONBLOCK);
    fcntl(pipes->err[0], F_SETFL, O_NONBLOCK);
    if (has_input)
        fcntl(pipes->in[1], F_SETFL, O_WRONLY | O_NONBLOCK);
    return 0;
}

static void open_output(struct exec_output *output, const char *name, int fd)
{
    *output = (struct exec_output){ .name = name, .fd = fd };
}

/* Fork the first process. Returns in the child as well, which then calls
 * spawn_exec(). */
static int fork_first(struct execution *execution,
                      const struct spawn_request *request,
                      const struct spawn_streams *streams, int terminal,
                      struct process_home *home)
{
    struct leader_ends ends = { -1, -1 };
    int result;

    execution->has_leader = terminal >= 0 || !process_home_has_cgroups(home);
    if (execution->has_leader) {
        result = leader_open(&execution->leader, &ends);
        if (result)
            return result;
    }
    execution->pid = process_set_fork(home, request->id, &execution->processes);
    if (execution->pid == 0) {
        if (execution->has_leader)
            leader_begin(&ends, terminal);
        spawn_exec(request, streams);
    }
    if (execution->has_leader)
        leader_close_ends(&ends);
    if (execution->has_leader && execution->pid < 0)
        leader_release(&execution->leader);
    return execution->pid < 0 ? execution->pid : 0;
}

static int start_with_pipes(struct execution *execution,
                            const struct execution_request *request,
                            struct process_home *home)
{
    struct pipes pipes;
    int result = make_pipes(&pipes, request->has_input);
    struct spawn_streams streams;

    if (result)
        return result;
    streams = (struct spawn_streams){
        .in = pipes.in[0],
        .out = pipes.out[1],
        .err = pipes.err[1],
    };
    result = fork_first(execution, &request->spawn, &streams, -1, home);
    close_pipes(&pipes, 1);
    if (result) {
        close_pipes(&pipes, 0);
        return result;
    }
    open_output(&execution->outputs[0], WIRE_STDOUT, pipes.out[0]);
    open_output(&execution->outputs[1], WIRE_STDERR, pipes.err[0]);
    exec_input_open(&execution->input, pipes.in[1], false);
    return 0;
}

/* The input has its own fd, so that input and output each close one. */
static int start_with_terminal(struct execution *execution,
                               const struct execution_request *request,
                               struct process_home *home)
{
    const struct spawn_streams streams = { .connected = true, .in = -1 };
    int master = -1, slave = -1; /* set if the call succeeds */
    int result = terminal_open(request->rows, request->columns, &master,
                               &slave);

    if (result)
        return result;
    result = fork_first(execution, &request->spawn, &streams, slave, home);
    close(slave);
    if (result) {
        close(master);
        return result;
    }
    execution->has_terminal = true;
    open_output(&execution->outputs[0], WIRE_STDOUT, master);
    open_output(&execution->outputs[1], WIRE_STDERR, -1);
    exec_input_open(&execution->input, fcntl(master, F_DUPFD_CLOEXEC, 3), true);
    return 0;
}

int execution_start(struct execution *execution,
                    const struct execution_request *request,
                    const struct execution_context *context)
{
    int result;

    execution->reaped = execution->cancelled = execution->has_terminal = false;
    execution->credit = request->credit;
    execution->oom_before = oom_count();
    do {
        if (request->has_terminal)
            result = start_with_terminal(execution, request, context->home);
        else
            result = start_with_pipes(execution, request, context->home);
    } while (result == -ESTALE); /* at most once: cgroups do not work here */
    if (result)
        return result;
    execution->state = EXECUTION_RUNNING;
    execution->id = request->spawn.id;
    send_started(context->port, execution->id);
    return 0;
}

/* ---- signals and the end ------------------------------------------------- */

static void ask_to_end(const struct execution *execution)
{
    process_set_signal(&execution->processes, SIGTERM);
    /* A stopped process handles SIGTERM only after SIGCONT. */
    process_set_signal(&execution->processes, SIGCONT);
}

void execution_cancel(struct execution *execution, int64_t now_ms)
{
    /* The cancel was sent before the host received the execution's end. */
    if (execution->state == EXECUTION_NONE || execution->cancelled)
        return;
    execution->cancelled = true;
    execution->next_kill_ms = now_ms + WIRE_CANCEL_GRACE_MS;
    /* After the command's end, wait for its background processes. */
    if (execution->state != EXECUTION_RUNNING)
        execution->state = EXECUTION_DYING;
    ask_to_end(execution);
}

/* A terminal hangs up: its session's first process learns that, too, as in
 * disassociate_ctty() of the kernel. A shell then hangs up its jobs; else it
 * would go on when the one in front has died. */
static void hang_up(pid_t command)
{
    if (command > 0 && kill(-command, SIGHUP) == 0)
        kill(-command, SIGCONT);
}

int execution_signal(struct execution *execution, int number)
{
    pid_t command = execution->has_leader ? leader_command(&execution->leader)
                                          : execution->pid;
    pid_t group = command;

    if (execution->state != EXECUTION_RUNNING)
        return -ESRCH;
    if (execution->has_terminal)
        group = terminal_foreground(execution->outputs[0].fd);
    if (execution->has_terminal && group != command && number == SIGHUP)
        hang_up(command);
    if (group <= 0)
        return -ESRCH;
    if (kill(-group, number) == 0)
        return 0;
    /* A command that was just forked has no process group yet. */
    if (errno == ESRCH && !execution->has_terminal)
        return kill(group, number) < 0 ? -errno : 0;
    return -errno;
}

/* The command has ended: record how much output it had written by now. */
static void begin_drain(struct execution *execution)
{
    execution->state = EXECUTION_DRAINING;
    exec_input_close(&execution->input);
    for (size_t i = 0; i < EXECUTION_STREAMS; i++) {
        struct exec_output *output = &execution->outputs[i];
        int waiting = 0;

        /* No system call reports this for a terminal. Reading until it is
         * empty, limited to the size of its buffers, is as exact. */
        if (execution->has_terminal)
            waiting = TERMINAL_MOST_BUFFERED;
        else if (output->fd >= 0 && ioctl(output->fd, FIONREAD, &waiting) < 0)
            waiting = 0;
        exec_output_drain(output, (size_t)waiting);
    }
}

static void note_end(struct execution *execution, int status)
{
    execution->status = status;
    if (!execution->cancelled)
        begin_drain(execution);
    else
        execution->state = EXECUTION_DYING;
}

bool execution_note_exit(struct execution *execution, pid_t pid, int status)
{
    int reported;

    if (execution->state == EXECUTION_NONE || execution->reaped ||
        pid != execution->pid)
        return false;
    execution->reaped = true;
    if (execution->state != EXECUTION_RUNNING)
        return true;
    /* A killed leader may have reported the status before its end. */
    if (execution->has_leader &&
        leader_read_status(&execution->leader, &reported))
        status = reported;
    note_end(execution, status);
    return true;
}

/* ---- service ------------------------------------------------------------- */

size_t execution_poll(const struct execution *execution,
                      const struct port *port, struct pollfd *fds)
{
    size_t count = 0;

    if (execution->state == EXECUTION_NONE)
        return 0;
    for (size_t i = 0; i < EXECUTION_STREAMS; i++) {
        const struct exec_output *output = &execution->outputs[i];

        if (exec_output_wants(output, &execution->credit, port))
            fds[count++] = (struct pollfd){ output->fd, POLLIN, 0 };
    }
    if (exec_input_wants(&execution->input))
        fds[count++] = (struct pollfd){ execution->input.fd, POLLOUT, 0 };
    if (execution->has_leader && execution->state == EXECUTION_RUNNING)
        fds[count++] = (struct pollfd){ execution->leader.report, POLLIN, 0 };
    return count;
}

int64_t execution_deadline_ms(const struct execution *execution)
{
    bool ending = execution->state == EXECUTION_RUNNING ||
                  execution->state == EXECUTION_DYING;

    return ending && execution->cancelled ? execution->next_kill_ms : -1;
}

static void send_completed(const struct execution *execution, struct port *port)
{
    int status = execution->status;
    bool killed = WIFSIGNALED(status);
    uint64_t kills = oom_count() - execution->oom_before;
    json_t *message = json_pack(
        "{s:s, s:I, s:i, s:i}", "type", WIRE_STEP_COMPLETED, "id",
        (json_int_t)execution->id, "exit_code",
        killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status), "processes",
        (int)!process_set_is_empty(&execution->processes));

    if (killed)
        json_object_set_new(message, "signal", json_integer(WTERMSIG(status)));
    if (kills > 0)
        json_object_set_new(message, "oom_kills",
                            json_integer((json_int_t)kills));
    port_send(port, message);
}

/* Send the rest of the streams and the end; hand over open pipes to
 * leftovers. */
static void finish(struct execution *execution,
                   const struct execution_context *context)
{
    for (size_t i = 0; i < EXECUTION_STREAMS; i++) {
        struct exec_output *output = &execution->outputs[i];

        exec_output_finish(output, execution->id, context->port);
        if (output->fd >= 0 && execution->has_terminal)
            close(output->fd); /* hang-up: no process can write to it */
        else if (output->fd >= 0)
            leftovers_add(context->leftovers, output->fd);
        output->fd = -1;
    }
    exec_input_close(&execution->input);
    send_completed(execution, context->port);
    /* Not before: without a cgroup, what is left is known by its leader. */
    if (execution->has_leader)
        leader_release(&execution->leader);
    process_set_release(context->home, &execution->processes);
    execution->state = EXECUTION_NONE;
}

/* In a cgroup the leader is one of the execution's processes. */
static bool leader_is_counted(const struct execution *execution)
{
    return execution->has_leader && execution->processes.cgroup >= 0;
}

static void advance_cancel(struct execution *execution, int64_t now_ms)
{
    if (now_ms >= execution->next_kill_ms) {
        process_set_signal(&execution->processes, SIGKILL);
        if (!execution->reaped && !execution->has_leader)
            kill(execution->pid, SIGKILL);
        execution->next_kill_ms = now_ms + KILL_AGAIN_MS;
    }
    if (execution->state != EXECUTION_DYING)
        return;
    if (leader_is_counted(execution))
        leader_release(&execution->leader);
    if (process_set_is_empty(&execution->processes))
        begin_drain(execution);
}

/* Handle the leader's reports: the command's pid and its end. */
static void take_status(struct execution *execution)
{
    pid_t known = execution->leader.command;
    int status;
    bool ended;

    if (!execution->has_leader || execution->state != EXECUTION_RUNNING)
        return;
    ended = leader_read_status(&execution->leader, &status);
    /* The cancel may have arrived before the leader forked the command. */
    if (!known && execution->leader.command && execution->cancelled)
        ask_to_end(execution);
    if (ended)
        note_end(execution, status);
}

/* Release a leader that is counted after all output was read; the end is sent
 * only when the leader has ended. */
static void let_leader_go(struct execution *execution)
{
    if (!leader_is_counted(execution))
        return;
    if (execution->state == EXECUTION_DRAINING && !execution->reaped &&
        exec_output_is_drained(&execution->outputs[0]) &&
        exec_output_is_drained(&execution->outputs[1])) {
        leader_release(&execution->leader);
        execution->state = EXECUTION_LEAVING;
    } else if (execution->state == EXECUTION_LEAVING && execution->reaped) {
        execution->state = EXECUTION_DRAINING;
    }
}

static bool pump(struct execution *execution, struct port *port)
{
    bool more = false;

    for (size_t i = 0; i < EXECUTION_STREAMS; i++) {
        if (exec_output_wants(&execution->outputs[i], &execution->credit, port))
            more |= exec_output_pump(&execution->outputs[i], execution->id,
                                     &execution->credit, port);
    }
    return more;
}

bool execution_advance(struct execution *execution,
                       const struct execution_context *context, int64_t now_ms)
{
    bool more;

    if (execution->state == EXECUTION_NONE)
        return false;
    if (execution->cancelled && (execution->state == EXECUTION_RUNNING ||
                                 execution->state == EXECUTION_DYING))
        advance_cancel(execution, now_ms);
    exec_input_advance(&execution->input, execution->id, context->port);
    take_status(execution);
    more = pump(execution, context->port);
    let_leader_go(execution);
    if (execution->state == EXECUTION_DRAINING &&
        exec_output_is_drained(&execution->outputs[0]) &&
        exec_output_is_drained(&execution->outputs[1]) &&
        (!leader_is_counted(execution) || execution->reaped) &&
        exec_output_has_room(context->port))
        finish(execution, context);
    return more && execution->state != EXECUTION_NONE;
}
