/* SPDX-License-Identifier: Apache-2.0
 *
 * notify_place - what notify_peer.c has a guest look at again.
 *
 * Threads: any, one at a time for each object.
 */
#ifndef VIRTIOFS_FUSE_NOTIFY_PLACE_H
#define VIRTIOFS_FUSE_NOTIFY_PLACE_H

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

/* A name, and an inode that may have it; dir and inode are node ids. */
struct notify_place {
    uint64_t dir; /* 0: the inode alone */
    uint64_t inode;
    char *name; /* or NULL */
};

/* Return an array, or a set, that owns its places. */
GArray *notify_place_array(void);
GHashTable *notify_place_set(void);

/* For g_array_sort(). Those of a folder follow each other: the guest opens it
 * once. */
gint notify_place_compare(gconstpointer a, gconstpointer b);

/* Return an element of "names" (notify_peer.h): a new reference. */
json_t *notify_place_pack(const struct notify_place *place);

#endif
