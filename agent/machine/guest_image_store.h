/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_image_store - remove images, and the packages that builds have fetched.
 *
 * Both exclude builds (contrib/guest/build) by the lock of the place.
 */
#ifndef AGENT_MACHINE_GUEST_IMAGE_STORE_H
#define AGENT_MACHINE_GUEST_IMAGE_STORE_H

#include <glib.h>

#include "agent/machine/guest_image_place.h"

/* Remove an image. Machines that run keep its open files. Fails with
 * ERROR_INVALID_FIELD (name), ERROR_NOT_FOUND, ERROR_BUSY (a build runs), or
 * ERROR_IO_ERROR: also if the folder has files that no image has, and then all
 * of them stay. */
gboolean guest_image_remove(enum guest_image_place place, const char *name,
                            GError **error);

/* Return the disk space of the packages that builds of a place's images have
 * fetched, and that the next build would fetch again. */
guint64 guest_image_packages_size(enum guest_image_place place);

/* Remove these packages. Fails with ERROR_BUSY or ERROR_IO_ERROR. */
gboolean guest_image_packages_remove(enum guest_image_place place,
                                     GError **error);

#endif
