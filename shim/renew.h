/* SPDX-License-Identifier: Apache-2.0
 *
 * renew - make a machine differ from others that continue from the same saved
 * state.
 */
#ifndef SHIM_RENEW_H
#define SHIM_RENEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The members of "renew" (wire.h). */
struct renewal {
    const char *entropy; /* WIRE_ENTROPY bytes */
    const char *machine_id;
    int64_t time_us;
    const char *mac; /* NULL: the network is up, or there is none */
    const char *address, *netmask, *gateway, *dns;
};

/* As init. ret_changed: the root is another one than before. Return false with
 * the reason in error (at most size bytes). */
bool renew_apply(const struct renewal *renewal, bool *ret_changed, char *error,
                 size_t size);

#endif
