/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_parts - what the files of sandbox share, and nobody else uses.
 */
#ifndef COMMON_SANDBOX_PARTS_H
#define COMMON_SANDBOX_PARTS_H

#include "common/sandbox.h"

struct sandbox {
    enum sandbox_mode mode; /* as it came out: never SANDBOX_AUTO */
    enum sandbox_action action;
    bool read_only;
    char *modcaps;
    bool file_handles;
    char *share, *undo_dir, *store_dir; /* paths in it */
};

/* Where things are to be mounted. */
struct sandbox_places {
    /* Real paths outside; only the first is never NULL. */
    char *share, *undo_dir, *store_dir;
    char *common; /* the parent of share and log, if one mount has them */
};

/* A user namespace (sandbox_ids.c), with the maps of options: in two parts,
 * because the maps are written by a process outside. False and error. */
struct sandbox_mapper;
struct sandbox_mapper *sandbox_mapper_new(const struct sandbox_options *options,
                                          GError **error);
gboolean sandbox_mapper_run(struct sandbox_mapper *mapper, GError **error);
void sandbox_mapper_free(struct sandbox_mapper *mapper);

/* Make the tree of mounts and make it the root (sandbox_mounts.c): sets the
 * sandbox's paths. */
gboolean sandbox_mount_root(struct sandbox *sandbox,
                            const struct sandbox_places *places,
                            GError **error);

/* The same with chroot(2). */
gboolean sandbox_change_root(struct sandbox *sandbox,
                             const struct sandbox_places *places,
                             GError **error);

gboolean sandbox_drop_capabilities(const char *modcaps, bool file_handles,
                                   GError **error);

/* False and no error: this kernel has none that is good enough. */
gboolean sandbox_restrict_paths(const struct sandbox *sandbox, GError **error);

/* An error with the text of errno. FALSE. */
gboolean sandbox_fail(GError **error, const char *what);

#endif
