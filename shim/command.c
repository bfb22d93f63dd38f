/* SPDX-License-Identifier: Apache-2.0
 *
 * command - see command.h; spawn.c holds what happens in the child.
 */
#include "shim/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/utf8.h"
#include "shim/wire.h"

/* Bytes of output in one message; escaped at worst they are six times that,
 * and the rest of the message is short. */
#define CHUNK_SIZE    (16 * 1024)
#define CHUNK_ROOM    (JSON_WRITER_WORST(CHUNK_SIZE) + 256)
#define KILL_AGAIN_MS 100

_Static_assert(CHUNK_ROOM <= PORT_OUT_SIZE - PORT_RESERVE,
               "a chunk must fit into the port's buffer");
_Static_assert(CHUNK_ROOM <= WIRE_MAX_LINE, "a chunk must fit into a line");

static const char *const stream_names[COMMAND_STREAMS] = { "stdout", "stderr" };

static void send_started(struct port *port, int64_t id)
{
    struct json_writer writer;

    port_begin(port, &writer);
    json_writer_add_string(&writer, "type", WIRE_STEP_STARTED);
    json_writer_add_integer(&writer, "id", id);
    port_end(port, &writer);
}

static void send_output(struct port *port, int64_t id, const char *stream,
                        const void *data, size_t len)
{
    bool text = !memchr(data, '\0', len) && utf8_is_valid(data, len);
    struct json_writer writer;

    port_begin(port, &writer);
    json_writer_add_string(&writer, "type", WIRE_OUTPUT);
    json_writer_add_integer(&writer, "id", id);
    json_writer_add_string(&writer, "stream", stream);
    if (text) {
        json_writer_add_text(&writer, "data", data, len);
    } else {
        json_writer_add_string(&writer, "encoding", "base64");
        json_writer_add_base64(&writer, "data", data, len);
    }
    port_end(port, &writer);
}

static void send_completed(struct port *port, int64_t id, int status,
                           bool has_processes)
{
    struct json_writer writer;

    port_begin(port, &writer);
    json_writer_add_string(&writer, "type", WIRE_STEP_COMPLETED);
    json_writer_add_integer(&writer, "id", id);
    if (WIFSIGNALED(status)) {
        json_writer_add_integer(&writer, "exit_code", 128 + WTERMSIG(status));
        json_writer_add_integer(&writer, "signal", WTERMSIG(status));
    } else {
        json_writer_add_integer(&writer, "exit_code", WEXITSTATUS(status));
    }
    json_writer_add_integer(&writer, "processes", has_processes);
    port_end(port, &writer);
}

static int make_pipes(int pipes[COMMAND_STREAMS][2])
{
    for (size_t i = 0; i < COMMAND_STREAMS; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) < 0) {
            int error = errno;

            while (i-- > 0) {
                close(pipes[i][0]);
                close(pipes[i][1]);
            }
            return -error;
        }
        fcntl(pipes[i][0], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

int command_start(struct command *command, const struct spawn_request *request,
                  struct process_home *home, struct port *port)
{
    int pipes[COMMAND_STREAMS][2];
    struct process_set processes;
    int result = make_pipes(pipes);
    pid_t pid;

    if (result)
        return result;
    pid = process_set_fork(home, &processes);
    if (pid == 0)
        spawn_exec(request, pipes[0][1], pipes[1][1]);
    for (size_t i = 0; i < COMMAND_STREAMS; i++)
        close(pipes[i][1]);
    if (pid < 0) {
        close(pipes[0][0]);
        close(pipes[1][0]);
        return pid;
    }
    *command = (struct command){
        .state = COMMAND_RUNNING,
        .id = request->id,
        .pid = pid,
        .streams = { { .fd = pipes[0][0] }, { .fd = pipes[1][0] } },
        .processes = processes,
    };
    send_started(port, request->id);
    return 0;
}

bool command_cancel(struct command *command, int64_t id, int64_t now_ms)
{
    if (command->pid == 0 || command->id != id)
        return false;
    /* The host had not read yet how it ended. */
    if (command->state == COMMAND_NONE || command->cancelled)
        return true;
    command->cancelled = true;
    command->next_kill_ms = now_ms + WIRE_CANCEL_GRACE_MS;
    /* Its end waits for those it left in the background, then. */
    if (command->state == COMMAND_DRAINING)
        command->state = COMMAND_DYING;
    process_set_signal(&command->processes, SIGTERM);
    /* One that is stopped sees SIGTERM only when it goes on. */
    process_set_signal(&command->processes, SIGCONT);
    return true;
}

/* Over: note how much was written before this moment. */
static void begin_drain(struct command *command)
{
    command->state = COMMAND_DRAINING;
    for (size_t i = 0; i < COMMAND_STREAMS; i++) {
        struct command_stream *stream = &command->streams[i];
        int waiting = 0;

        if (stream->fd >= 0 && ioctl(stream->fd, FIONREAD, &waiting) == 0)
            stream->drain_left = (size_t)waiting;
    }
}

void command_note_exit(struct command *command, pid_t pid, int status)
{
    if (command->state != COMMAND_RUNNING || pid != command->pid)
        return;
    command->status = status;
    if (command->cancelled)
        command->state = COMMAND_DYING;
    else
        begin_drain(command);
}

static bool stream_wants(const struct command *command,
                         const struct command_stream *stream)
{
    return stream->fd >= 0 &&
           (command->state != COMMAND_DRAINING || stream->drain_left > 0);
}

size_t command_poll(const struct command *command, const struct port *port,
                    struct pollfd *fds)
{
    size_t count = 0;

    if (command->state == COMMAND_NONE || port_room(port) < CHUNK_ROOM)
        return 0;
    for (size_t i = 0; i < COMMAND_STREAMS; i++) {
        if (stream_wants(command, &command->streams[i]))
            fds[count++] = (struct pollfd){ command->streams[i].fd, POLLIN, 0 };
    }
    return count;
}

int64_t command_deadline_ms(const struct command *command)
{
    bool ending = command->state == COMMAND_RUNNING ||
                  command->state == COMMAND_DYING;

    return ending && command->cancelled ? command->next_kill_ms : -1;
}

/* Read a chunk and send it, bar a character that is cut at its end. Returns
 * false when there is nothing to read now. */
static bool pump_chunk(struct command *command, size_t index, struct port *port)
{
    struct command_stream *stream = &command->streams[index];
    unsigned char chunk[CHUNK_SIZE];
    size_t want = sizeof(chunk) - stream->tail_len, len;
    ssize_t got;

    if (command->state == COMMAND_DRAINING && want > stream->drain_left)
        want = stream->drain_left;
    memcpy(chunk, stream->tail, stream->tail_len);
    got = read(stream->fd, chunk + stream->tail_len, want);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        /* Someone else read the pipe: do not wait for what is gone. */
        stream->drain_left = 0;
        return false;
    }
    if (got <= 0) {
        close(stream->fd);
        stream->fd = -1;
        stream->drain_left = 0;
        return false;
    }
    if (command->state == COMMAND_DRAINING)
        stream->drain_left -= (size_t)got;
    len = stream->tail_len + (size_t)got;
    stream->tail_len = utf8_cut_tail(chunk, len);
    len -= stream->tail_len;
    memcpy(stream->tail, chunk + len, stream->tail_len);
    if (len > 0)
        send_output(port, command->id, stream_names[index], chunk, len);
    return true;
}

/* Both streams in turn, so that neither starves the other. */
static void pump(struct command *command, struct port *port)
{
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; i < COMMAND_STREAMS; i++) {
            if (port_room(port) < CHUNK_ROOM)
                return;
            if (stream_wants(command, &command->streams[i]))
                more |= pump_chunk(command, i, port);
        }
    }
}

/* Send what is left of the streams and the end; hand over open pipes. */
static void finish(struct command *command, struct process_home *home,
                   struct port *port, struct leftovers *leftovers)
{
    for (size_t i = 0; i < COMMAND_STREAMS; i++) {
        struct command_stream *stream = &command->streams[i];

        if (stream->tail_len > 0)
            send_output(port, command->id, stream_names[i], stream->tail,
                        stream->tail_len);
        if (stream->fd >= 0)
            leftovers_add(leftovers, stream->fd);
    }
    send_completed(port, command->id, command->status,
                   !process_set_is_empty(&command->processes));
    process_set_release(home, &command->processes);
    command->state = COMMAND_NONE;
}

static void advance_cancel(struct command *command, int64_t now_ms)
{
    if (now_ms >= command->next_kill_ms) {
        process_set_signal(&command->processes, SIGKILL);
        if (command->state == COMMAND_RUNNING)
            kill(command->pid, SIGKILL);
        command->next_kill_ms = now_ms + KILL_AGAIN_MS;
    }
    if (command->state == COMMAND_DYING &&
        process_set_is_empty(&command->processes))
        begin_drain(command);
}

void command_advance(struct command *command, struct process_home *home,
                     struct port *port, struct leftovers *leftovers,
                     int64_t now_ms)
{
    if (command->state == COMMAND_NONE)
        return;
    if (command->cancelled && command->state != COMMAND_DRAINING)
        advance_cancel(command, now_ms);
    pump(command, port);
    if (command->state == COMMAND_DRAINING &&
        !stream_wants(command, &command->streams[0]) &&
        !stream_wants(command, &command->streams[1]) &&
        port_room(port) >= CHUNK_ROOM)
        finish(command, home, port, leftovers);
}

void command_end_now(struct command *command)
{
    const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

    if (command->state != COMMAND_RUNNING && command->state != COMMAND_DYING)
        return;
    for (int i = 0; i < 50; i++) {
        process_set_signal(&command->processes, SIGKILL);
        nanosleep(&pause, NULL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        if (process_set_is_empty(&command->processes))
            return;
    }
}
