/* SPDX-License-Identifier: Apache-2.0
 *
 * options - see options.h.
 */
#include "daemon/options.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/byte_size.h"
#include "common/option_words.h"
#include "common/unix_socket.h"
#include "interceptor/interceptor.h"

gboolean daemon_options_fail(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_clear_error(error);
    if (error)
        *error = g_error_new_valist(G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                                    format, args);
    va_end(args);
    return FALSE;
}

/* ---- values -------------------------------------------------------------- */

gboolean daemon_options_set_log_level(struct daemon_options *options,
                                      const char *value, GError **error)
{
    if (value && strcmp(value, "off") == 0)
        value = "error"; /* errors that end the daemon are always logged */
    if (!value || log_level_parse(value, &options->log_level))
        return TRUE;
    return daemon_options_fail(
        error, "unknown log level '%s'; use error, warn, info, debug or trace",
        value);
}

gboolean daemon_options_set_sandbox(struct daemon_options *options,
                                    const char *value, GError **error)
{
    if (!value || sandbox_mode_parse(value, &options->sandbox.mode))
        return TRUE;
    return daemon_options_fail(
        error, "unknown sandbox '%s'; use namespace, chroot or none", value);
}

static gboolean set_seccomp(struct daemon_options *options, const char *value,
                            GError **error)
{
    if (!value || sandbox_action_parse(value, &options->sandbox.action))
        return TRUE;
    return daemon_options_fail(
        error, "--seccomp: unknown action '%s'; use kill, log, trap or none",
        value);
}

gboolean daemon_options_parse_size(const char *option, const char *text,
                                   int64_t *ret_bytes, GError **error)
{
    if (!text || byte_size_parse(text, ret_bytes))
        return TRUE;
    return daemon_options_fail(
        error,
        "%s: '%s' is not a size; use a number of bytes, e.g. 200M "
        "(K, M, G, T)",
        option, text);
}

static gboolean set_durability(struct daemon_options *options,
                               const char *value, GError **error)
{
    if (!value)
        return TRUE;
    if (strcmp(value, "process") == 0)
        options->durability = IC_DURABILITY_PROCESS;
    else if (strcmp(value, "power") == 0)
        options->durability = IC_DURABILITY_POWER;
    else
        return daemon_options_fail(
            error, "--durability: unknown value '%s'; use process or power",
            value);
    return TRUE;
}

static gboolean set_file_handles(struct daemon_options *options,
                                 const char *value, GError **error)
{
    static const char *const names[] = {
        [IC_FILE_HANDLES_NEVER] = "never",
        [IC_FILE_HANDLES_PREFER] = "prefer",
        [IC_FILE_HANDLES_MANDATORY] = "mandatory",
    };

    if (!value)
        return TRUE;
    if (strcmp(value, "fallback") == 0)
        value = "prefer"; /* the former name */
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (strcmp(value, names[i]) == 0) {
            options->file_handles = (enum ic_file_handles)i;
            return TRUE;
        }
    }
    return daemon_options_fail(
        error,
        "--inode-file-handles: unknown value '%s'; use never, prefer or "
        "mandatory",
        value);
}

static gboolean set_step_count(struct daemon_options *options, const char *text,
                               GError **error)
{
    guint64 steps;

    if (!g_ascii_string_to_unsigned(text, 10, 1, G_MAXINT, &steps, NULL))
        return daemon_options_fail(
            error, "--undo-max-steps: '%s' is not a number from 1", text);
    options->limits.max_step_count = (int)steps;
    return TRUE;
}

static gboolean set_limits(struct daemon_options *options,
                           const struct daemon_raw_options *raw, GError **error)
{
    if (raw->max_steps && !set_step_count(options, raw->max_steps, error))
        return FALSE;
    return daemon_options_parse_size("--undo-max-log-size", raw->max_log_size,
                                     &options->limits.max_log_size, error) &&
           daemon_options_parse_size("--undo-max-step-size", raw->max_step_size,
                                     &options->limits.max_single_step_size,
                                     error);
}

static gboolean set_fd(const char *option, const char *text, int *ret_fd,
                       GError **error)
{
    guint64 fd;

    if (!text)
        return TRUE;
    if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT, &fd, NULL))
        return daemon_options_fail(
            error, "%s: '%s' is not the fd of an inherited socket", option,
            text);
    *ret_fd = (int)fd;
    return TRUE;
}

static gboolean set_outside_policy(struct daemon_options *options,
                                   const char *name, GError **error)
{
    return !name ||
           (ic_outside_policy_parse(name, &options->outside_policy, error) &&
            ic_outside_policy_check(options->outside_policy, error));
}

gboolean daemon_options_apply(struct daemon_options *options,
                              const struct daemon_raw_options *raw,
                              GError **error)
{
    options->print_version = raw->print_version;
    options->syslog = raw->syslog;
    if (raw->read_only)
        options->read_only = true;
    options->allow_suid = raw->allow_suid;
    options->allow_devices = raw->allow_devices;
    if (!daemon_options_set_log_level(options, raw->log_level, error))
        return FALSE;
    if (raw->debug)
        options->log_level = MAX(options->log_level, LOG_LEVEL_DEBUG);
    if (raw->uid_maps)
        options->uid_map = g_strjoinv(",", raw->uid_maps);
    if (raw->gid_maps)
        options->gid_map = g_strjoinv(",", raw->gid_maps);
    return id_map_add_all(&options->ids.users, "--translate-uid",
                          raw->translate_uid, error) &&
           id_map_add_all(&options->ids.groups, "--translate-gid",
                          raw->translate_gid, error) &&
           set_fd("--fd", raw->listen_fd, &options->listen_fd, error) &&
           set_fd("--interceptor-fd", raw->interceptor_fd,
                  &options->interceptor_fd, error) &&
           set_outside_policy(options, raw->outside_policy, error) &&
           set_limits(options, raw, error) &&
           set_durability(options, raw->durability, error) &&
           set_file_handles(options, raw->file_handles, error) &&
           daemon_options_set_sandbox(options, raw->sandbox, error) &&
           set_seccomp(options, raw->seccomp, error);
}

/* ---- combinations -------------------------------------------------------- */

bool daemon_options_is_listening(int fd)
{
    int listening = 0;
    socklen_t size = sizeof(listening);

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 &&
           listening;
}

static bool is_stream(int fd)
{
    int type = 0;
    socklen_t size = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_STREAM && !daemon_options_is_listening(fd);
}

static gboolean complete_sandbox(struct daemon_options *options, GError **error)
{
    struct sandbox_options *sandbox = &options->sandbox;

    if ((options->uid_map || options->gid_map) &&
        sandbox->mode != SANDBOX_AUTO && sandbox->mode != SANDBOX_NAMESPACE)
        return daemon_options_fail(
            error, "--uid-map and --gid-map require --sandbox=namespace");
    if (options->uid_map || options->gid_map)
        sandbox->mode = SANDBOX_NAMESPACE;
    if (!sandbox_check_map("--uid-map", options->uid_map, geteuid(), error) ||
        !sandbox_check_map("--gid-map", options->gid_map, getegid(), error) ||
        !sandbox_check_modcaps(options->modcaps, error))
        return FALSE;
    if (sandbox->mode == SANDBOX_NONE && options->modcaps &&
        strchr(options->modcaps, '-'))
        return daemon_options_fail(
            error, "--modcaps=%s: cannot drop capabilities without a sandbox",
            options->modcaps);
    sandbox->share = options->shared_dir;
    sandbox->undo_dir = options->undo_dir;
    sandbox->undo_dir_made = ic_hide_undo_dir;
    sandbox->read_only = options->read_only;
    sandbox->file_handles = options->file_handles != IC_FILE_HANDLES_NEVER;
    sandbox->modcaps = options->modcaps;
    sandbox->uid_map = options->uid_map;
    sandbox->gid_map = options->gid_map;
    return TRUE;
}

static gboolean check_names(const struct daemon_options *options,
                            GError **error)
{
    const struct {
        const char *option, *value, *what;
    } names[] = {
        { "--shared-dir", options->shared_dir, "folder" },
        { "--undo-dir", options->undo_dir, "folder" },
        { "--socket-path", options->socket_path, "socket" },
        { "--interceptor-socket", options->interceptor_socket, "socket" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (names[i].value && !*names[i].value)
            return daemon_options_fail(error, "%s requires the name of a %s",
                                       names[i].option, names[i].what);
    }
    return options->shared_dir ||
           daemon_options_fail(error, "--shared-dir is missing");
}

/* Refuse limits of the log without a log: the user would believe in an undo. */
static gboolean check_log(const struct daemon_options *options, GError **error)
{
    const struct ic_limits *limits = &options->limits;

    return options->undo_dir ||
           (limits->max_log_size == 0 && limits->max_single_step_size == 0 &&
            limits->max_step_count == 0 &&
            options->durability != IC_DURABILITY_POWER &&
            options->outside_policy == IC_OUTSIDE_BARRIER) ||
           daemon_options_fail(
               error, "--undo-max-log-size, --undo-max-step-size, "
                      "--undo-max-steps, --durability=power and "
                      "--external-modification-policy=warn require --undo-dir");
}

gboolean daemon_options_complete(struct daemon_options *options, GError **error)
{
    if (!complete_sandbox(options, error) || !check_names(options, error) ||
        !check_log(options, error))
        return FALSE;
    if (options->socket_group && !options->socket_path)
        return daemon_options_fail(error,
                                   "--socket-group requires --socket-path");
    if (options->socket_group &&
        !unix_socket_find_group(options->socket_group, NULL, error))
        return FALSE;
    if (options->file_limit != 0 && options->file_limit < DAEMON_MIN_FILES)
        return daemon_options_fail(
            error, "--rlimit-nofile: not a number from %d, or 0",
            DAEMON_MIN_FILES);
    if (g_strcmp0(options->socket_path, options->interceptor_socket) == 0 &&
        options->socket_path)
        return daemon_options_fail(
            error,
            "--socket-path and --interceptor-socket: both are \"%s\"; use two "
            "sockets",
            options->socket_path);
    if (options->interceptor_fd >= 0 && !is_stream(options->interceptor_fd))
        return daemon_options_fail(
            error, "--interceptor-fd=%d: not a connected stream socket",
            options->interceptor_fd);
    if (options->interceptor_socket && options->interceptor_fd >= 0)
        return daemon_options_fail(
            error, "--interceptor-socket and --interceptor-fd exclude "
                   "each other");
    return TRUE;
}

/* ---- entries ------------------------------------------------------------- */

void daemon_options_add(GOptionContext *context, struct daemon_raw_options *raw,
                        const GOptionEntry *entries)
{
    g_option_context_add_main_entries(context, entries, NULL);
    if (!raw->entries)
        raw->entries = g_array_new(TRUE, FALSE, sizeof(GOptionEntry));
    for (; entries->long_name; entries++)
        g_array_append_val(raw->entries, *entries);
}

gboolean daemon_options_check_flags(const struct daemon_raw_options *raw,
                                    char *const *argv, GError **error)
{
    return option_words_check_flags(
        (const GOptionEntry *)(void *)raw->entries->data,
        (int)g_strv_length((char **)argv), argv, false, error);
}

static void add_undo_entries(GOptionContext *context,
                             struct daemon_options *options,
                             struct daemon_raw_options *raw)
{
    const GOptionEntry entries[] = {
        { "undo-dir", 0, 0, G_OPTION_ARG_FILENAME, &options->undo_dir,
          "Keep the undo log here (default: no undo)", "DIR" },
        { "undo-max-log-size", 0, 0, G_OPTION_ARG_STRING, &raw->max_log_size,
          "Forget the oldest steps beyond this size of copied content "
          "(default: "
          "1G)",
          "BYTES" },
        { "undo-max-step-size", 0, 0, G_OPTION_ARG_STRING, &raw->max_step_size,
          "A step that copies more cannot be undone, nor can older ones "
          "(default: 200M)",
          "BYTES" },
        { "undo-max-steps", 0, 0, G_OPTION_ARG_STRING, &raw->max_steps,
          "Forget the oldest steps beyond this number (default: 100)", "N" },
        { "durability", 0, 0, G_OPTION_ARG_STRING, &raw->durability,
          "What undo survives: process (the daemon's death; default) or power "
          "(a power cut, too)",
          "WHAT" },
        { "external-modification-policy", 0, 0, G_OPTION_ARG_STRING,
          &raw->outside_policy,
          "What an edit by another program does: barrier (undo needs force; "
          "default) or warn; lock is refused, because no host enforces it",
          "POLICY" },
        { "interceptor-socket", 0, 0, G_OPTION_ARG_FILENAME,
          &options->interceptor_socket,
          "Listen for the undo control protocol on this Unix socket", "PATH" },
        { "interceptor-fd", 0, 0, G_OPTION_ARG_STRING, &raw->interceptor_fd,
          "Serve the undo control protocol on this inherited socket", "N" },
        { NULL }
    };

    daemon_options_add(context, raw, entries);
}

static void add_sandbox_entries(GOptionContext *context,
                                struct daemon_options *options,
                                struct daemon_raw_options *raw)
{
    const GOptionEntry entries[] = {
        { "sandbox", 0, 0, G_OPTION_ARG_STRING, &raw->sandbox,
          "Confine the daemon: namespace (default), chroot or none", "MODE" },
        { "seccomp", 0, 0, G_OPTION_ARG_STRING, &raw->seccomp,
          "Effect of a forbidden system call: kill (default), log, trap or "
          "none",
          "ACTION" },
        { "modcaps", 0, 0, G_OPTION_ARG_STRING, &options->modcaps,
          "Change the kept capabilities: +NAME and -NAME, separated by colons",
          "LIST" },
        { "uid-map", 0, 0, G_OPTION_ARG_STRING_ARRAY, &raw->uid_maps,
          "Map users into the sandbox's user namespace, with newuidmap",
          ":INSIDE:OUTSIDE:COUNT:" },
        { "gid-map", 0, 0, G_OPTION_ARG_STRING_ARRAY, &raw->gid_maps,
          "Map groups, with newgidmap", ":INSIDE:OUTSIDE:COUNT:" },
        { "translate-uid", 0, 0, G_OPTION_ARG_STRING_ARRAY, &raw->translate_uid,
          "Translate user ids between guest and host: TYPE is guest, host, "
          "squash-guest, squash-host, map, forbid-guest or ignore-guest",
          "TYPE:FROM:TO:COUNT" },
        { "translate-gid", 0, 0, G_OPTION_ARG_STRING_ARRAY, &raw->translate_gid,
          "Translate group ids", "TYPE:FROM:TO:COUNT" },
        { NULL }
    };

    daemon_options_add(context, raw, entries);
}

static void add_program_entries(GOptionContext *context,
                                struct daemon_options *options,
                                struct daemon_raw_options *raw)
{
    const GOptionEntry entries[] = {
        { "shared-dir", 0, 0, G_OPTION_ARG_FILENAME, &options->shared_dir,
          "Serve this folder", "DIR" },
        { "readonly", 0, 0, G_OPTION_ARG_NONE, &raw->read_only,
          "Refuse every change", NULL },
        { "allow-suid", 0, 0, G_OPTION_ARG_NONE, &raw->allow_suid,
          "Allow set-user-ID and set-group-ID bits and capabilities of files",
          NULL },
        { "allow-devices", 0, 0, G_OPTION_ARG_NONE, &raw->allow_devices,
          "Allow new device nodes", NULL },
        { "rlimit-nofile", 0, 0, G_OPTION_ARG_INT, &options->file_limit,
          "Limit of open files; 0: keep the current limit (default: 1000000)",
          "N" },
        { "inode-file-handles", 0, 0, G_OPTION_ARG_STRING, &raw->file_handles,
          "Find files that another program has moved by file handle: never "
          "(default), prefer or mandatory",
          "WHEN" },
        { "socket-group", 0, 0, G_OPTION_ARG_STRING, &options->socket_group,
          "Let this group use the socket", "GROUP" },
        { "log-level", 0, 0, G_OPTION_ARG_STRING, &raw->log_level,
          "Log level: error, warn, info (default), debug or trace", "LEVEL" },
        { "syslog", 0, 0, G_OPTION_ARG_NONE, &raw->syslog,
          "Log to the system's log", NULL },
        { "debug", 'd', 0, G_OPTION_ARG_NONE, &raw->debug,
          "Same as --log-level=debug", NULL },
        { "version", 'V', 0, G_OPTION_ARG_NONE, &raw->print_version,
          "Print the version", NULL },
        { NULL }
    };

    daemon_options_add(context, raw, entries);
}

void daemon_options_add_entries(GOptionContext *context,
                                struct daemon_options *options,
                                struct daemon_raw_options *raw)
{
    add_program_entries(context, options, raw);
    add_undo_entries(context, options, raw);
    add_sandbox_entries(context, options, raw);
}

/* ---- life ---------------------------------------------------------------- */

void daemon_options_init(struct daemon_options *options)
{
    *options = (struct daemon_options){
        .listen_fd = -1,
        .interceptor_fd = -1,
        .log_level = LOG_LEVEL_INFO,
        .file_limit = DAEMON_MAX_FILES,
    };
}

void daemon_raw_options_clear(struct daemon_raw_options *raw)
{
    g_clear_pointer(&raw->entries, g_array_unref);
    g_free(raw->log_level);
    g_free(raw->outside_policy);
    g_free(raw->max_log_size);
    g_free(raw->max_steps);
    g_free(raw->max_step_size);
    g_free(raw->durability);
    g_free(raw->file_handles);
    g_free(raw->sandbox);
    g_free(raw->seccomp);
    g_strfreev(raw->uid_maps);
    g_strfreev(raw->gid_maps);
    g_strfreev(raw->translate_uid);
    g_strfreev(raw->translate_gid);
    g_free(raw->listen_fd);
    g_free(raw->interceptor_fd);
}

void daemon_options_clear(struct daemon_options *options)
{
    g_free(options->shared_dir);
    g_free(options->socket_path);
    g_free(options->undo_dir);
    g_free(options->interceptor_socket);
    g_free(options->socket_group);
    g_free(options->modcaps);
    g_free(options->uid_map);
    g_free(options->gid_map);
    id_maps_clear(&options->ids);
}
