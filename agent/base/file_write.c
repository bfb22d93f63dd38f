/* SPDX-License-Identifier: Apache-2.0
 *
 * file_write - see file_write.h.
 */
#include "agent/base/file_write.h"

struct file_write *file_write_new(const char *path, GBytes *content)
{
    struct file_write *write = g_new0(struct file_write, 1);

    write->path = g_strdup(path);
    write->content = content;
    write->mode = -1;
    return write;
}

void file_write_free(struct file_write *write)
{
    if (!write)
        return;
    g_free(write->path);
    g_free(write->command);
    g_bytes_unref(write->content);
    g_free(write->replaced_sha256);
    g_free(write);
}
