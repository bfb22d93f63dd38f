/* SPDX-License-Identifier: Apache-2.0
 *
 * tree_pack - write a file or a tree as a pax stream.
 *
 * Keeps modes, numeric owners, modification times to the nanosecond, symbolic
 * links, hard links within the tree, holes, FIFOs, device nodes, and the
 * extended attributes user.*, security.capability and POSIX ACLs. Sockets are
 * skipped. The walk holds a directory fd per level and never follows a symbolic
 * link below the source, so a concurrent rename cannot lead it elsewhere.
 *
 * Names are those of docker cp: "a/b" packs "b" and what is below it; "a/b/."
 * packs the content of b, as "./...".
 */
#ifndef COPY_TREE_PACK_H
#define COPY_TREE_PACK_H

#include <stdbool.h>

#include "copy/copy_error.h"

struct tree_pack {
    char *path; /* without a trailing "/" or "/." */
    char *top;  /* the name in the stream; "." for the content */
    bool follow;
    bool is_directory;
};

/* Return the name of a path's top entry in a stream: a new string (free), "."
 * for the content of a directory. NULL: out of memory. */
char *tree_pack_top(const char *path);

/* Check that the source exists. follow: if the source itself is a symbolic
 * link, pack its target; a trailing "/" does the same. Free it in either
 * case. */
bool tree_pack_open(struct tree_pack *pack, const char *path, bool follow,
                    struct copy_error *error);

/* Write the stream to a blocking fd. */
bool tree_pack_write(const struct tree_pack *pack, int fd,
                     struct copy_result *ret_result, struct copy_error *error);

void tree_pack_free(struct tree_pack *pack);

#endif
