/* SPDX-License-Identifier: Apache-2.0
 *
 * id_map - users and groups have other numbers for a guest than on the host.
 *
 * Rules are those of virtiofsd's --translate-uid (Rust, 1.13), and one more:
 *
 *     guest:GUEST:HOST:COUNT         the guest's GUEST... are HOST... here
 *     host:HOST:GUEST:COUNT          the host's HOST... are GUEST... there
 *     squash-guest:GUEST:HOST:COUNT  all of them are HOST
 *     squash-host:HOST:GUEST:COUNT   all of them are GUEST
 *     forbid-guest:GUEST:COUNT       a guest that uses one gets EPERM
 *     map:GUEST:HOST:COUNT           guest and host together
 *     ignore-guest:GUEST:COUNT       chown(2) to one changes nothing, and what
 *                                    one makes is the server's own
 *
 * with any separator that is no letter, digit, '-' or '_'. An id in no rule
 * stays as it is. ignore-guest is for a server without the right to give files
 * away, as containers/storage's ignore_chown_errors is.
 *
 * Threads: any, once it is complete.
 */
#ifndef DAEMON_ID_MAP_H
#define DAEMON_ID_MAP_H

#include <glib.h>
#include <stdint.h>
#include <sys/stat.h>

#include "interceptor/interceptor.h"

struct id_map;

/* Of a server. NULL: all ids stay as they are. */
struct id_maps {
    struct id_map *users, *groups;
};

struct id_map *id_map_new(void);

/* NULL is allowed. */
void id_map_free(struct id_map *map);

/* Add a rule. FALSE and error: it is none, or overlaps another. */
gboolean id_map_add(struct id_map *map, const char *rule, GError **error);

/* Add the rules, of which there may be none (NULL), to *inout_map, which is
 * made where it is missing. option: for the error. */
gboolean id_map_add_all(struct id_map **inout_map, const char *option,
                        char *const *rules, GError **error);

/* The host's number of a guest's: 0, 1 if it is to be ignored, or -EPERM. map
 * may be NULL. */
int id_map_to_host(const struct id_map *map, uint32_t id, uint32_t *ret_id);

/* The guest's number of a host's. map may be NULL. */
uint32_t id_map_to_guest(const struct id_map *map, uint32_t id);

void id_maps_clear(struct id_maps *maps);

/* The owner of a file as the guest sees it. */
void id_maps_to_guest(const struct id_maps *maps, struct stat *inout_stat);

/* Whose a file will be that this user of a guest makes: 0 or -EPERM. */
int id_maps_to_cred(const struct id_maps *maps, uint32_t uid, uint32_t gid,
                    struct ic_cred *ret_cred);

/* The owner that a guest sets. One that is ignored becomes -1, as in chown(2):
 * set-id bits go as they do with another owner. 0 or -EPERM. */
int id_maps_to_owner(const struct id_maps *maps, struct ic_setattr *inout_attr);

#endif
