/* SPDX-License-Identifier: Apache-2.0
 *
 * file_write - a file that is to be written as a step.
 */
#ifndef AGENT_BASE_FILE_WRITE_H
#define AGENT_BASE_FILE_WRITE_H

#include <glib.h>

struct file_write {
    char *path;    /* relative to the folder */
    char *command; /* for the history; NULL: write_file and the path */
    GBytes *content;
    int mode; /* -1: as it is, or the default */
    /* Refuse if the file's content is not this any more; sha256 NULL: any. */
    gint64 replaced_size;
    char *replaced_sha256;
};

/* path is copied, content taken. */
struct file_write *file_write_new(const char *path, GBytes *content);
void file_write_free(struct file_write *write);

#endif
