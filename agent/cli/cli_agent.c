/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_agent - "stepback agent": serve a frontend on stdin and stdout.
 *
 * SIGUSR1 writes counters to the log.
 *
 * The program ends in order when stdin ends and on SIGTERM, SIGINT and SIGHUP;
 * a second signal does not wait for the virtual machine.
 */
#include <glib-unix.h>
#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/base/log_stream.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_streams.h"
#include "agent/stdio/stdio_api.h"
#include "common/inherited.h"
#include "common/log.h"

struct agent {
    GMainLoop *loop;
    struct stdio_api *api;
    bool ending;
    bool signalled; /* a second signal does not wait */
};

static void end(struct agent *agent)
{
    if (agent->ending)
        return;
    agent->ending = true;
    stdio_api_stop(agent->api);
}

static gboolean on_signal(gpointer data)
{
    struct agent *agent = data;

    if (agent->signalled)
        stdio_api_kill(agent->api);
    agent->signalled = true;
    end(agent);
    return G_SOURCE_CONTINUE;
}

static gboolean on_usr1(gpointer data)
{
    struct agent *agent = data;

    stdio_api_log_counters(agent->api);
    return G_SOURCE_CONTINUE;
}

static void on_closed(void *opaque)
{
    end(opaque);
}

static void on_stopped(void *opaque)
{
    struct agent *agent = opaque;

    g_main_loop_quit(agent->loop);
}

static const struct stdio_api_callbacks callbacks = {
    .closed = on_closed,
    .stopped = on_stopped,
};

int cli_agent(int argc, char **argv)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
    g_autofree char *log_level = NULL, *mcp_socket = NULL;
    const GOptionEntry entries[] = {
        { "log-level", 0, 0, G_OPTION_ARG_STRING, &log_level,
          "log level: error, warn, info (default), debug or trace", "LEVEL" },
        { "mcp-socket", 0, 0, G_OPTION_ARG_FILENAME, &mcp_socket,
          "serve MCP clients on this socket (default: in a private folder)",
          "PATH" },
        { NULL },
    };
    struct agent agent = { 0 };
    enum log_level level;
    struct cli_streams streams;

    if (!cli_options_parse("- serve a frontend on stdin and stdout", entries,
                           false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 1)
        return cli_options_surplus("agent", argv[1]);
    /* GLib does not free a string that an option replaces, so the default is
     * set only here. */
    if (!log_level)
        log_level = g_strdup("info");
    if (!log_level_parse(log_level, &level))
        return cli_options_wrong(
            "agent: --log-level must be error, warn, info, debug or trace");
    log_set_level(level);
    cli_options_note_terminal("JSON Lines");
    log_stream_never_wait();
    if (!cli_streams_take(&streams))
        return cli_options_wrong("agent: stdin and stdout must be open");
    agent.loop = g_main_loop_new(NULL, FALSE);
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        if (!inherited_signal_is_ignored(signals[i]))
            g_unix_signal_add(signals[i], on_signal, &agent);
    }
    g_unix_signal_add(SIGUSR1, on_usr1, &agent);
    agent.api = stdio_api_new(streams.in, streams.out, log_level, mcp_socket,
                              &callbacks, &agent);
    g_main_loop_run(agent.loop);
    stdio_api_free(agent.api);
    cli_streams_give_back(&streams);
    g_main_loop_unref(agent.loop);
    return CLI_OK;
}
