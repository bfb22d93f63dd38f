/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_apply_inode - change content and metadata as planned (paths_apply.h).
 */
#ifndef INTERCEPTOR_PATHS_APPLY_INODE_H
#define INTERCEPTOR_PATHS_APPLY_INODE_H

#include "interceptor/interceptor.h"
#include "interceptor/paths/paths_node.h"

struct applier {
    struct ic *ic;
    const struct paths_plan *plan;
    GPtrArray *warnings;
    const struct paths_node *failed; /* or NULL */
};

/* Each returns 0 or -errno. */

/* Write the image's content to a file of the share: all of it to a new file,
 * only the differences to an existing one. fd: the file, open for writing. */
int paths_write_image(struct applier *a, const struct past_image *image,
                      struct ic_inode *file, int fd);

/* Set the inode's former metadata. */
int paths_set_meta(struct applier *a, const struct paths_node *node,
                   struct ic_inode *inode);

/* If the mode keeps an ordinary user from changing an inode that it may own,
 * grant the owner the missing bits for now. *ret_before: the mode; *ret_done:
 * it was changed. */
int paths_loosen(struct applier *a, struct ic_inode *inode, mode_t *ret_before,
                 bool *ret_done);

#endif
