/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_result - the results of steps and of undo, as undo engines report them.
 *
 * doc/control-protocol.md defines the members. A report covers one log or all
 * logs (step_merge.h). Reports and changes are reference-counted and shared; a
 * shared one must not be modified.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_BASE_UNDO_RESULT_H
#define AGENT_BASE_UNDO_RESULT_H

#include <glib.h>
#include <stdbool.h>

#include "interceptor/interceptor.h"

/* The change of a step to one path. */
struct step_change {
    enum ic_change_type type;
    char *path, *from;              /* from: NULL unless renamed */
    gint64 size_before, size_after; /* -1: does not exist on that side */
    char *directory;                /* the folder's label, or NULL */
    /* The executions that made it, the first one first; 0: an unknown one. None
     * if the host made it. */
    gint64 by[IC_MAX_BY];
    unsigned n_by;
};

/* One folder's part of a step. */
struct step_part {
    char *directory;
    gint64 affected;
    bool undoable, unprotected, other_folder;
};

struct step_report {
    gint64 step_id;
    char *type;            /* command, api or ambient */
    char *command;         /* bytes, or NULL */
    int exit_code;         /* -1: unknown */
    int number;            /* the signal that ended the command, or 0 */
    int oom_kills;         /* as in struct command_end */
    bool has_times;        /* the step has timestamps in a log */
    char *started, *ended; /* RFC 3339; NULL: unknown */
    gint64 duration_ms;
    gint64 affected, counts[IC_CHANGE_TYPES];
    GPtrArray *changes; /* of struct step_change; a bounded prefix */
    bool truncated;     /* there are more changes */
    bool undoable, unchanged, unprotected, damaged, other_folder, aborted;
    gint64 below_unprotected; /* the unprotected step that blocks the undo of
                                 this one, or 0 */
    char *reason;             /* why the step was aborted, or NULL */
    gint64 dropped;           /* dropped output events; -1: does not apply */
    char *directory;          /* of a report of one log: the folder's label */
    GPtrArray *parts; /* of a merged report: struct step_part; else NULL */
};

/* A barrier: an outside edit, by another process. */
struct undo_barrier {
    char *timestamp;
    GPtrArray *paths;       /* of char *, bytes; a bounded prefix */
    gint64 more;            /* number of further paths */
    gint64 pid, after_step; /* 0: pid unknown; no step */
    char *process;          /* or NULL */
    bool watched;           /* false: detected at an undo */
    char *directory;        /* the folder's label, or NULL */
};

struct undo_count {
    char *directory;
    unsigned steps;
};

/* The answer to a history request, or the partial result of a failed one. */
struct undo_result {
    char *directory; /* of a failure: the folder, or NULL */
    /* NULL: does not apply. */
    GPtrArray *steps;              /* of struct step_report */
    GPtrArray *barriers;           /* of struct undo_barrier */
    GPtrArray *warnings;           /* of char *, text */
    GPtrArray *not_restored;       /* of char *, paths */
    GPtrArray *paths;              /* of char *, paths of the barriers */
    GPtrArray *redo_steps;         /* of struct step_report, without changes */
    GPtrArray *redo_counts;        /* of struct undo_count */
    gint64 last_step_id, redoable; /* -1: does not apply */
};

struct step_change *step_change_new(void);
struct step_report *step_report_new(void);
struct step_report *step_report_ref(struct step_report *report);
void step_report_unref(struct step_report *report);

/* Copy the members that do not concern paths or folders; the others stay
 * empty. */
struct step_report *step_report_copy_head(const struct step_report *report);

void step_report_add_part(struct step_report *report,
                          const struct step_report *part);

/* Lists own their elements. */
GPtrArray *step_report_list_new(void);
GPtrArray *undo_barrier_list_new(void);
void undo_barrier_free(struct undo_barrier *barrier);

struct undo_result *undo_result_new(void);
void undo_result_free(struct undo_result *result);
void undo_result_add_count(struct undo_result *result, const char *directory,
                           unsigned steps);

/* Return the report of the oldest step of a list, or NULL. */
struct step_report *step_report_list_last(GPtrArray *list);

#endif
