/* SPDX-License-Identifier: Apache-2.0
 *
 * model_run - do a run's operations in a world and compare the tree with what
 * it must be after each of the frame's that takes something back.
 *
 * The model is a list of steps, each with snapshots of the tree before and
 * after it, and what it knows of the engine's rules: limits, edits from
 * outside, how long redo is possible. Where the rules do not say exactly what
 * comes out, a snapshot is given up (NULL: not known); what comes after is
 * exact again.
 */
#ifndef TESTS_MODEL_RUN_H
#define TESTS_MODEL_RUN_H

#include <stdbool.h>

#include "tests/model/model_script.h"
#include "tests/lib/world.h"

enum { MODEL_SLOTS = 8 };

/* A step of the history, or one that was taken back and can be redone. */
struct model_step {
    int64_t id;
    uint64_t order;            /* among the others and m->barriers */
    GPtrArray *before, *after; /* snapshots; NULL: not known */
    bool unprotected;
    bool edited; /* what it left was edited: refused */
    bool unsure; /* that may be */
    bool linked; /* a file may have had more names in the meantime */
    char *loose; /* with edited: a forced undo need not restore this path */
};

struct model {
    struct world *w; /* borrowed; started */
    bool trace;
    GString *failure; /* empty: all is well */

    void *handles[MODEL_SLOTS]; /* open files, or NULL */

    char *said; /* the last error of a request, or NULL */

    int64_t step; /* the open step, or 0 */
    bool ambient; /* something was done outside of one */
    bool linked;  /* in either a file was given another name */

    /* Of owned struct model_step, oldest first; and those that were taken back,
     * the next to be redone last. redo_unsure: there may be none. */
    GPtrArray *steps, *redos;
    bool redo_unsure;

    /* When the watcher saw edits: the order of each (guint64). A step with a
     * lesser one may be refused if they have to do with it (overlap.h). */
    GArray *barriers;
    uint64_t last_order;

    /* Snapshots: the tree before the open step, and as it is (NULL: it was
     * changed since). looks: how many there were. */
    GPtrArray *pending, *now;
    unsigned looks;

    /* Where the inodes were before the open step; before the newest one of the
     * history, which has this id (0: not known). */
    GHashTable *pending_places, *places;
    int64_t places_id;

    struct {
        int64_t count, step, log; /* -1: no limit */
    } limits;
};

/* The world is started. */
struct model *model_new(struct world *world);
void model_free(struct model *model);

/* Do one operation. False: what came out is wrong; model->failure says how. */
bool model_run(struct model *model, const struct model_op *op);

/* The tree as it is. A new reference. */
GPtrArray *model_look(struct model *model);

/* For the parts of the model. */
void model_fail(struct model *model, const char *format, ...)
    G_GNUC_PRINTF(2, 3);
void model_forget_now(struct model *model);

/* The tree must be that one (borrowed; NULL: nothing is known), but for what
 * is at loose (may be NULL). */
void model_expect(struct model *model, const char *after, GPtrArray *wanted,
                  const char *loose);

/* A request: 0, or the error's code. *ret_answer (may be NULL) is new. */
int model_request(struct model *model, const char *type, json_t *payload,
                  json_t **ret_answer);
void model_expect_code(struct model *model, const char *what, int code,
                       int wanted);

/* Commit an ambient step, as opening another does. */
void model_end_ambient(struct model *model);

/* The engine ends and starts again, which knows no limits then. */
void model_stop(struct model *model, bool kill);
void model_start(struct model *model);
void model_reset_limits(struct model *model);

/* In model_ops.c: a change of the tree. 0 or -errno. */
int model_change(struct model *model, const struct model_op *op);
void model_close_handles(struct model *model);

/* In model_edit.c: an edit from outside. */
void model_edit(struct model *model, const struct model_op *op);

#endif
