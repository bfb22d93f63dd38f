/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-mcp - lines to an MCP server, with Stepback's tools over a host that
 * only pretends.
 *
 * An input is what a client sends; a line "!" has a safeguard triggered. Each
 * line that comes back must be a message of the protocol.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/mcp/mcp_service.h"
#include "common/log.h"

enum { MAX_TURNS = 4000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int folder_fd = -1;
static struct mcp_state *service;

/* ---- a host that pretends ------------------------------------------------ */

struct answer {
    struct reply reply;
    json_t *payload; /* NULL: an error */
};

/* The one command that runs: it goes on until it is cancelled or time. */
static struct answer *running;

static gboolean send_answer(gpointer data)
{
    struct answer *answer = data;
    g_autoptr(GError) error = g_error_new_literal(
        STEPBACK_ERROR, ERROR_UNDO_BARRIER, "somebody was here");

    if (answer == running)
        running = NULL;
    reply_send(&answer->reply, answer->payload, answer->payload ? NULL : error,
               NULL);
    json_decref(answer->payload);
    g_free(answer);
    return G_SOURCE_REMOVE;
}

static struct answer *answer_soon(json_t *payload, reply_done done,
                                  void *opaque)
{
    struct answer *answer = g_new0(struct answer, 1);

    answer->reply = (struct reply){ done, opaque };
    answer->payload = payload;
    g_idle_add(send_answer, answer);
    return answer;
}

static json_t *report(void)
{
    return json_pack("{s:i, s:s, s:i, s:b, s:[{s:s, s:s, s:s}], s:[s]}",
                     "step_id", 1, "type", "command", "exit_code", 0,
                     "undoable", 1, "changes", "path", "a", "change", "created",
                     "directory", "a/b %", "affected_paths", "a");
}

static void execute(void *host, struct command *command, mcp_host_output output,
                    reply_done done, void *opaque)
{
    const struct command_output texts[] = {
        { 1, false, command->text, strlen(command->text) },
        { 1, true, "\xff\n", 2 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        output(&texts[i], opaque);
    command_free(command);
    running = answer_soon(report(), done, opaque);
}

static void cancel(void *host)
{
    if (running)
        g_clear_pointer(&running->payload, json_decref);
}

static void write_file(void *host, json_t *directory, json_t *file,
                       reply_done done, void *opaque)
{
    json_t *step = report();

    mcp_service_take_event(service, "event.step_completed", step);
    json_decref(file);
    answer_soon(step, done, opaque);
}

static void history(void *host, json_t *directory, unsigned limit,
                    reply_done done, void *opaque)
{
    answer_soon(json_pack("{s:[o], s:[], s:i}", "steps", report(), "barriers",
                          "last_step_id", 1),
                done, opaque);
}

static void rollback(void *host, json_t *directory,
                     const struct undo_extent *extent, reply_done done,
                     void *opaque)
{
    answer_soon(extent->force ? json_pack("{s:[o]}", "steps", report()) : NULL,
                done, opaque);
}

static json_t *status(void *host)
{
    return json_pack("{s:s, s:n, s:[{s:s, s:s}, {s:s, s:s}]}", "state",
                     "running", "running_step", "working_directories", "label",
                     "one", "guest_path", "/mnt/working/0", "label", "a/b %",
                     "guest_path", "/mnt/working/1");
}

static int folder(void *host, json_t *directory, GError **error)
{
    return folder_fd;
}

static void decide(void *host, const char *safeguard_id, bool allow)
{
}

static const struct mcp_host host = {
    .execute = execute,
    .cancel = cancel,
    .write_file = write_file,
    .history = history,
    .rollback = rollback,
    .status = status,
    .folder_fd = folder,
    .decide = decide,
};

/* "!": another decision is asked for; "?": the first one is made elsewhere. */
static void trigger(const char *type, unsigned number)
{
    json_t *payload = json_pack("{s:o, s:s, s:s, s:[s], s:i}", "safeguard_id",
                                json_sprintf("s%u", number), "message", "much",
                                "directory", "one", "sample_paths", "a",
                                "timeout_seconds", 5);

    mcp_service_take_event(service, type, payload);
    json_decref(payload);
}

/* ---- the client ---------------------------------------------------------- */

static void check_message(json_t *message)
{
    const char *version = json_string_value(
        json_object_get(message, "jsonrpc"));

    if (g_strcmp0(version, "2.0") != 0)
        abort();
}

static void check_line(const char *line, size_t len)
{
    json_t *message = json_loadb(line, len, 0, NULL), *item;
    size_t i;

    if (!message)
        abort();
    if (json_is_object(message))
        check_message(message);
    json_array_foreach(message, i, item)
    {
        check_message(item);
    }
    json_decref(message);
}

static void read_lines(int fd, GString *input)
{
    char buffer[65536], *newline;
    ssize_t n;

    while ((n = read(fd, buffer, sizeof(buffer))) > 0)
        g_string_append_len(input, buffer, n);
    while ((newline = memchr(input->str, '\n', input->len))) {
        check_line(input->str, (size_t)(newline - input->str));
        g_string_erase(input, 0, newline + 1 - input->str);
    }
}

static void turn(int fd, GString *input)
{
    for (int i = 0; i < MAX_TURNS && g_main_context_iteration(NULL, FALSE); i++)
        read_lines(fd, input);
    read_lines(fd, input);
}

static void send_input(int fd, const char *data, size_t size, GString *input)
{
    unsigned asked = 0, decided = 0;

    while (size > 0) {
        const char *end = memchr(data, '\n', size);
        size_t len = end ? (size_t)(end - data) + 1 : size;

        if (len == 2 && *data == '!')
            trigger("event.safeguard_triggered", ++asked);
        else if (len == 2 && *data == '?')
            trigger("event.safeguard_decided", ++decided);
        else if (write(fd, data, len) < 0)
            abort();
        g_main_context_iteration(NULL, FALSE);
        read_lines(fd, input);
        data += len;
        size -= len;
    }
}

static void set_up(void)
{
    char path[] = "/tmp/fuzz-mcp-XXXXXX";

    log_set_level(LOG_LEVEL_NONE);
    if (!mkdtemp(path))
        abort();
    folder_fd = open(path, O_PATH | O_DIRECTORY);
    close(openat(folder_fd, "a", O_CREAT | O_WRONLY, 0644));
    if (mkdirat(folder_fd, "d", 0755) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GString) input = g_string_new(NULL);
    int pair[2];

    if (folder_fd < 0)
        set_up();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
        abort();
    service = mcp_service_new(&host, NULL, 0);
    mcp_server_add(mcp_service_server(service), pair[0], pair[0], NULL, NULL);
    send_input(pair[1], (const char *)data, size, input);
    if (size % 2)
        shutdown(pair[1], SHUT_WR); /* and waits for its answers */
    turn(pair[1], input);
    mcp_service_close(service);
    turn(pair[1], input);
    mcp_service_free(service);
    close(pair[1]);
    return 0;
}
