/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_image - the files that the virtual machine boots from.
 *
 * An image is a folder with its name, in one of the places of
 * guest_image_place.h, built by "stepback image build":
 *
 *     vmlinuz         the kernel
 *     initrd          its initramfs
 *     rootfs.ext4     optional: a root file system, attached read-only
 *     image.json      {"append": "words for the kernel's command line",
 *                     "tools": ["bash", "git", ...],
 *                     "sizes": {"vmlinuz": bytes, ...}}: of the other files, as
 *                     they were built; absent: unknown
 */
#ifndef AGENT_MACHINE_GUEST_IMAGE_H
#define AGENT_MACHINE_GUEST_IMAGE_H

#include <glib.h>

#include "agent/machine/guest_image_place.h"

#define GUEST_IMAGE_DEFAULT "minimal"

struct guest_image {
    char *kernel;
    char *initrd; /* NULL: none */
    char *rootfs; /* NULL: none */
    char *append; /* may be empty */
};

/* Return the directory of the user's image of this name, or of the system's if
 * only that exists, as a new string. It need not exist. ret_place may be NULL.
 * On an invalid name return NULL with ERROR_INVALID_FIELD. */
char *guest_image_dir(const char *name, enum guest_image_place *ret_place,
                      GError **error);

/* Return the directory of the templates of machines (vm/template_store.h),
 * which need not exist, as a new string. No image has such a name. */
char *guest_image_templates(void);

/* Find an image's files. Those of a system's image must be complete. No
 * other user but root may be able to change an image's files. Non-NULL kernel,
 * initrd and disk replace the image's own; with both kernel and initrd, no
 * image is needed. All borrowed. On failure return NULL with
 * ERROR_INVALID_FIELD, or ERROR_VM_LAUNCH_FAILED and a text that names the
 * remedy. */
struct guest_image *guest_image_find(const char *name, const char *kernel,
                                     const char *initrd, const char *disk,
                                     GError **error);

/* Return the names of the well-known tools that an image has, as its builder
 * found them: a new array that is not empty, or NULL if they are unknown. */
char **guest_image_tools(const char *name);

void guest_image_free(struct guest_image *image);

#endif
