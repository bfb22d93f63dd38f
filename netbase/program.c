/* SPDX-License-Identifier: Apache-2.0
 *
 * program - see program.h.
 */
#include <config.h>

#include "netbase/program.h"

#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/errors.h"
#include "common/host_environ.h"
#include "common/log.h"
#include "common/option_words.h"
#include "common/sandbox.h"

struct options {
    gboolean version;
    char *log_level, *seccomp;
    enum sandbox_action action;
};

static gboolean parse(const struct program *program, int argc, char **argv,
                      struct options *options, GError **error)
{
    const GOptionEntry common[] = {
        { "log-level", 0, 0, G_OPTION_ARG_STRING, &options->log_level,
          "error, warn, info, debug", "LEVEL" },
        { "seccomp", 0, 0, G_OPTION_ARG_STRING, &options->seccomp,
          "reaction to a forbidden system call: kill, log, trap; none for no "
          "filter",
          "ACTION" },
        { "version", 0, 0, G_OPTION_ARG_NONE, &options->version,
          "print the version", NULL },
    };
    GOptionEntry entries[PROGRAM_FDS_MAX + G_N_ELEMENTS(common) + 1] = { 0 };
    GOptionContext *context = g_option_context_new(program->purpose);
    const struct program_fd *fd = program->fds;
    GOptionEntry *entry = entries;
    gboolean ok;

    for (; fd < program->fds + PROGRAM_FDS_MAX && fd->option; fd++)
        *entry++ = (GOptionEntry){ fd->option, 0,        0,   G_OPTION_ARG_INT,
                                   fd->fd,     fd->help, "FD" };
    memcpy(entry, common, sizeof(common));
    g_option_context_add_main_entries(context, entries, NULL);
    ok = option_words_check_flags(entries, argc, argv, false, error) &&
         g_option_context_parse(context, &argc, &argv, error);
    g_option_context_free(context);
    return ok;
}

static gboolean check(const struct program *program, struct options *options,
                      GError **error)
{
    const struct program_fd *fds = program->fds;
    enum log_level level = LOG_LEVEL_INFO;

    if (fcntl(*fds[0].fd, F_GETFD) < 0 || fcntl(*fds[1].fd, F_GETFD) < 0 ||
        *fds[0].fd == *fds[1].fd)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "--%s and --%s must be open sockets; \"stepback\" starts "
                    "this program",
                    fds[0].option, fds[1].option);
    else if (options->log_level && !log_level_parse(options->log_level, &level))
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "--log-level: use error, warn, info or debug");
    else if (options->seccomp &&
             !sandbox_action_parse(options->seccomp, &options->action))
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "--seccomp: use kill, log, trap or none");
    else {
        log_set_level(level);
        return TRUE;
    }
    return FALSE;
}

int program_main(const struct program *program, int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    struct options options = { 0 };
    int status;

    host_environ_restrict();
    signal(SIGPIPE, SIG_IGN);
    if (!parse(program, argc, argv, &options, &error) ||
        (!options.version && !check(program, &options, &error))) {
        fprintf(stderr, "%s: %s\n", program->name, error->message);
        status = 2;
    } else if (options.version) {
        status = printf("%s " PACKAGE_VERSION "\n", program->name) < 0;
    } else {
        status = program->serve(options.action, program->opaque);
    }
    g_free(options.log_level);
    g_free(options.seccomp);
    return status;
}
