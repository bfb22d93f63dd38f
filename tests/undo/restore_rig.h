/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_rig - a folder that a step has changed, of which paths are restored.
 *
 * It has the files "file", "second", "bystander", "big" (sparse), "linked",
 * which is "dir/other-link", too, and one whose name is not UTF-8; the symlink
 * "symbolic"; the folders "empty" and "dir", with "file", "sub/one" and
 * "sub/deeper/two".
 */
#ifndef TESTS_RESTORE_RIG_H
#define TESTS_RESTORE_RIG_H

#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

enum { RESTORE_RIG_BIG = 8 << 20 }; /* bytes of "big", and 100 */

struct restore_rig {
    struct world *w;
    GPtrArray *before, *after; /* the tree, around the step */
};

typedef void restore_rig_change(struct world *w);

/* Make it, and the step. False: not here. */
bool restore_rig_begin(struct restore_rig *t, gconstpointer backend,
                       restore_rig_change *first);
void restore_rig_end(struct restore_rig *t);

/* A change of each kind. */
void restore_rig_change_much(struct world *w);

/* paths end with NULL, here and below. */
json_t *restore_rig_payload(const char *const *paths, bool force);

/* Restore them, by a new step. The answer, new. */
json_t *restore_rig_restore(struct restore_rig *t, const char *const *paths);

/* What is asked for is as before the step, all else as after it. */
void restore_rig_compare(struct restore_rig *t, const char *const *paths);

/* Restore, look, undo, look, redo, look, and undo again. The answer, new. */
json_t *restore_rig_check(struct restore_rig *t, const char *const *paths);

/* It is refused with this code, and nothing has changed. */
void restore_rig_refused(struct restore_rig *t, const char *const *paths,
                         int code);

#define PATHS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define CHECK(...) json_decref(restore_rig_check(&t, PATHS(__VA_ARGS__)))

#endif
