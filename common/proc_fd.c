/* SPDX-License-Identifier: Apache-2.0
 *
 * proc_fd - see proc_fd.h.
 */
#include "common/proc_fd.h"

#include <stdio.h>

#include "common/process_state.h"

struct proc_fd_path proc_fd_path(int fd)
{
    struct proc_fd_path path;

    snprintf(
        path.text, sizeof(path.text), "%s%d",
        atomic_load_explicit(&process_state()->fd_folder, memory_order_relaxed),
        fd);
    return path;
}

void proc_fd_use_current_folder(void)
{
    atomic_store(&process_state()->fd_folder, "");
}
