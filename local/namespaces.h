/* SPDX-License-Identifier: Apache-2.0
 *
 * namespaces - the namespaces in which the folders are mounted.
 *
 * A mount that is made here exists in no other mount namespace, and ends with
 * the last process of this one: no kill leaves a mount on the host.
 *
 * Root of the host is not root here: its ids begin at LOCAL_FIRST_ID of the
 * host, so that what belongs to root there is out of reach. Another user keeps
 * the own id, and has others only as ids.h says.
 */
#ifndef LOCAL_NAMESPACES_H
#define LOCAL_NAMESPACES_H

#include <stdbool.h>
#include <stdint.h>

struct ids;

enum { LOCAL_FIRST_ID = 0x70000000 };

/* Join a new session keyring, which has no key of the host's user, before the
 * namespaces are entered. Exit on failure. */
void namespaces_leave_keyring(void);

/* Enter new user, mount and network namespaces, still with the ids of the host:
 * the time to open devices, which belong to the namespace of the process that
 * opened them. ids: of an ordinary user. Exit on failure. */
void namespaces_enter(const struct ids *ids);

/* Open a tree of the host (or a file), still with the ids of the host. Exit on
 * failure. */
int namespaces_open_tree(const char *path);

/* Mount it read-only at a path that exists, with the ids of the namespace; tree
 * is taken. Exit on failure. */
void namespaces_mount_tree(int tree, const char *path);

/* The same for a root file system, at LOCAL_ROOT. */
void namespaces_mount_root(int tree);

/* The same without new namespaces, for a process that enters those of a
 * sandbox: before it does; and then take the ids there. Exit on failure. */
void namespaces_note_parent(void);
void namespaces_take_ids(void);

/* Take the ids of the namespace, and prepare mounts. Exit on failure. */
void namespaces_become_own(void);

/* Mount the folder with this number, with an open /dev/fuse (borrowed). Return
 * the device number of the mount. Exit on failure. */
uint64_t namespaces_mount(unsigned number, bool read_only, int device);

#endif
