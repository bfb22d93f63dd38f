/* SPDX-License-Identifier: Apache-2.0
 *
 * copy_attributes - extended attributes between files and archive entries.
 */
#ifndef COPY_COPY_ATTRIBUTES_H
#define COPY_COPY_ATTRIBUTES_H

#include <archive_entry.h>
#include <stdbool.h>

/* Add the attributes that copies keep to an entry. */
void copy_attributes_read(int fd, struct archive_entry *entry);

/* Set an entry's attributes on a file: user.*, and if all is true also
 * capabilities and POSIX ACLs; others are ignored. A file system without such
 * attributes is no error. Return 0 or -errno. */
int copy_attributes_write(int fd, struct archive_entry *entry, bool all);

#endif
