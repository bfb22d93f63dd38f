/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_logs - "stepback logs": the log of a sandbox's supervisor, or the console
 * of its machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/sandbox/sandbox_store.h"
#include "common/fd.h"

struct logs {
    const struct sandbox_record *record;
    const char *file;
    gboolean console, json, follow;
    int fd;
    GString *line; /* the part that was read of a line */
};

static void print_line(const struct logs *logs, const char *text)
{
    json_t *line = logs->console ? NULL : json_loads(text, 0, NULL);
    const char *message = json_string_value(json_object_get(line, "message"));
    g_autofree char *shown = cli_options_printable(message ? message : text);

    if (logs->json && line)
        printf("%s\n", text);
    else if (message)
        printf("%s %-5s %s: %s\n",
               json_string_value(json_object_get(line, "timestamp")),
               json_string_value(json_object_get(line, "level")),
               json_string_value(json_object_get(line, "component")), shown);
    else
        printf("%s\n", shown);
    json_decref(line);
}

/* Print the lines that are complete; at the end of the file, the last one,
 * too. */
static void print_lines(struct logs *logs, bool at_end)
{
    char *newline;

    while ((newline = strchr(logs->line->str, '\n'))) {
        *newline = '\0';
        print_line(logs, logs->line->str);
        g_string_erase(logs->line, 0, newline + 1 - logs->line->str);
    }
    if (at_end && logs->line->len > 0)
        print_line(logs, logs->line->str);
    fflush(stdout);
}

static void read_more(struct logs *logs)
{
    char chunk[65536];
    ssize_t n;

    while ((n = read(logs->fd, chunk, sizeof(chunk))) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            /* The console may have any byte. */
            if (chunk[i] != '\0' && chunk[i] != '\r')
                g_string_append_c(logs->line, chunk[i]);
        }
        print_lines(logs, false);
    }
}

static void open_log(struct logs *logs, const char *file)
{
    fd_close(&logs->fd);
    logs->fd = openat(logs->record->dir_fd, file,
                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* The log may have been rotated, or the console emptied. */
static void reopen_if_new(struct logs *logs)
{
    struct stat now, open;

    if (fstatat(logs->record->dir_fd, logs->file, &now, AT_SYMLINK_NOFOLLOW) <
        0)
        return;
    if (logs->fd < 0 || fstat(logs->fd, &open) < 0 ||
        now.st_ino != open.st_ino || lseek(logs->fd, 0, SEEK_CUR) > now.st_size)
        open_log(logs, logs->file);
}

static int print(struct logs *logs)
{
    logs->fd = -1;
    logs->line = g_string_new(NULL);
    if (!logs->console) {
        open_log(logs, SANDBOX_LOG_OLD);
        read_more(logs);
    }
    open_log(logs, logs->file);
    read_more(logs);
    while (logs->follow && cli_sandbox_follow(logs->record->dir_fd)) {
        read_more(logs);
        reopen_if_new(logs);
    }
    read_more(logs);
    print_lines(logs, true);
    fd_close(&logs->fd);
    g_string_free(logs->line, TRUE);
    return CLI_OK;
}

int cli_logs(int argc, char **argv)
{
    struct logs logs = { .file = SANDBOX_LOG };
    const GOptionEntry entries[] = {
        { "follow", 'f', 0, G_OPTION_ARG_NONE, &logs.follow,
          "print new lines until the sandbox ends", NULL },
        { "console", 0, 0, G_OPTION_ARG_NONE, &logs.console,
          "the console of the machine instead of the log", NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &logs.json,
          "print the log as JSON Lines", NULL },
        { NULL },
    };
    g_autoptr(sandbox_record) record = NULL;

    if (!cli_options_parse("[NAME] - print the log of a sandbox", entries,
                           false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 2)
        return cli_options_surplus("logs", argv[2]);
    record = cli_sandbox_find(argc > 1 ? argv[1] : NULL, CLI_SANDBOX_ANY);
    if (!record)
        return CLI_FAILED;
    logs.record = record;
    if (logs.console)
        logs.file = SANDBOX_CONSOLE;
    return print(&logs);
}
