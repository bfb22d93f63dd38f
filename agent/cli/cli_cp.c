/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_cp - "stepback cp": copy files between the host and a running sandbox.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_copy.h"
#include "agent/cli/cli_copy_place.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/client/api_link.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/unix_socket.h"

enum { ASK_MS = 60 * 1000 };

struct cp {
    bool ended, closed;
    gint64 skipped; /* in the guest */
    GError *error;  /* why it failed, as the supervisor says */
};

static void on_event(struct control_link *link, const char *type,
                     json_t *payload, void *opaque)
{
    struct cp *cp = opaque;
    /* The connection has one transfer. Its event can come with the answer to
     * the request. */
    json_t *error = json_object_get(payload, "error");
    const char *text = json_string_value(json_object_get(error, "message"));

    if (strcmp(type, "event.copy_completed") != 0 || cp->ended)
        return;
    cp->ended = true;
    cp->skipped = json_integer_value(json_object_get(payload, "skipped"));
    if (error)
        cp->error = g_error_new_literal(
            STEPBACK_ERROR,
            (int)json_integer_value(json_object_get(error, "number")),
            text ? text : "the supervisor gave no reason");
}

static void on_closed(struct control_link *link, void *opaque)
{
    ((struct cp *)opaque)->closed = true;
}

static const struct control_link_callbacks callbacks = {
    .event = on_event,
    .closed = on_closed,
};

/* Connect to the socket of a transfer. It is gone if the guest has given up
 * already; the supervisor knows why. On failure return a negative number and
 * error. */
static int connect_to(const char *path, GError **error)
{
    int fd = path ? unix_socket_connect(path, 0) : -EINVAL;

    if (fd < 0)
        g_set_error(error, STEPBACK_ERROR, ERROR_CANCELLED,
                    "%s: cannot connect for the copy: %s", path ? path : "",
                    g_strerror(-fd));
    return fd;
}

/* Add the sandbox's name to an error about a path in it. */
static void name_sandbox(const struct copy_plan *plan, GError **error)
{
    if (*error && *(*error)->message == '/')
        g_prefix_error(error, "%s:", plan->sandbox);
}

/* Wait for the event. If this side failed only because the stream did, the
 * supervisor knows why; otherwise its error is a consequence. */
static void wait_for_end(struct cp *cp, const struct copy_plan *plan,
                         GError **error)
{
    while (!cp->ended && !cp->closed)
        g_main_context_iteration(NULL, TRUE);
    name_sandbox(plan, &cp->error);
    if (cp->error &&
        (!*error || (error_code_of(*error) == ERROR_CANCELLED &&
                     error_code_of(cp->error) != ERROR_CANCELLED))) {
        g_clear_error(error);
        *error = g_steal_pointer(&cp->error);
    } else if (!cp->ended && !*error) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_BACKEND_FAILED,
                            "the sandbox has ended before the copy was "
                            "complete");
    }
}

static void copy(struct cp *cp, const struct copy_plan *plan,
                 struct control_link *link, GError **error)
{
    struct copy_result result = { 0 };
    json_t *payload, *answer;
    fd_auto int fd = -1;
    const char *type;

    if (!cli_copy_check(plan, error))
        return;
    type = cli_copy_request(plan, &payload);
    answer = api_link_ask(link, type, payload, ASK_MS, error);
    if (!answer) {
        name_sandbox(plan, error);
        return;
    }
    fd = connect_to(json_string_value(json_object_get(answer, "socket")),
                    error);
    json_decref(answer);
    if (fd >= 0)
        cli_copy_run(plan, fd, &result, error);
    /* A copy into the guest is over when the guest has written everything. */
    if (*error || !plan->in)
        fd_close(&fd);
    wait_for_end(cp, plan, error);
    cp->skipped += (gint64)result.skipped;
    if (!*error && !plan->in && !plan->stream && result.entries == 0)
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "%s:%s: a device node; to create it on the host, add -a "
                    "and --allow-special as root",
                    plan->sandbox, plan->guest_path);
}

/* ---- the remedy ---------------------------------------------------------- */

static bool says_missing(const char *message)
{
    return g_str_has_suffix(message, g_strerror(ENOENT)) ||
           g_str_has_suffix(message, "No such file or directory") || /* guest */
           g_str_has_suffix(message, "no such directory");
}

/* Return the directory that a path to copy to needs: a new string. */
static char *directory_of(const char *path)
{
    return g_str_has_suffix(path, "/") ? g_strdup(path)
                                       : g_path_get_dirname(path);
}

/* Return whether the message begins with the path, or a folder above it. */
static bool is_about(const char *message, const char *path)
{
    const char *colon = strstr(message, ": ");
    size_t length = colon ? (size_t)(colon - message) : 0;

    return length > 0 && strncmp(message, path, length) == 0 &&
           (path[length - 1] == '/' || strchr("/", path[length]));
}

/* Return what to do about a path that is not there, as a new string, or NULL.
 */
static char *remedy_of_missing(const struct copy_plan *plan,
                               const char *message)
{
    bool in_guest = g_str_has_prefix(message, plan->sandbox) &&
                    message[strlen(plan->sandbox)] == ':';
    g_autofree char *dir = NULL, *word = NULL;

    if (in_guest != plan->in) /* the source */
        return in_guest ? g_strdup_printf("a path there begins at the root "
                                          "directory; '" CLI_PROGRAM
                                          " exec %s -- ls -a /' lists it",
                                          plan->sandbox)
                        : NULL;
    if (!in_guest && (plan->stream || !is_about(message, plan->host_path)))
        return NULL;
    dir = directory_of(in_guest ? plan->guest_path : plan->host_path);
    word = cli_place_quote_to_print(dir);
    return in_guest ? g_strdup_printf("make it with: " CLI_PROGRAM
                                      " exec %s -- mkdir -p %s",
                                      plan->sandbox, word)
                    : g_strdup_printf("make it with: mkdir -p %s", word);
}

static char *remedy(const struct copy_plan *plan, const char *message)
{
    if (says_missing(message))
        return remedy_of_missing(plan, message);
    return g_str_has_suffix(message, "a directory cannot replace a file")
               ? g_strdup("copy to another name, or remove the file first")
               : NULL;
}

static int print_failure(const struct copy_plan *plan, const GError *error)
{
    g_autofree char *text = cli_options_printable(error->message);
    g_autofree char *help = remedy(plan, error->message);

    return cli_options_failed("cp: %s%s%s", text, help ? "; " : "",
                              help ? help : "");
}

static int run(struct copy_plan *plan, const struct sandbox_record *record)
{
    g_autoptr(GPtrArray) folders = sandbox_record_folders(record);
    g_autoptr(GError) error = NULL;
    struct cp cp = { 0 };
    struct control_link *link = api_link_connect(
        sandbox_record_socket(record, "api_socket"), &callbacks, &cp, &error);

    g_ptr_array_add(folders, NULL);
    if (link &&
        cli_copy_enter_place(plan, (const char *const *)folders->pdata, &error))
        copy(&cp, plan, link, &error);
    control_link_free(link);
    g_clear_error(&cp.error);
    if (error)
        return print_failure(plan, error);
    if (cp.skipped > 0)
        fprintf(stderr,
                CLI_PROGRAM ": cp: skipped %" G_GINT64_FORMAT
                            " socket%s or device node%s\n",
                cp.skipped, cp.skipped == 1 ? "" : "s",
                cp.skipped == 1 ? "" : "s");
    return CLI_OK;
}

int cli_cp(int argc, char **argv)
{
    gboolean archive = FALSE, follow = FALSE, special = FALSE;
    const GOptionEntry entries[] = {
        { "archive", 'a', 0, G_OPTION_ARG_NONE, &archive,
          "keep owners (on the host: as root only)", NULL },
        { "follow-link", 'L', 0, G_OPTION_ARG_NONE, &follow,
          "if the source is a symbolic link, copy its target", NULL },
        { "allow-special", 0, 0, G_OPTION_ARG_NONE, &special,
          "with -a, as root: create device nodes and set-id files on the host",
          NULL },
        { NULL },
    };
    g_autoptr(sandbox_record) record = NULL;
    g_autoptr(GError) error = NULL;
    struct copy_plan *plan;
    int code = CLI_USAGE;

    if (!cli_options_parse("NAME:PATH PATH|- - copy out of a sandbox\n  "
                           "stepback cp [OPTION...] PATH|- NAME:PATH - copy "
                           "into it",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    if (argc != 3)
        return cli_options_wrong("cp: give a source and a target, one of them "
                                 "as NAME:PATH; for example: " CLI_PROGRAM
                                 " cp box:/root/log .");
    plan = cli_copy_parse(argv[1], argv[2],
                          &(struct copy_options){ archive, follow, special },
                          &error);
    if (!plan)
        return cli_options_wrong("cp: %s", error->message);
    record = cli_sandbox_find(plan->sandbox, CLI_SANDBOX_RUNNING);
    if (record)
        code = run(plan, record);
    cli_copy_free(plan);
    return record ? code : CLI_FAILED;
}
