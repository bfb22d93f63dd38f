/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_rig - a folder that a step has changed, of which paths are restored.
 *
 * It has the files "file", "second", "bystander", "big" (sparse), "linked",
 * which is "dir/other-link", too, and one whose name is not UTF-8; the symlink
 * "symbolic"; the directories "empty" and "dir", with "file", "sub/one" and
 * "sub/deeper/two".
 */
#ifndef TESTS_RESTORE_RIG_H
#define TESTS_RESTORE_RIG_H

#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

enum { RESTORE_RIG_BIG = 8 << 20 }; /* "big" has 100 bytes more */

struct restore_rig {
    struct world *w;
    GPtrArray *before, *after; /* the tree before and after the step */
};

typedef void restore_rig_change(struct world *w);

/* Make the folder and the step. False: not possible here. */
bool restore_rig_begin(struct restore_rig *t, gconstpointer backend,
                       restore_rig_change *first);
void restore_rig_end(struct restore_rig *t);

/* Make a change of each kind. */
void restore_rig_change_much(struct world *w);

/* paths are NULL-terminated, here and below. */
json_t *restore_rig_payload(const char *const *paths, bool force);

/* Restore the paths in a new step. The reply, new. */
json_t *restore_rig_restore(struct restore_rig *t, const char *const *paths);

/* Assert that the paths are as before the step, and all else as after it. */
void restore_rig_compare(struct restore_rig *t, const char *const *paths);

/* Restore, undo, redo, and undo again, with a comparison after each. The reply,
 * new. */
json_t *restore_rig_check(struct restore_rig *t, const char *const *paths);

/* Assert that it is refused with this code and changes nothing. */
void restore_rig_refused(struct restore_rig *t, const char *const *paths,
                         int code);

#define PATHS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define CHECK(...) json_decref(restore_rig_check(&t, PATHS(__VA_ARGS__)))

#endif
