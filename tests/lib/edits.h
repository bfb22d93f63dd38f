/* SPDX-License-Identifier: Apache-2.0
 *
 * edits - helpers for the tests of edits from outside.
 *
 * "Outside" is this process, which changes the folder by system calls. If it
 * also runs the engine, the watcher takes its edits for the engine's changes,
 * so in these worlds only comparison finds them. Under a mount the daemon's
 * watcher sees them too.
 */
#ifndef TESTS_EDITS_H
#define TESTS_EDITS_H

#include "tests/lib/world.h"

/* A folder with "file", "dir/file", "dir/sub/file", "dir/sub/gone", and "link"
 * and "linked", which are one file. The content of each is "old". */
struct edits {
    struct world *w;
    GPtrArray *before; /* the tree at the start */
};

struct edits_case {
    const char *name;
    void (*run)(struct edits *f);
};

/* Add each case as a test over each backend. cases is borrowed. */
void edits_add_cases(const struct edits_case *cases, size_t count);

/* ---- the client ---------------------------------------------------------- */

void edits_client_put(struct edits *f, const char *path, int flags,
                      const char *text);

void edits_client_mkdir(struct edits *f, const char *path);

/* Write text into one file in a step. */
void edits_client_step(struct edits *f, const char *path, const char *text);

/* ---- undo ---------------------------------------------------------------- */

json_t *edits_undo_payload(bool force);
bool edits_has_path(json_t *list, const char *path);

/* Assert that undo is refused because of this path and changes nothing. */
void edits_refused(struct edits *f, const char *path);

/* Return whether a warning of the reply contains this text. */
bool edits_warns(json_t *answer, const char *text);

/* Assert that a forced undo succeeds and its warnings name the path. */
void edits_forced(struct edits *f, const char *path);

/* Assert that undo is not refused. */
void edits_undone(struct edits *f);

/* Return whether the log, outside its steps, has a copy of a file with this
 * line. */
bool edits_is_set_aside(struct edits *f, const char *text);

/* ---- outside edits ------------------------------------------------------- */

void edits_write(struct edits *f, const char *path, const char *text);
void edits_replace(struct edits *f, const char *path, const char *text);
void edits_remove(struct edits *f, const char *path);
void edits_chmod(struct edits *f, const char *path, mode_t mode);

/* Set a file's attribute (chattr(1): "+i"). False: not supported here. */
bool edits_set_attribute(struct edits *f, const char *path, const char *flag);

/* Assert that the file has this text. */
void edits_assert_text(struct edits *f, const char *path, const char *text);

/* Return whether a watcher of another process sees what this process does. */
bool edits_is_watched(struct edits *f);

/* ---- barriers ------------------------------------------------------------ */

/* Run a shell command in the folder, in another process. */
void edits_shell(struct edits *f, const char *command);
void edits_host_mkdir(struct edits *f, const char *path);

/* Return a new array of the history's barriers. */
json_t *edits_barriers(struct edits *f);

/* Have all changes so far recorded. */
void edits_barriers_seen(struct edits *f);

/* Assert that there is no barrier; that some barrier names the path; that one
 * barrier names it and there is no other. */
void edits_no_barrier(struct edits *f);
void edits_has_barrier(struct edits *f, const char *path);
void edits_one_barrier(struct edits *f, const char *path);

/* Assert that this number of steps is undone, or previewed, and a warning names
 * the path. */
void edits_goes(struct edits *f, const char *request, int steps,
                const char *path);

/* What is created and removed again leaves nothing that a comparison could
 * find. */
void edits_make_and_edit(struct edits *f, const char *dir);

#endif
