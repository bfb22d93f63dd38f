/* SPDX-License-Identifier: Apache-2.0
 *
 * proc_fd - see proc_fd.h.
 */
#include "common/proc_fd.h"

#include <stdio.h>

static const char *folder = "/proc/self/fd/";

struct proc_fd_path proc_fd_path(int fd)
{
    struct proc_fd_path path;

    snprintf(path.text, sizeof(path.text), "%s%d", folder, fd);
    return path;
}

void proc_fd_use_current_folder(void)
{
    folder = "";
}
