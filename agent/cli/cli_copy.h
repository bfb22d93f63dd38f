/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_copy - the host's side of "stepback cp".
 *
 * One of the two places is NAME:PATH, a path in a sandbox; the other is a path
 * on the host, or "-" for a tar stream on standard input or output. The
 * supervisor moves the stream; this side packs and unpacks it with the rules of
 * docker cp (copy/tree_pack.h, copy/tree_unpack.h).
 *
 * What comes out of the guest is hostile: only the name that was asked for is
 * created, symbolic links are never followed, device nodes are skipped and
 * set-id bits cleared (unless root asks for both with -a and --allow-special),
 * and memory is limited.
 */
#ifndef AGENT_CLI_CLI_COPY_H
#define AGENT_CLI_CLI_COPY_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "copy/copy_error.h"

struct copy_options {
    bool archive;       /* -a: keep owners (out of the guest: root only) */
    bool follow;        /* -L: if the source is a symbolic link, its target */
    bool allow_special; /* with -a, as root: device nodes and set-id bits */
};

struct copy_plan {
    bool in;          /* into the guest */
    bool stream;      /* the host's place is "-" */
    char *sandbox;    /* the name of the sandbox */
    char *guest_path; /* absolute */
    char *host_path;  /* NULL for "-" */
    int dir_fd; /* the directory that has host_path, which is a name then; 0:
                   host_path is a path */
    char *top;  /* the source's name in the stream; NULL: of host_path */
    struct copy_options options;
};

/* Parse the two places. A host path that contains ':' is written with a leading
 * "./" or as an absolute path. Returns NULL with ERROR_INVALID_FIELD. */
struct copy_plan *cli_copy_parse(const char *from, const char *to,
                                 const struct copy_options *options,
                                 GError **error);
void cli_copy_free(struct copy_plan *plan);

/* Return the type and the payload (a new reference) of the API request. */
const char *cli_copy_request(const struct copy_plan *plan,
                             json_t **ret_payload);

/* Check that the host's place can be used. Fails with ERROR_IO_ERROR. */
gboolean cli_copy_check(const struct copy_plan *plan, GError **error);

/* Move the stream between the host's place and a connected socket, which stays
 * open. A copy into the guest also shuts down the writing end. ret_result
 * counts this side's entries; it is zero for "-". Fails with ERROR_IO_ERROR, or
 * with ERROR_CANCELLED if the stream failed: then event.copy_completed has the
 * guest's reason. */
gboolean cli_copy_run(const struct copy_plan *plan, int fd,
                      struct copy_result *ret_result, GError **error);

#endif
