/* SPDX-License-Identifier: Apache-2.0
 *
 * model_run - run operations in a world and compare the trees.
 *
 * After each rollback the tree must be what the model says. The model is a list
 * of steps, each with snapshots of the tree before and after it, and knows the
 * engine's rules: limits, outside edits, how long redo is possible. If the
 * rules do not define the exact result, a snapshot is dropped (NULL: unknown);
 * later ones are exact again.
 */
#ifndef TESTS_MODEL_RUN_H
#define TESTS_MODEL_RUN_H

#include <stdbool.h>

#include "tests/model/model_script.h"
#include "tests/lib/world.h"

enum { MODEL_SLOTS = 8 };

/* A step of the history, or one that was undone and can be redone. */
struct model_step {
    int64_t id;
    uint64_t order;            /* among the other steps and m->barriers */
    GPtrArray *before, *after; /* snapshots; NULL: unknown */
    bool unprotected;
    bool edited; /* what it left was edited: refused */
    bool unsure; /* edited may be true */
    bool linked; /* a file may have gained names meanwhile */
    char *loose; /* with edited: forced undo need not restore this path */
};

struct model {
    struct world *w; /* borrowed; started */
    bool trace;
    GString *failure; /* empty: success */

    void *handles[MODEL_SLOTS]; /* open files, or NULL */

    char *said; /* the last error of a request, or NULL */

    int64_t step; /* the open step, or 0 */
    bool ambient; /* something changed outside a step */
    bool linked;  /* in either a file was given another name */
    bool ever_linked;

    /* Owned struct model_step, oldest first; and those that were undone, the
     * next to be redone last. redo_unsure: there may be none. */
    GPtrArray *steps, *redos;
    bool redo_unsure;

    /* When the watcher saw edits: the order of each (guint64). A step with a
     * smaller order may be refused if it overlaps the edit (overlap.h). */
    GArray *barriers;
    uint64_t last_order;

    /* Snapshots: the tree before the open step, and the present one (NULL:
     * changed since). looks: the number of snapshots taken. */
    GPtrArray *pending, *now;
    unsigned looks;

    /* The places of the inodes before the open step; and before the newest step
     * of the history, which has this id (0: unknown). */
    GHashTable *pending_places, *places;
    int64_t places_id;

    struct {
        int64_t count, step, log; /* -1: no limit */
    } limits;
};

/* The world is started. */
struct model *model_new(struct world *world);
void model_free(struct model *model);

/* Run one operation. False: the result is wrong, see model->failure. */
bool model_run(struct model *model, const struct model_op *op);

/* Return the present tree. A new reference. */
GPtrArray *model_look(struct model *model);

/* For the parts of the model. */
void model_fail(struct model *model, const char *format, ...)
    G_GNUC_PRINTF(2, 3);
void model_forget_now(struct model *model);

/* The tree must be that one (borrowed; NULL: unknown), except at loose (may be
 * NULL). */
void model_expect(struct model *model, const char *after, GPtrArray *wanted,
                  const char *loose);

/* Send a request: 0, or the error's code. *ret_answer (may be NULL) is new. */
int model_request(struct model *model, const char *type, json_t *payload,
                  json_t **ret_answer);
void model_expect_code(struct model *model, const char *what, int code,
                       int wanted);

/* Commit an ambient step, as opening another one does. */
void model_end_ambient(struct model *model);

/* Stop the engine; start it again, with default limits. */
void model_stop(struct model *model, bool kill);
void model_start(struct model *model);
void model_reset_limits(struct model *model);

/* In model_ops.c: change the tree. 0 or -errno. */
int model_change(struct model *model, const struct model_op *op);
void model_close_handles(struct model *model);

/* In model_edit.c: make an outside edit. */
void model_edit(struct model *model, const struct model_op *op);

#endif
