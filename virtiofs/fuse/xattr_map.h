/* SPDX-License-Identifier: Apache-2.0
 *
 * xattr_map - other names for a guest's extended attributes on the host.
 *
 * So a guest may have attributes that its server must not set on the host
 * (trusted., security.), or whose meaning there is another (SELinux labels).
 *
 * Rules, in the grammar of other virtio-fs daemons: fields between a separator,
 * which is the first character of each rule; white space between rules:
 *
 *     :TYPE:SCOPE:KEY:PREPEND:      :map:KEY:PREPEND:
 *
 * SCOPE is client (names that the guest asks for), server (names that a list
 * shows it) or all. A rule matches a client's name that begins with KEY, or a
 * server's that begins with PREPEND; the first that does decides:
 *     prefix       client: PREPEND is put before the name; server: taken away
 *     ok           the name stays
 *     bad          client: EPERM, and ENODATA for reading; server: hidden
 *     unsupported  client: ENOTSUP; server: hidden
 * map comes last. With a KEY it stands for prefix all, bad server "" KEY, bad
 * client PREPEND "", ok all; without, for prefix all and bad all. Names that no
 * rule matches are bad.
 *
 * Source: the documentation of virtiofsd, "xattr-mapping".
 */
#ifndef VIRTIOFS_FUSE_XATTR_MAP_H
#define VIRTIOFS_FUSE_XATTR_MAP_H

#include <glib.h>
#include <linux/limits.h>

struct xattr_map;

/* A new map; NULL and error with a text for the person. */
struct xattr_map *xattr_map_parse(const char *rules, GError **error);
void xattr_map_free(struct xattr_map *map);

struct xattr_map_name {
    char text[XATTR_NAME_MAX + 1];
};

/* The host's name of a guest's. 0, -EPERM, -ENOTSUP, or -ERANGE: too long. */
int xattr_map_client(const struct xattr_map *map, const char *name,
                     struct xattr_map_name *ret_name);

/* The guest's name of a host's: a part of name. NULL: hidden. */
const char *xattr_map_server(const struct xattr_map *map, const char *name);

/* A list (listxattr(2)) of size bytes, in place. Its new size. */
size_t xattr_map_list(const struct xattr_map *map, char *list, size_t size);

#endif
