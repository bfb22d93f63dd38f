/* SPDX-License-Identifier: Apache-2.0
 *
 * copy_error - the reason why a copy failed, in a fixed buffer.
 */
#ifndef COPY_COPY_ERROR_H
#define COPY_COPY_ERROR_H

#include <stdbool.h>
#include <stdint.h>

enum { COPY_ERROR_MAX = 512 };

struct copy_error {
    bool stream; /* the stream failed: its other end may know why */
    char text[COPY_ERROR_MAX]; /* "object: problem"; control bytes are '?' */
};

/* What a copy did. */
struct copy_result {
    uint64_t entries; /* files, directories, links and others */
    uint64_t skipped; /* sockets, refused device nodes, undo logs */
};

/* Set the text. Return false. */
bool copy_fail(struct copy_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The text names a file: base and name, which is empty or below it. Of a long
 * path only the end is kept, so that the reason fits. */
bool copy_fail_at(struct copy_error *error, const char *base, const char *name,
                  const char *reason);
bool copy_fail_stream(struct copy_error *error, const char *text);

#endif
