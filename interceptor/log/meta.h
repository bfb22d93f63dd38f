/* SPDX-License-Identifier: Apache-2.0
 *
 * meta - an inode's metadata: what undo restores besides content and names.
 *
 * Type, the 12 mode bits, owner, mtime (ns), device number, symlink target
 * and all extended attributes (ACLs and capabilities are attributes too), and
 * of a folder whether it gives its project to what is in it. Not atime, not
 * ctime (which is noted: own.h), not the inode number.
 */
#ifndef INTERCEPTOR_LOG_META_H
#define INTERCEPTOR_LOG_META_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "interceptor/sys/project.h"

struct meta {
    mode_t mode; /* with S_IFMT */
    uid_t uid;   /* or RIGHTS_UNKNOWN, which equals any */
    gid_t gid;   /* the same */
    struct timespec mtime;
    dev_t rdev;             /* device nodes */
    char *target;           /* symlinks, else NULL */
    GHashTable *xattrs;     /* name -> GBytes; NULL: there are none */
    struct project project; /* of a folder that gives it on; else zeroes */
    int64_t changed; /* clock_ns() of its ctime when read; not restored */
};

/* Read the metadata of the inode behind fd (of any kind, O_PATH too). 0 or
 * -errno. Free with meta_free(). */
int meta_read(int fd, struct meta **ret_meta);

void meta_free(struct meta *meta);
typedef struct meta meta_auto;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(meta_auto, meta_free)

/* To and from members of a log record. meta_from_record() returns NULL if the
 * record is not well-formed. */
void meta_to_record(const struct meta *meta, json_t *record);
struct meta *meta_from_record(json_t *record);

/* Make the inode behind fd have this metadata: what differs is set, in an
 * order in which one does not undo the other (owner, mode, attributes, times;
 * mtime is set last in any case). 0 or -errno. */
int meta_apply(const struct meta *meta, int fd);

/* The same type, mode, owner and attributes? mtime only if with_mtime. */
bool meta_equal(const struct meta *a, const struct meta *b, bool with_mtime);

/* A checksum of mode and attributes. */
uint32_t meta_digest(const struct meta *meta);

/* Make an empty inode of this type at dirfd/name, owned by us. */
int meta_create_inode(const struct meta *meta, int dirfd, const char *name);

#endif
