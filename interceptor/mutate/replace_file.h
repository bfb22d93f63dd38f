/* SPDX-License-Identifier: Apache-2.0
 *
 * replace_file - write a file whose content is known, as a step of its own.
 *
 * What it holds is compared last right before the first byte is written, when
 * what the write destroys is kept already and a safeguard's question is
 * answered. An edit by others that falls into the microseconds in between is
 * overwritten; one that puts another file in place is not. What others have
 * changed between the first look and the last one belongs to the step, which is
 * closed then.
 */
#ifndef INTERCEPTOR_MUTATE_REPLACE_FILE_H
#define INTERCEPTOR_MUTATE_REPLACE_FILE_H

#include "interceptor/interceptor.h"

struct replaced_content {
    gint64 size;        /* bytes */
    const char *sha256; /* hexadecimal digits */
};

/* As ic_write_file(), but a file that is missing, or holds anything else, is
 * left alone: ERROR_NOT_FOUND, ERROR_IO_ERROR. */
gboolean replace_file(struct ic *ic, const struct ic_file_write *request,
                      const struct replaced_content *known,
                      struct ic_step_info **ret_info, GError **error);

#endif
