/* SPDX-License-Identifier: Apache-2.0
 *
 * held - links that the undo log holds of the share's inodes.
 *
 * A removed file lives on in the log, so stat(2) counts the log's link. The
 * client must not see it: what it removed has no link left, what had two has
 * one. held_links knows the number for each inode, and keeps log_links of the
 * inodes that the server holds up to date.
 *
 * Threads: any.
 */
#ifndef INTERCEPTOR_INODE_HELD_H
#define INTERCEPTOR_INODE_HELD_H

#include <stdint.h>
#include <sys/types.h>

struct held_links;
struct inode_table;

struct held_links *held_links_new(dev_t share_dev);
void held_links_free(struct held_links *held);

/* The table whose inodes are kept up to date; borrowed. */
void held_links_set_table(struct held_links *held, struct inode_table *table);

/* The log took (delta 1) or gave up (-1) a link of the inode. */
void held_links_change(struct held_links *held, uint64_t ino, int delta);

/* The log took or gave up blobs/i<ino>, and, if that is (still) there and a
 * directory, what is in it; blobs -1: one link that is none. 0 or -errno, and
 * then nothing was given up. */
int held_links_change_kept(struct held_links *held, int blobs, uint64_t ino,
                           int delta);

/* For all kept inodes, "i<ino>", in a blobs folder. 0, or the first -errno; the
 * others are counted. */
int held_links_change_all(struct held_links *held, int blobs, int delta);

/* How many links the log holds; for inode_table_new(). */
unsigned held_links_count(dev_t dev, ino_t ino, void *held);

#endif
