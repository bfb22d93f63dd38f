/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_result - what steps did, and what an undo did, as undo engines tell it.
 *
 * doc/control-protocol.md says what the members mean. A report is of one log,
 * or of all (step_merge.h). Reports and changes are shared: they have a count
 * of references, and nobody changes one that others have.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_BASE_UNDO_RESULT_H
#define AGENT_BASE_UNDO_RESULT_H

#include <glib.h>
#include <stdbool.h>

#include "interceptor/interceptor.h"

/* What a step did to one path. */
struct step_change {
    enum ic_change_type type;
    char *path, *from;              /* from: NULL unless it was renamed */
    gint64 size_before, size_after; /* -1: there is none */
    char *directory;                /* the folder's label, or NULL */
};

/* A folder's part of a step. */
struct step_part {
    char *directory;
    gint64 affected;
    bool undoable, unprotected, other_folder;
};

struct step_report {
    gint64 step_id;
    char *type;            /* command, api or ambient */
    char *command;         /* bytes, or NULL */
    int exit_code;         /* -1: not known */
    int number;            /* the signal that ended the command, or 0 */
    bool has_times;        /* a log knows the step */
    char *started, *ended; /* RFC 3339; NULL: not known */
    gint64 duration_ms;
    gint64 affected, counts[IC_CHANGE_TYPES];
    GPtrArray *changes; /* of struct step_change; the first ones */
    bool truncated;     /* there are more */
    bool undoable, unchanged, unprotected, damaged, other_folder, aborted;
    gint64 below_unprotected; /* this step is in the way of its undo; or 0 */
    char *reason;             /* why it was aborted, or NULL */
    gint64 dropped;           /* events of output; -1: does not apply */
    char *directory;          /* of one log alone: its folder's label */
    GPtrArray *parts;         /* of all: struct step_part; else NULL */
};

/* An edit by another process. */
struct undo_barrier {
    char *timestamp;
    GPtrArray *paths;       /* of char *, bytes; the first ones */
    gint64 more;            /* paths */
    gint64 pid, after_step; /* 0: not known; none */
    char *process;          /* or NULL */
    bool watched;           /* or found at an undo */
    char *directory;        /* the folder's label, or NULL */
};

struct undo_count {
    char *directory;
    unsigned steps;
};

/* The answer to a request about the history, or how far one got that failed. */
struct undo_result {
    char *directory; /* of a failure: the folder, or NULL */
    /* NULL: does not apply. */
    GPtrArray *steps;              /* of struct step_report */
    GPtrArray *barriers;           /* of struct undo_barrier */
    GPtrArray *warnings;           /* of char *, text */
    GPtrArray *not_restored;       /* of char *, paths */
    GPtrArray *paths;              /* of char *, of the barriers */
    GPtrArray *redo_steps;         /* of struct step_report, without changes */
    GPtrArray *redo_counts;        /* of struct undo_count */
    gint64 last_step_id, redoable; /* -1: does not apply */
};

struct step_change *step_change_new(void);
struct step_report *step_report_new(void);
struct step_report *step_report_ref(struct step_report *report);
void step_report_unref(struct step_report *report);

/* A copy of what is not about paths or folders: the rest is empty. */
struct step_report *step_report_copy_head(const struct step_report *report);

void step_report_add_part(struct step_report *report,
                          const struct step_report *part);

/* Arrays that own what is in them. */
GPtrArray *step_report_list_new(void);
GPtrArray *undo_barrier_list_new(void);
void undo_barrier_free(struct undo_barrier *barrier);

struct undo_result *undo_result_new(void);
void undo_result_free(struct undo_result *result);
void undo_result_add_count(struct undo_result *result, const char *directory,
                           unsigned steps);

/* The report of the oldest step of a list, or NULL. */
struct step_report *step_report_list_last(GPtrArray *list);

#endif
