/* SPDX-License-Identifier: Apache-2.0
 *
 * lease_changes - requests that change something through a node.
 *
 * Each can be made once for a node, in this order.
 */
#ifndef TESTS_LEASE_CHANGES_H
#define TESTS_LEASE_CHANGES_H

#include "tests/virtiofs/parked_guest.h"

struct lease_change {
    const char *name;
    int (*make)(struct guest *g, uint64_t node); /* 0 or -errno */
};

enum { LEASE_OF_FILES = 7, LEASE_OF_FOLDERS = 10 };

extern const struct lease_change lease_of_files[LEASE_OF_FILES];
/* The folder has a file "g". */
extern const struct lease_change lease_of_folders[LEASE_OF_FOLDERS];

int lease_open_read(struct guest *g, uint64_t node);
int lease_open_write(struct guest *g, uint64_t node);
int lease_set_mode(struct guest *g, uint64_t node);

#endif
