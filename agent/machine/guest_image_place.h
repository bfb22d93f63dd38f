/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_image_place - the folders that guest images are in.
 *
 * A user's own images are in ${XDG_CACHE_HOME:-~/.cache}/stepback/guest/.
 * Images of all users are in /var/lib/stepback/images/
 * ($STEPBACK_SYSTEM_IMAGES), which programs only read; a user's own image of
 * the same name comes first.
 */
#ifndef AGENT_MACHINE_GUEST_IMAGE_PLACE_H
#define AGENT_MACHINE_GUEST_IMAGE_PLACE_H

#include <glib.h>
#include <stdbool.h>

enum guest_image_place { IMAGE_PLACE_USER, IMAGE_PLACE_SYSTEM };

/* Return the folder of all images of a place, which need not exist, as a new
 * string. */
char *guest_image_place_path(enum guest_image_place place);

/* Return whether an image of this name, which must be valid, is in a place. It
 * may be damaged. */
bool guest_image_place_has(enum guest_image_place place, const char *name);

/* Check that no other user but root can change a file: itself, and each folder
 * above it, belong to root or this user, and neither group nor others can write
 * to them (to a folder with the sticky bit they can). In the user's place a
 * group of which only the user is a member can, and symbolic links are
 * followed, with the same check of all that they name; in the system's they are
 * refused. path is absolute. On failure the error names the object:
 * ERROR_VM_LAUNCH_FAILED. Not thread-safe. */
gboolean guest_image_place_check(const char *path, enum guest_image_place place,
                                 GError **error);

#endif
