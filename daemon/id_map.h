/* SPDX-License-Identifier: Apache-2.0
 *
 * id_map - translates user and group ids between guest and host.
 *
 * The rules are those of virtiofsd's --translate-uid (Rust, 1.13), plus
 * ignore-guest:
 *
 *     guest:GUEST:HOST:COUNT         the guest's GUEST... are HOST... here
 *     host:HOST:GUEST:COUNT          the host's HOST... are GUEST... there
 *     squash-guest:GUEST:HOST:COUNT  all of them are HOST
 *     squash-host:HOST:GUEST:COUNT   all of them are GUEST
 *     forbid-guest:GUEST:COUNT       a guest that uses one gets EPERM
 *     map:GUEST:HOST:COUNT           guest and host together
 *     ignore-guest:GUEST:COUNT       chown(2) to one changes nothing, and the
 *                                    server owns the files that one creates
 *
 * with any separator that is not a letter, digit, '-' or '_'. An id without a
 * rule is unchanged. ignore-guest is for a server that may not give files away,
 * like containers/storage's ignore_chown_errors.
 *
 * Threads: any, once the map is complete.
 */
#ifndef DAEMON_ID_MAP_H
#define DAEMON_ID_MAP_H

#include <glib.h>
#include <stdint.h>
#include <sys/stat.h>

#include "interceptor/interceptor.h"

struct id_map;

/* The maps of a server. NULL: ids are unchanged. */
struct id_maps {
    struct id_map *users, *groups;
};

struct id_map *id_map_new(void);

/* NULL is allowed. */
void id_map_free(struct id_map *map);

/* Add a rule. Return FALSE and error if it is malformed or overlaps another. */
gboolean id_map_add(struct id_map *map, const char *rule, GError **error);

/* Add rules (NULL: none) to *inout_map, which is created if NULL. option: the
 * name for the error. */
gboolean id_map_add_all(struct id_map **inout_map, const char *option,
                        char *const *rules, GError **error);

/* Translate a guest's id to the host's. Return 0, 1 if it is to be ignored, or
 * -EPERM. map may be NULL. */
int id_map_to_host(const struct id_map *map, uint32_t id, uint32_t *ret_id);

/* Translate a host's id to the guest's. map may be NULL. */
uint32_t id_map_to_guest(const struct id_map *map, uint32_t id);

void id_maps_clear(struct id_maps *maps);

/* Translate the owner of a file to the guest's ids. */
void id_maps_to_guest(const struct id_maps *maps, struct stat *inout_stat);

/* Determine the owner of a file that this user of a guest creates. Return 0 or
 * -EPERM. */
int id_maps_to_cred(const struct id_maps *maps, uint32_t uid, uint32_t gid,
                    struct ic_cred *ret_cred);

/* Translate the owner that a guest sets. An ignored one becomes -1, as in
 * chown(2): set-id bits are cleared as for another owner. Return 0 or
 * -EPERM. */
int id_maps_to_owner(const struct id_maps *maps, struct ic_setattr *inout_attr);

#endif
