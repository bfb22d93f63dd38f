/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_image - what the virtual machine boots.
 *
 * An image is a folder ${XDG_CACHE_HOME:-~/.cache}/stepback/guest/NAME/ made by
 * "stepback image build":
 *
 *     vmlinuz         the kernel
 *     initrd          its initramfs
 *     rootfs.ext4     optional: a root file system, attached read-only
 *     image.json      {"append": "more words for the kernel's command line"}
 */
#ifndef AGENT_VM_GUEST_IMAGE_H
#define AGENT_VM_GUEST_IMAGE_H

#include <glib.h>

#define GUEST_IMAGE_DEFAULT "minimal"

struct guest_image {
    char *kernel;
    char *initrd; /* NULL: none */
    char *rootfs; /* NULL: none */
    char *append; /* "" if there is nothing to add */
};

/* The folder of an image, whether it exists or not. A new string; NULL and
 * ERROR_INVALID_FIELD if the name is none. */
char *guest_image_dir(const char *name, GError **error);

/* Find an image's files. kernel, initrd and disk replace the image's own if
 * they are not NULL; given both kernel and initrd, no image is needed. All
 * borrowed. NULL and error: ERROR_INVALID_FIELD, or ERROR_VM_LAUNCH_FAILED
 * with a text that says what to do. */
struct guest_image *guest_image_find(const char *name, const char *kernel,
                                     const char *initrd, const char *disk,
                                     GError **error);
void guest_image_free(struct guest_image *image);

#endif
