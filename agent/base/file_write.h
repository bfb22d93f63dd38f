/* SPDX-License-Identifier: Apache-2.0
 *
 * file_write - a file write that becomes one step.
 */
#ifndef AGENT_BASE_FILE_WRITE_H
#define AGENT_BASE_FILE_WRITE_H

#include <glib.h>
#include <stdbool.h>

struct file_write {
    char *path;    /* relative to the folder */
    char *command; /* shown in the history; NULL: "write_file PATH" */
    GBytes *content;
    int mode;          /* -1: keep the mode, or use the default */
    bool make_parents; /* make the folders of the path that do not exist */
    /* Refuse if the current content differs from this; sha256 NULL: do not
     * check. */
    gint64 replaced_size;
    char *replaced_sha256;
};

/* Create a write; path is copied, content is taken. */
struct file_write *file_write_new(const char *path, GBytes *content);
void file_write_free(struct file_write *write);

#endif
