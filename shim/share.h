/* SPDX-License-Identifier: Apache-2.0
 *
 * share - a folder of the host in the guest (shares.h).
 */
#ifndef SHIM_SHARE_H
#define SHIM_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/guest.h"

#define SHARES_MAX_TAG 64

struct share {
    int status;  /* pipe from the process that mounts, or the pump; -1: it has
                    ended */
    int leaving; /* pipe from the process that unmounts; -1: none */
    int refreshing; /* pipe from the process that refreshes; -1: none */
    int64_t refresh_id;
    bool is_9p;
    bool mounted;
    bool again; /* an old mount must be removed first */
    bool read_only;
    char tag[SHARES_MAX_TAG + 1];
    char path[GUEST_MAX_PATH];
    char aname[GUEST_MAX_PATH];
};

#endif
