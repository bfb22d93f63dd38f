/* SPDX-License-Identifier: Apache-2.0
 *
 * rights - the parts of an inode's owner and mode that undo could restore.
 *
 * An ordinary user may remove from a file what only root can restore: a group
 * that the user is not in, file capabilities, the set-group-ID bit. In a user
 * namespace all ids that the map lacks appear as the overflow id 65534
 * (user_namespaces(7)), and projects cannot be set. Attributes named
 * "security." need CAP_SYS_ADMIN, which a daemon drops.
 */
#ifndef INTERCEPTOR_SYS_RIGHTS_H
#define INTERCEPTOR_SYS_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* A user or group id that is unknown. chown(2) leaves such an id unchanged. */
#define RIGHTS_UNKNOWN UINT32_MAX

/* Find out which ids are known. Call before clients connect; may be repeated.
 */
void rights_prepare(void);

/* Return the id that stat(2) reported, or RIGHTS_UNKNOWN. */
uid_t rights_uid(uid_t uid);
gid_t rights_gid(gid_t gid);

/* Return whether two ids differ; false if one of them is unknown. */
bool rights_differ(uint32_t a, uint32_t b);

/* Return whether this process could give a file of its own this owner or group.
 */
bool rights_may_give_user(uid_t uid);
bool rights_may_give_group(gid_t gid);

/* Return whether this process could set the inode's set-group-ID bit. */
bool rights_may_set_group_bit(const struct stat *st);

/* Return 1 if the inode has file capabilities that this process could not set,
 * 0 if not, or -errno. */
int rights_lack_capability(int fd);

/* Return 1 if the inode has other security attributes that this process could
 * not set, 0 if not, or -errno. */
int rights_lack_attributes(int fd);

/* Return whether this process may write files against their mode
 * (CAP_DAC_OVERRIDE). The first calling thread's capability decides for all. */
bool rights_override_mode(void);

/* Return whether this process sees attributes named "trusted."; without
 * CAP_SYS_ADMIN they are invisible (xattr(7)). */
bool rights_see_trusted(void);

/* Return whether this process could set the inode's project (project.h). */
bool rights_may_set_project(const struct stat *st);

#endif
