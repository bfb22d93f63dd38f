/* SPDX-License-Identifier: Apache-2.0
 *
 * names - have this guest's kernel look again at names that the host has
 * changed.
 *
 * Linux on virtio-fs cannot be notified. But a folder that the kernel keeps can
 * be opened by its FUSE node id (open_by_handle_at(2)), and a call that would
 * create a name looks it up at the server in any case, while it holds the
 * folder's lock.
 *
 * The calls wait for the file server, and for requests on the same folder that
 * wait for a decision. So make them in a process of its own.
 */
#ifndef SHIM_NAMES_H
#define SHIM_NAMES_H

#include <jansson.h>
#include <stdbool.h>

/* Look again at these names, in the form of "refresh" (wire.h), below the mount
 * at path; unused: first drop what no process uses. What the kernel does not
 * have, and a malformed element, is left out. Return 0; or -errno if some
 * may not have been looked at. */
int names_refresh(const char *path, bool unused, const json_t *names);

#endif
