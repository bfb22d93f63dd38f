/* SPDX-License-Identifier: Apache-2.0
 *
 * id_map - other numbers for a guest's users or groups on the host.
 *
 * Rules are those of virtiofsd's --translate-uid (Rust, 1.13):
 *
 *     guest:GUEST:HOST:COUNT         the guest's GUEST... are HOST... here
 *     host:HOST:GUEST:COUNT          the host's HOST... are GUEST... there
 *     squash-guest:GUEST:HOST:COUNT  all of them are HOST
 *     squash-host:HOST:GUEST:COUNT   all of them are GUEST
 *     forbid-guest:GUEST:COUNT       a guest that uses one gets EPERM
 *     map:GUEST:HOST:COUNT           guest and host together
 *
 * with any separator that is no letter, digit, '-' or '_'. Who is in no rule
 * keeps the number.
 *
 * Threads: any, once it is complete.
 */
#ifndef VIRTIOFS_ID_MAP_H
#define VIRTIOFS_ID_MAP_H

#include <glib.h>
#include <stdint.h>

struct id_map;

struct id_map *id_map_new(void);

/* NULL is allowed. */
void id_map_free(struct id_map *map);

/* Add a rule. FALSE and error: it is none, or overlaps another. */
gboolean id_map_add(struct id_map *map, const char *rule, GError **error);

/* The host's number of a guest's: 0, or -EPERM. map may be NULL. */
int id_map_to_host(const struct id_map *map, uint32_t id, uint32_t *ret_id);

/* The guest's number of a host's. map may be NULL. */
uint32_t id_map_to_guest(const struct id_map *map, uint32_t id);

#endif
