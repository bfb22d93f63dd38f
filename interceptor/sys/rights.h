/* SPDX-License-Identifier: Apache-2.0
 *
 * rights - what we could put back of an inode's owner and mode.
 *
 * An ordinary user may take from a file what only root can give it: a group
 * that the user is not in, file capabilities, the set-group-ID bit. And in a
 * user namespace the ids that its map does not have look all alike, as
 * "nobody" (user_namespaces(7), overflow ids), and projects cannot be set.
 * Attributes named "security." want CAP_SYS_ADMIN, which a daemon gives up.
 */
#ifndef INTERCEPTOR_SYS_RIGHTS_H
#define INTERCEPTOR_SYS_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Of a user or a group: not known. To chown(2) it means: leave it. */
#define RIGHTS_UNKNOWN UINT32_MAX

/* Find out which ids are known. Before there are clients; again is harmless. */
void rights_prepare(void);

/* The id that stat(2) tells, or RIGHTS_UNKNOWN. */
uid_t rights_uid(uid_t uid);
gid_t rights_gid(gid_t gid);

/* Both known, or one not: do they differ? */
bool rights_differ(uint32_t a, uint32_t b);

/* Could we make a file of ours have this owner, or this group? */
bool rights_may_give_user(uid_t uid);
bool rights_may_give_group(gid_t gid);

/* Could we set this inode's set-group-ID bit? */
bool rights_may_set_group_bit(const struct stat *st);

/* Has it file capabilities that we could not set? 1, 0 or -errno. */
int rights_lack_capability(int fd);

/* Has it other attributes of security modules that we could not set? 1, 0 or
 * -errno. */
int rights_lack_attributes(int fd);

/* May we write what its mode does not let us (CAP_DAC_OVERRIDE)? As a thread
 * first found that asked. */
bool rights_override_mode(void);

/* Are we told of attributes named "trusted."? Else they look as if there were
 * none (xattr(7)). */
bool rights_see_trusted(void);

/* Could we set the project of this inode? (project.h) */
bool rights_may_set_project(const struct stat *st);

#endif
