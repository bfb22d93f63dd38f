/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-mcp - lines to an MCP server, with Stepback's tools over a fake host.
 *
 * An input is what a client sends; a line "!" triggers a safeguard. Each line
 * of output must be a message of the protocol.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/mcp/mcp_guest.h"
#include "agent/mcp/mcp_service.h"
#include "common/log.h"

enum { MAX_TURNS = 4000, LONG_PATCH = 70000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int folder_fd = -1;
static struct mcp_state *service;

/* ---- a fake host --------------------------------------------------------- */

struct pending {
    struct reply reply;
    struct answer answer; /* empty: an error */
};

/* The running command: it continues until it is cancelled or times out. */
static struct pending *running;

static void answer_clear(struct answer *answer)
{
    if (answer->report)
        step_report_unref(answer->report);
    undo_result_free(answer->result);
    step_patch_free(answer->patch);
    *answer = (struct answer){ 0 };
}

static gboolean send_answer(gpointer data)
{
    struct pending *pending = data;
    const struct answer *answer = &pending->answer;
    bool ok = answer->report || answer->result || answer->patch;
    g_autoptr(GError) error = g_error_new_literal(
        STEPBACK_ERROR, ERROR_UNDO_BARRIER, "somebody was here");

    if (pending == running)
        running = NULL;
    reply_send(&pending->reply, &pending->answer, ok ? NULL : error);
    answer_clear(&pending->answer);
    g_free(pending);
    return G_SOURCE_REMOVE;
}

/* The answer's members are taken. */
static struct pending *answer_soon(struct answer answer, reply_done done,
                                   void *opaque)
{
    struct pending *pending = g_new0(struct pending, 1);

    pending->reply = (struct reply){ done, opaque };
    pending->answer = answer;
    g_idle_add(send_answer, pending);
    return pending;
}

static struct step_report *report(void)
{
    struct step_report *report = step_report_new();
    struct step_change *change = step_change_new();

    report->step_id = 1;
    report->type = g_strdup("command");
    report->exit_code = 0;
    report->undoable = true;
    change->path = g_strdup("a");
    change->directory = g_strdup("a/b %");
    g_ptr_array_add(report->changes, change);
    return report;
}

static struct undo_result *result(void)
{
    struct undo_result *result = undo_result_new();

    result->steps = step_report_list_new();
    g_ptr_array_add(result->steps, report());
    result->barriers = undo_barrier_list_new();
    result->last_step_id = 1;
    return result;
}

static void execute(void *host, struct command *command, mcp_host_output output,
                    reply_done done, void *opaque)
{
    const struct command_output texts[] = {
        { 1, 1, false, command->text, strlen(command->text) },
        { 1, 1, true, "\xff\n", 2 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        output(&texts[i], opaque);
    command_free(command);
    running = answer_soon((struct answer){ .report = report() }, done, opaque);
}

static void cancel(void *host)
{
    if (running)
        answer_clear(&running->answer);
}

static void write_file(void *host, struct folder_ref directory,
                       struct file_write *write, reply_done done, void *opaque)
{
    const struct session_event event = {
        .type = SESSION_EVENT_STEP_COMPLETED,
        .report = report(),
    };

    mcp_service_take_event(service, &event);
    file_write_free(write);
    answer_soon((struct answer){ .report = event.report }, done, opaque);
}

static void history(void *host, struct folder_ref directory, unsigned limit,
                    reply_done done, void *opaque)
{
    answer_soon((struct answer){ .result = result() }, done, opaque);
}

static void rollback(void *host, struct folder_ref directory,
                     const struct undo_extent *extent, reply_done done,
                     void *opaque)
{
    answer_soon((struct answer){ .result = extent->force ? result() : NULL },
                done, opaque);
}

static void restore(void *host, struct folder_ref directory,
                    const struct undo_extent *extent, const GPtrArray *paths,
                    reply_done done, void *opaque)
{
    answer_soon((struct answer){ .result = result() }, done, opaque);
}

static void diff(void *host, struct folder_ref directory,
                 const struct patch_request *request, reply_done done,
                 void *opaque)
{
    struct step_patch *part = g_new0(struct step_patch, 1);

    /* The second part is longer than the tool's limit. */
    part->step_id = request->step;
    part->cut = request->first == 0;
    part->next = request->first == 0 ? 1 : -1;
    part->text = g_string_new("+\xc3\xa4\n");
    if (request->first > 0)
        g_string_printf(part->text, "%*d", LONG_PATCH, 0);
    answer_soon((struct answer){ .patch = part }, done, opaque);
}

static const char *get_status(void *host, struct session_status *ret_status)
{
    static struct session_directory directories[] = {
        { .path = (char *)"/one",
          .label = (char *)"one",
          .tag = (char *)"working0",
          .guest_path = (char *)"/mnt/working/0" },
        { .path = (char *)"/two",
          .label = (char *)"a/b %",
          .tag = (char *)"working1",
          .guest_path = (char *)"/mnt/working/1" },
    };
    static GArray no_ports;
    static GPtrArray no_folders;
    static const struct session_config config = {
        .ports = &no_ports,
        .copy_folders = &no_folders,
        .directories = { &directories[0], &directories[1] },
        .n_directories = 2,
        .image = (char *)"none",
    };

    *ret_status = (struct session_status){ .state = SESSION_RUNNING,
                                           .config = &config };
    return NULL;
}

/* The session that the executions, ports and copies use does not run: it
 * refuses all of them. */
static struct session *session;

static void ready(void *host, reply_done done, void *opaque)
{
    done(NULL, NULL, opaque);
}

static struct session *get_session(void *host)
{
    return session;
}

static char *instructions(void *host)
{
    struct session_status status;

    get_status(host, &status);
    return mcp_guest_instructions(status.config);
}

static int folder(void *host, struct folder_ref directory, GError **error)
{
    return folder_fd;
}

static void decide(void *host, const char *safeguard_id, bool allow,
                   bool always)
{
}

static const struct mcp_host host = {
    .execute = execute,
    .cancel = cancel,
    .write_file = write_file,
    .history = history,
    .rollback = rollback,
    .restore = restore,
    .redo = rollback,
    .diff = diff,
    .ready = ready,
    .session = get_session,
    .instructions = instructions,
    .get_status = get_status,
    .folder_fd = folder,
    .decide = decide,
};

/* "!": request a further decision; "?": the first one is made elsewhere. */
static void trigger(const char *type, unsigned number)
{
    json_t *payload = json_pack("{s:o, s:s, s:s, s:[s], s:i}", "safeguard_id",
                                json_sprintf("s%u", number), "message", "much",
                                "directory", "one", "sample_paths", "a",
                                "timeout_seconds", 5);

    const struct session_event event = { .type = SESSION_EVENT_RELAYED,
                                         .name = type,
                                         .payload = payload };

    mcp_service_take_event(service, &event);
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
    session = session_new("error", NULL, NULL);
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
        shutdown(pair[1], SHUT_WR); /* and waits for its replies */
    turn(pair[1], input);
    mcp_service_close(service);
    turn(pair[1], input);
    mcp_service_free(service);
    close(pair[1]);
    return 0;
}
