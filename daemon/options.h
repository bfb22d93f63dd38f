/* SPDX-License-Identifier: Apache-2.0
 *
 * options - the command-line options common to all file servers.
 *
 * A program adds these entries to its own, lets GLib parse, and then applies
 * the results. Every call that can fail returns FALSE and an error with a
 * message for the user; a NULL value leaves an option unchanged.
 */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/log.h"
#include "common/sandbox.h"
#include "daemon/id_map.h"
#include "interceptor/interceptor.h"

enum { DAEMON_MIN_FILES = 128, DAEMON_MAX_FILES = 1000000 };

struct daemon_options {
    char *shared_dir;
    char *socket_path;
    int listen_fd; /* -1: none */
    bool read_only, allow_suid, allow_devices;
    char *undo_dir;          /* NULL: no undo */
    struct ic_limits limits; /* 0: default */
    enum ic_durability durability;
    enum ic_outside_policy outside_policy;
    char *interceptor_socket; /* NULL: none */
    int interceptor_fd;       /* -1: none */
    enum log_level log_level;
    bool print_version;
    bool syslog;                    /* log to the system log */
    struct sandbox_options sandbox; /* borrows from this struct */
    char *modcaps, *uid_map, *gid_map;
    struct id_maps ids; /* of clients */
    char *socket_group; /* NULL: only for the socket's owner */
    int file_limit;     /* of open files; 0: unchanged */
    enum ic_file_handles file_handles;
};

/* Raw values from GLib, not validated yet. */
struct daemon_raw_options {
    char *log_level, *outside_policy;
    char *max_log_size, *max_step_size, *max_steps;
    char *durability, *file_handles, *sandbox, *seccomp;
    char **uid_maps, **gid_maps, **translate_uid, **translate_gid;
    char *listen_fd, *interceptor_fd;
    gboolean debug, read_only, allow_suid, allow_devices, print_version, syslog;
    GArray *entries; /* GOptionEntry of all groups, zero-terminated; NULL:
                      * none */
};

void daemon_options_init(struct daemon_options *options);
void daemon_options_clear(struct daemon_options *options);
void daemon_raw_options_clear(struct daemon_raw_options *raw);

/* Like g_option_context_add_main_entries(), for a program's own entries. */
void daemon_options_add(GOptionContext *context, struct daemon_raw_options *raw,
                        const GOptionEntry *entries);

/* After all entries were added: check that argv, as for
 * g_option_context_parse_strv(), gives no value to an option without one. */
gboolean daemon_options_check_flags(const struct daemon_raw_options *raw,
                                    char *const *argv, GError **error);

/* Both structs are borrowed until the context has parsed. */
void daemon_options_add_entries(GOptionContext *context,
                                struct daemon_options *options,
                                struct daemon_raw_options *raw);

/* Convert raw to options. */
gboolean daemon_options_apply(struct daemon_options *options,
                              const struct daemon_raw_options *raw,
                              GError **error);

/* Check the options for contradictions, as the last call; completes
 * options->sandbox. */
gboolean daemon_options_complete(struct daemon_options *options,
                                 GError **error);

/* Set the error and return FALSE. */
gboolean daemon_options_fail(GError **error, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Setters for programs that have other names for these options, too. */
gboolean daemon_options_set_log_level(struct daemon_options *options,
                                      const char *value, GError **error);
gboolean daemon_options_set_sandbox(struct daemon_options *options,
                                    const char *value, GError **error);

/* Parse "200M", "1G": K, M, G and T are powers of 1024. */
gboolean daemon_options_parse_size(const char *option, const char *text,
                                   int64_t *ret_bytes, GError **error);

bool daemon_options_is_listening(int fd);

#endif
