/* SPDX-License-Identifier: Apache-2.0
 *
 * tree_unpack - create files and trees from a tar stream.
 *
 * The stream may be hostile:
 * - An entry whose name is absolute, has a ".." or is not below the expected
 *   top name ends the copy with an error.
 * - Directories are entered with openat2(2), which confines the path to the
 *   target even if another process exchanges its parts.
 * - A file is written without a name, or under a temporary one, in its
 * directory, so neither a failed copy nor a symbolic link at its name lets it
 * write to an existing file, and no half file gets the final name.
 * - Device nodes are skipped, and set-id bits cleared, unless "special".
 * - Memory does not grow with the stream: attributes of a directory are set
 *   when the first entry outside of it arrives.
 *
 * The target follows the rules of docker cp: an existing directory receives the
 * entries; a new name is given to the stream's top entry; an existing file is
 * replaced by a file. Directories that existed keep their attributes.
 */
#ifndef COPY_TREE_UNPACK_H
#define COPY_TREE_UNPACK_H

#include <stdbool.h>

#include "copy/copy_error.h"

struct unpack_options {
    const char *top; /* the only top name allowed; NULL: any, but only one if it
                        is renamed */
    bool archive;    /* the target must be a directory */
    bool keep_owner; /* otherwise the process's user and group own the files */
    bool special;    /* with keep_owner: device nodes, set-id bits, privileged
                        attributes */
    bool trusted;    /* follow symbolic links to directories within the
                        target */
};

struct tree_unpack {
    struct unpack_options options;
    int base;      /* fd of the directory that confines the copy */
    char *rename;  /* the name for the top entry; NULL: keep its name */
    bool replaces; /* rename is the name of an existing file */
    bool slash;    /* the target was given with a trailing slash */
    char *target;  /* for messages */
};

/* Open the target. options is copied, top borrowed. Free it in either case. */
bool tree_unpack_open(struct tree_unpack *unpack, const char *target,
                      const struct unpack_options *options,
                      struct copy_error *error);

/* The same for a name in a directory (borrowed), or "." for the directory
 * itself. A symbolic link at the name is never followed; a file replaces it. */
bool tree_unpack_open_at(struct tree_unpack *unpack, int dir_fd,
                         const char *name, const struct unpack_options *options,
                         struct copy_error *error);

/* Read the stream from a blocking fd to its end. A stream that ends early is an
 * error. */
bool tree_unpack_read(struct tree_unpack *unpack, int fd,
                      struct copy_result *ret_result, struct copy_error *error);

void tree_unpack_free(struct tree_unpack *unpack);

#endif
