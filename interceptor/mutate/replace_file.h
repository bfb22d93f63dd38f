/* SPDX-License-Identifier: Apache-2.0
 *
 * replace_file - overwrite a file with known content, as a step of its own.
 *
 * The content is compared last right before the first byte is written, when the
 * preimage is saved and a safeguard's decision is made. An outside edit within
 * the microseconds in between is overwritten; one that replaces the file by
 * another is not. Outside changes between the first and the last check belong
 * to the step, which is then closed.
 */
#ifndef INTERCEPTOR_MUTATE_REPLACE_FILE_H
#define INTERCEPTOR_MUTATE_REPLACE_FILE_H

#include "interceptor/interceptor.h"

struct replaced_content {
    gint64 size;        /* in bytes */
    const char *sha256; /* hexadecimal digits */
};

/* As ic_write_file(), but a file that is missing, or has other content, is left
 * alone: ERROR_NOT_FOUND, ERROR_IO_ERROR. */
gboolean replace_file(struct ic *ic, const struct ic_file_write *request,
                      const struct replaced_content *known,
                      struct ic_step_info **ret_info, GError **error);

#endif
