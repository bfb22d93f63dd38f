/* SPDX-License-Identifier: Apache-2.0
 *
 * attach - attach a folder to a running sandbox, and detach it.
 *
 * Two mount namespaces are known by their fds (borrowed): the outer one, in
 * which the folders of the start are mounted, and the inner one, which the
 * sandbox sees. This process enters their user namespaces and works there; it
 * runs no program, and the sandbox has neither its pid nor a file of it.
 *
 * What the sandbox can write there is hostile: no symlink is followed.
 */
#ifndef LOCAL_ATTACH_H
#define LOCAL_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

struct attach_place {
    int outer, inner;
    const char *path; /* to attach: absolute, in the sandbox */
    uint64_t device;  /* to detach: the number that was handed over */
    unsigned number;  /* of a folder of the start, in the outer namespace */
};

/* Mount FUSE, hand over its device (wire.h), and attach the mount at the path
 * once the device is served. The path is made if it does not exist. Exit on
 * failure. */
void attach_folder(const struct attach_place *place, bool read_only);

/* Unmount the device wherever it is now; force: even if processes of the
 * sandbox use it. Exit on failure. */
void attach_remove(const struct attach_place *place, bool force);

#endif
