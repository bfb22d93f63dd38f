/* SPDX-License-Identifier: Apache-2.0
 *
 * room - find or make the mount point of a folder in the sandbox.
 *
 * Works in the sandbox's mount namespace, whose root is a file system in memory
 * that bubblewrap has made and mounted read-only. Processes of the sandbox can
 * write to other ones (the home, /tmp), and can put a symlink anywhere there or
 * rename what was just made: no symlink is followed, and a file system of the
 * host is never written to.
 */
#ifndef LOCAL_ROOM_H
#define LOCAL_ROOM_H

#include <stdbool.h>

/* Return an O_PATH fd of the folder at this absolute path; make: which is made,
 * with its parents, where it does not exist. On failure return -1 with errno.
 */
int room_open(const char *path, bool make);

/* Return an O_PATH fd of the folder that contains it, and its name in *ret_name
 * (borrowed from path); never made. On failure return -1 with errno. */
int room_open_parent(const char *path, const char **ret_name);

#endif
