/* SPDX-License-Identifier: Apache-2.0
 *
 * xattr_map - maps a guest's extended attributes to other names on the host.
 *
 * A guest can thus have attributes that its server must not set on the host
 * (trusted., security.), or that mean something else there (SELinux labels).
 *
 * Rules use the grammar of other virtio-fs daemons: fields between a separator,
 * which is the first character of each rule; white space between rules:
 *
 *     :TYPE:SCOPE:KEY:PREPEND:      :map:KEY:PREPEND:
 *
 * SCOPE is client (names that the guest requests), server (names in a list that
 * the guest gets) or all. A rule matches a client's name that begins with KEY,
 * or a server's that begins with PREPEND; the first match decides:
 *     prefix       client: PREPEND is put before the name; server: removed
 *     ok           the name stays
 *     bad          client: EPERM, and ENODATA for reading; server: hidden
 *     unsupported  client: ENOTSUP; server: hidden
 * map comes last. With a KEY it means prefix all, bad server "" KEY, bad client
 * PREPEND "", ok all; without, prefix all and bad all. Names that match no rule
 * are bad.
 *
 * Source: the documentation of virtiofsd, "xattr-mapping".
 */
#ifndef VIRTIOFS_FUSE_XATTR_MAP_H
#define VIRTIOFS_FUSE_XATTR_MAP_H

#include <glib.h>
#include <linux/limits.h>

struct xattr_map;

/* Return a new map; NULL and error with a message for the user. */
struct xattr_map *xattr_map_parse(const char *rules, GError **error);
void xattr_map_free(struct xattr_map *map);

struct xattr_map_name {
    char text[XATTR_NAME_MAX + 1];
};

/* Map a guest's name to the host's. Return 0, -EPERM, -ENOTSUP, or -ERANGE if
 * it is too long. */
int xattr_map_client(const struct xattr_map *map, const char *name,
                     struct xattr_map_name *ret_name);

/* Map a host's name to the guest's, a substring of name. Return NULL if
 * hidden. */
const char *xattr_map_server(const struct xattr_map *map, const char *name);

/* Map a list (listxattr(2)) of size bytes in place. Return its new size. */
size_t xattr_map_list(const struct xattr_map *map, char *list, size_t size);

#endif
