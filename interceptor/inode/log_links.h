/* SPDX-License-Identifier: Apache-2.0
 *
 * log_links - the links that the undo log has to inodes of the share.
 *
 * A removed file lives on in the log, so stat(2) counts the log's link. The
 * client must not see it: a removed file has no link left, one of two links
 * leaves one. log_links has the count for each inode, and keeps log_links of
 * the inodes known to the server up to date.
 *
 * Threads: any.
 */
#ifndef INTERCEPTOR_INODE_LOG_LINKS_H
#define INTERCEPTOR_INODE_LOG_LINKS_H

#include <stdint.h>
#include <sys/types.h>

struct log_links;
struct inode_table;

struct log_links *log_links_new(dev_t share_dev);
void log_links_free(struct log_links *links);

/* Set the table whose inodes are kept up to date; borrowed. */
void log_links_set_table(struct log_links *links, struct inode_table *table);

/* Record that the log made (delta 1) or dropped (-1) a link to the inode. */
void log_links_change(struct log_links *links, uint64_t ino, int delta);

/* Record that the log took or dropped blobs/i<ino> and, if that (still) exists
 * and is a directory, every entry in it; blobs -1: one link that is not a
 * directory. Returns 0 or -errno; on error nothing was dropped. */
int log_links_change_kept(struct log_links *links, int blobs, uint64_t ino,
                          int delta);

/* Do this for all inodes, "i<ino>", in a blobs folder. Returns 0 or the first
 * -errno; the remaining inodes are counted nevertheless. */
int log_links_change_all(struct log_links *links, int blobs, int delta);

/* Return how many links the log has; for inode_table_new(). */
unsigned log_links_count(dev_t dev, ino_t ino, void *links);

#endif
