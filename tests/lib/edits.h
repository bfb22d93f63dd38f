/* SPDX-License-Identifier: Apache-2.0
 *
 * edits - what the tests of edits from outside share.
 *
 * "Outside" is this process, which changes the folder by system calls. Where
 * it also runs the engine, the watcher takes it for the engine: so in these
 * worlds comparing must find everything. Under a mount the daemon's watcher
 * sees it as well.
 */
#ifndef TESTS_EDITS_H
#define TESTS_EDITS_H

#include "tests/lib/world.h"

/* A folder with "file", "dir/file", "dir/sub/file", "dir/sub/gone", and "link"
 * and "linked", which are one file. Each has "old" in it. */
struct edits {
    struct world *w;
    GPtrArray *before; /* the tree at the start */
};

struct edits_case {
    const char *name;
    void (*run)(struct edits *f);
};

/* Add each of them, over each backend, as a test. cases stays the caller's. */
void edits_add_cases(const struct edits_case *cases, size_t count);

/* ---- the client ---------------------------------------------------------- */

void edits_client_put(struct edits *f, const char *path, int flags,
                      const char *text);

/* A step that writes a text into one file. */
void edits_client_step(struct edits *f, const char *path, const char *text);

/* ---- undo ---------------------------------------------------------------- */

json_t *edits_undo_payload(bool force);
bool edits_has_path(json_t *list, const char *path);

/* Undo is refused because of this path, and changes nothing. */
void edits_refused(struct edits *f, const char *path);

/* A warning of the answer has this text in it. */
bool edits_warns(json_t *answer, const char *text);

/* With force it goes on, and the warnings name the path. */
void edits_forced(struct edits *f, const char *path);

/* It is not refused. */
void edits_undone(struct edits *f);

/* Has the log a copy of a file with this line, beside its steps? */
bool edits_is_set_aside(struct edits *f, const char *text);

/* ---- outside ------------------------------------------------------------- */

void edits_write(struct edits *f, const char *path, const char *text);
void edits_replace(struct edits *f, const char *path, const char *text);
void edits_remove(struct edits *f, const char *path);
void edits_chmod(struct edits *f, const char *path, mode_t mode);

/* Set a file's attribute (chattr(1): "+i"). False: not here. */
bool edits_set_attribute(struct edits *f, const char *path, const char *flag);

/* Has the file this text? */
void edits_assert_text(struct edits *f, const char *path, const char *text);

/* Does a watcher of another process see what we do? */
bool edits_is_watched(struct edits *f);

/* ---- barriers ------------------------------------------------------------ */

/* Run a line of the shell in the folder: another process. */
void edits_shell(struct edits *f, const char *command);

/* A new array of the history's barriers. */
json_t *edits_barriers(struct edits *f);

/* Until now, what has happened is noted. */
void edits_barriers_seen(struct edits *f);

/* There is none; some barrier names the path; one barrier does, and no other
 * exists. */
void edits_no_barrier(struct edits *f);
void edits_has_barrier(struct edits *f, const char *path);
void edits_one_barrier(struct edits *f, const char *path);

/* So many steps are undone, or previewed, and a warning names the path. */
void edits_goes(struct edits *f, const char *request, int steps,
                const char *path);

/* What comes and goes leaves nothing that could be found by comparing. */
void edits_make_and_edit(struct edits *f, const char *dir);

#endif
