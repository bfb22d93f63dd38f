/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_trim - free the memory of a paused machine that is all zeros.
 *
 * QEMU compares each page of the guest with the zeros of the saved state. That
 * read allocates the page if the memory is a memfd, so a machine that was
 * restored has all of its memory, and not the tenth that it uses.
 */
#ifndef AGENT_VM_POOL_TRIM_H
#define AGENT_VM_POOL_TRIM_H

#include <glib.h>
#include <sys/types.h>

/* Free the pages of QEMU's guest that are zero. The guest must be paused, and
 * no daemon may have mapped its memory. Returns the bytes that were freed; 0 if
 * the memory is not found or is no memfd. */
guint64 pool_trim(pid_t qemu);

#endif
