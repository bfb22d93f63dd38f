/* SPDX-License-Identifier: Apache-2.0
 *
 * options - what the command lines of all file servers have.
 *
 * A program adds these entries to its own, lets GLib parse, and then applies
 * what came of it. All that can fail returns FALSE and an error with a text for
 * the person; a NULL value leaves an option as it is.
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
    bool syslog;                    /* messages go there */
    struct sandbox_options sandbox; /* borrows from this struct */
    char *modcaps, *uid_map, *gid_map;
    struct id_maps ids; /* of clients */
    char *socket_group; /* NULL: the socket is for its owner */
    int file_limit;     /* of open files; 0: as it is */
    enum ic_file_handles file_handles;
};

/* What GLib fills in, before it is checked. */
struct daemon_raw_options {
    char *log_level, *outside_policy;
    char *max_log_size, *max_step_size, *max_steps;
    char *durability, *file_handles, *sandbox, *seccomp;
    char **uid_maps, **gid_maps, **translate_uid, **translate_gid;
    char *listen_fd, *interceptor_fd;
    gboolean debug, read_only, allow_suid, allow_devices, print_version, syslog;
    GArray *entries; /* GOptionEntry, zero at the end: all; NULL: none yet */
};

void daemon_options_init(struct daemon_options *options);
void daemon_options_clear(struct daemon_options *options);
void daemon_raw_options_clear(struct daemon_raw_options *raw);

/* As g_option_context_add_main_entries(), of a program's own ones. */
void daemon_options_add(GOptionContext *context, struct daemon_raw_options *raw,
                        const GOptionEntry *entries);

/* All have been added: do the words, as for g_option_context_parse_strv(), give
 * no value to what takes none? */
gboolean daemon_options_check_flags(const struct daemon_raw_options *raw,
                                    char *const *argv, GError **error);

/* Both structs are borrowed until the context has parsed. */
void daemon_options_add_entries(GOptionContext *context,
                                struct daemon_options *options,
                                struct daemon_raw_options *raw);

/* From raw to options. */
gboolean daemon_options_apply(struct daemon_options *options,
                              const struct daemon_raw_options *raw,
                              GError **error);

/* Do they fit together? Last of all; options->sandbox is complete then. */
gboolean daemon_options_complete(struct daemon_options *options,
                                 GError **error);

/* Set the error. FALSE. */
gboolean daemon_options_fail(GError **error, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* For programs that name these in another way, too. */
gboolean daemon_options_set_log_level(struct daemon_options *options,
                                      const char *value, GError **error);
gboolean daemon_options_set_sandbox(struct daemon_options *options,
                                    const char *value, GError **error);
gboolean daemon_options_set_seccomp(struct daemon_options *options,
                                    const char *value, GError **error);

/* "200M", "1G": K, M, G and T are powers of 1024. */
gboolean daemon_options_parse_size(const char *option, const char *text,
                                   int64_t *ret_bytes, GError **error);

bool daemon_options_is_listening(int fd);

#endif
