/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_mcp - "stepback mcp": an MCP server on stdin and stdout.
 *
 * The virtual machine starts with the server, but a client that only reads
 * files does not wait for it. If a sandbox runs over the folder, the client is
 * connected to its server instead. The server ends in order when stdin has
 * ended and all requests are answered, and on SIGTERM, SIGINT and SIGHUP; a
 * second signal does not wait for the virtual machine.
 */
#include <glib-unix.h>
#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "agent/base/log_stream.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_busy.h"
#include "agent/cli/cli_join.h"
#include "agent/cli/cli_machine.h"
#include "agent/cli/cli_machine_config.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_relay.h"
#include "agent/cli/cli_start.h"
#include "agent/cli/cli_streams.h"
#include "agent/mcp/mcp_session.h"
#include "common/inherited.h"
#include "common/log.h"

enum { STOP_RETRY_MS = 50, LINGER_MAX_S = 7 * 24 * 3600 };

struct mcp {
    GMainLoop *loop;
    struct session *session;
    struct mcp_session *host;
    bool ending;
    bool signalled; /* a second signal does not wait */
};

struct mcp_options {
    struct cli_machine machine;
    char *log_level;
    gint64 deletes, overwrites, linger;
    gboolean own, keep;
};

/* ---- the end ------------------------------------------------------------- */

static gboolean stop(gpointer data);

static void on_stopped(const struct answer *answer, const GError *error,
                       void *opaque)
{
    struct mcp *mcp = opaque;

    /* Busy: a reset is stopping the session in order to start it again. */
    if (error && error_code_of(error) == ERROR_BUSY)
        g_timeout_add(STOP_RETRY_MS, stop, mcp);
    else
        g_main_loop_quit(mcp->loop);
}

static gboolean stop(gpointer data)
{
    struct mcp *mcp = data;

    session_stop(mcp->session, on_stopped, mcp);
    return G_SOURCE_REMOVE;
}

static void end(struct mcp *mcp)
{
    if (mcp->ending)
        return;
    mcp->ending = true;
    mcp_session_close(mcp->host);
    stop(mcp);
}

static gboolean on_signal(gpointer data)
{
    struct mcp *mcp = data;

    if (mcp->signalled)
        session_kill(mcp->session);
    mcp->signalled = true;
    end(mcp);
    return G_SOURCE_CONTINUE;
}

static void on_closed(void *opaque)
{
    end(opaque);
}

/* ---- start --------------------------------------------------------------- */

/* Empty: each listening party registers itself. */
static const struct session_callbacks callbacks = { 0 };

static struct session_config *make_config(const void *opaque, GError **error)
{
    const struct mcp_options *options = opaque;
    struct session_config *config = cli_machine_config(&options->machine,
                                                       error);

    if (!config || (options->deletes <= 0 && options->overwrites <= 0))
        return config;
    config->rules = g_new(struct safeguard_rules, 1);
    *config->rules = SAFEGUARD_RULES_KEEP;
    if (options->deletes > 0)
        config->rules->delete_threshold = options->deletes;
    if (options->overwrites > 0)
        config->rules->overwrite_file_size_threshold = options->overwrites;
    return config;
}

static int serve(const struct mcp_options *options)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
    g_autoptr(GError) error = NULL;
    struct mcp mcp = { 0 };
    struct cli_streams streams;
    bool open = cli_streams_take(&streams);

    mcp.session = session_new(options->log_level, &callbacks, &mcp);
    mcp.host = mcp_session_new_own(mcp.session, make_config, options, &error);
    if (!mcp.host || !open) {
        session_free(mcp.session);
        mcp_session_free(mcp.host);
        return cli_options_failed("%s", error ? error->message
                                              : "stdin and stdout must be "
                                                "open");
    }
    mcp.loop = g_main_loop_new(NULL, FALSE);
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        if (!inherited_signal_is_ignored(signals[i]))
            g_unix_signal_add(signals[i], on_signal, &mcp);
    }
    mcp_server_set_linger(mcp_session_server(mcp.host),
                          (unsigned)options->linger);
    mcp_server_add(mcp_session_server(mcp.host), streams.in, streams.out,
                   on_closed, &mcp);
    g_main_loop_run(mcp.loop);
    session_free(mcp.session);
    mcp_session_free(mcp.host);
    cli_streams_give_back(&streams);
    g_main_loop_unref(mcp.loop);
    return CLI_OK;
}

/* ---- a sandbox ----------------------------------------------------------- */

/* Return an option of safeguards that the sandbox does not have, or NULL. */
static const char *other_rule(const struct mcp_options *options,
                              const struct sandbox_record *record)
{
    json_t *rules = json_object_get(json_object_get(record->config, "session"),
                                    "safeguard");
    gint64 deletes = json_integer_value(
        json_object_get(rules, "delete_threshold"));
    gint64 overwrites = json_integer_value(
        json_object_get(rules, "overwrite_file_size_threshold"));

    if (options->deletes > 0 && options->deletes != deletes)
        return "--ask-deletes";
    return options->overwrites > 0 && options->overwrites != overwrites
               ? "--ask-overwrites"
               : NULL;
}

/* Find the sandbox of the folder, or start one with --keep. Set *ret_record
 * (new; NULL: there is none). Return false after printing the error. */
static bool find_sandbox(const struct mcp_options *options,
                         struct sandbox_record **ret_record)
{
    const char *dir = options->machine.place.dir;
    g_autoptr(GError) error = NULL;
    struct session_config *config;

    if (!cli_join_find(dir ? dir : ".", dir != NULL, ret_record))
        return false;
    if (*ret_record)
        return cli_join_check(*ret_record, &options->machine, true,
                              other_rule(options, *ret_record));
    if (!options->keep)
        return true;
    config = make_config(options, &error);
    if (config)
        *ret_record = cli_start_new(NULL, config, 0, NULL, &error);
    if (config)
        session_config_free(config);
    /* Busy: another client has started one at the same time. */
    if (error && error_code_of(error) == ERROR_BUSY &&
        !cli_join_find(dir ? dir : ".", dir != NULL, ret_record))
        return false;
    if (*ret_record)
        return true;
    cli_options_failed("%s", error->message);
    return false;
}

static int join(const struct sandbox_record *record)
{
    const char *path = sandbox_record_socket(record, "mcp_socket");
    g_autoptr(GError) error = NULL;

    if (!path)
        return cli_options_failed("sandbox %s: has just ended; try again",
                                  record->name);
    log_info(LOG_MCP, "joined sandbox %s", record->name);
    if (cli_relay(path, STDIN_FILENO, STDOUT_FILENO, &error))
        return CLI_OK;
    return cli_options_failed("sandbox %s: %s", record->name, error->message);
}

static int join_or_serve(const struct mcp_options *options)
{
    const struct cli_place *place = &options->machine.place;
    g_autoptr(sandbox_record) record = NULL;

    if (options->own && !place->undo_dir &&
        !cli_busy_check_new("mcp", place->dir ? place->dir : ".",
                            place->undo_dir))
        return CLI_FAILED;
    if (!options->own && !find_sandbox(options, &record))
        return CLI_FAILED;
    return record ? join(record) : serve(options);
}

static int parse_and_serve(int argc, char **argv, struct mcp_options *options)
{
    const GOptionEntry entries[] = {
        CLI_MACHINE_OPTIONS(&options->machine),
        CLI_MACHINE_COPY_FOLDER(&options->machine),
        { "ask-deletes", 0, 0, G_OPTION_ARG_INT64, &options->deletes,
          "ask the client's user before a step deletes N files", "N" },
        { "ask-overwrites", 0, 0, G_OPTION_ARG_INT64, &options->overwrites,
          "ask before a step overwrites a file of more than BYTES bytes",
          "BYTES" },
        { "linger", 0, 0, G_OPTION_ARG_INT64, &options->linger,
          "after input ends, wait up to SECONDS for running requests "
          "(default: 600)",
          "SECONDS" },
        { "new", 0, 0, G_OPTION_ARG_NONE, &options->own,
          "start a machine, although a sandbox runs over the folder", NULL },
        { "keep", 0, 0, G_OPTION_ARG_NONE, &options->keep,
          "if no sandbox runs, start one, and leave it running", NULL },
        { "log-level", 0, 0, G_OPTION_ARG_STRING, &options->log_level,
          "log level: error, warn (default), info, debug or trace", "LEVEL" },
        { NULL },
    };
    enum log_level level;

    if (!cli_options_parse("- serve an MCP client on stdin and stdout", entries,
                           false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 1)
        return cli_options_surplus("mcp", argv[1]);
    if (!cli_machine_check(&options->machine, "mcp"))
        return CLI_USAGE;
    if (options->deletes < 0 || options->overwrites < 0)
        return cli_options_wrong("mcp: --ask-deletes and --ask-overwrites must "
                                 "be numbers from 0; 0 never asks");
    if (options->own && options->keep)
        return cli_options_wrong("mcp: --new and --keep exclude each other");
    if (options->linger < 0 || options->linger > LINGER_MAX_S)
        return cli_options_wrong(
            "mcp: --linger must be a number of seconds, at most %d",
            LINGER_MAX_S);
    if (!options->log_level)
        options->log_level = g_strdup("warn");
    if (!log_level_parse(options->log_level, &level))
        return cli_options_wrong(
            "mcp: --log-level must be error, warn, info, debug or trace");
    log_set_level(level);
    cli_options_note_terminal("the Model Context Protocol");
    log_stream_never_wait();
    return join_or_serve(options);
}

int cli_mcp(int argc, char **argv)
{
    struct mcp_options options = { .linger = MCP_SERVER_LINGER_S };
    int status = parse_and_serve(argc, argv, &options);

    cli_machine_clear(&options.machine);
    g_free(options.log_level);
    return status;
}
