/* SPDX-License-Identifier: Apache-2.0
 *
 * meta - the metadata of an inode that undo restores.
 *
 * Type, the 12 mode bits, owner, mtime (ns), device number, symlink target, all
 * extended attributes (ACLs and capabilities are attributes, too), and the
 * project that a folder passes to new entries. Not the atime, the inode number
 * or the ctime (which is recorded: ctime_ledger.h).
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
    mode_t mode; /* includes S_IFMT */
    uid_t uid;   /* or RIGHTS_UNKNOWN, which equals any id */
    gid_t gid;   /* likewise */
    struct timespec mtime;
    dev_t rdev;             /* of device nodes */
    char *target;           /* of symlinks, else NULL */
    GHashTable *xattrs;     /* name -> GBytes; NULL: none */
    struct project project; /* of a folder that passes it on; else zeroes */
    int64_t changed; /* clock_ns() of the ctime when read; not restored */
};

/* Read the metadata of the inode behind fd (of any kind, O_PATH included).
 * Returns 0 or -errno. Free with meta_free(). */
int meta_read(int fd, struct meta **ret_meta);

void meta_free(struct meta *meta);
typedef struct meta meta_auto;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(meta_auto, meta_free)

/* Convert to and from members of a log record. meta_from_record() returns NULL
 * if the record is malformed. */
void meta_to_record(const struct meta *meta, json_t *record);
struct meta *meta_from_record(json_t *record);

/* Give the inode behind fd this metadata. Sets what differs, in an order in
 * which no step undoes another: owner, attributes, mode, mtime. Returns 0 or
 * -errno. */
int meta_apply(const struct meta *meta, int fd);

/* Return whether type, mode, owner and attributes are equal; with_mtime: the
 * mtime, too. */
bool meta_equal(const struct meta *a, const struct meta *b, bool with_mtime);

/* Return a checksum of mode and attributes. */
uint32_t meta_digest(const struct meta *meta);

/* Make an empty inode of this type at dirfd/name, owned by this process. */
int meta_create_inode(const struct meta *meta, int dirfd, const char *name);

#endif
