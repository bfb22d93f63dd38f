/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback - taking steps back, and what a crash interrupted.
 */
#ifndef INTERCEPTOR_ENGINE_ROLLBACK_H
#define INTERCEPTOR_ENGINE_ROLLBACK_H

#include "interceptor/engine/engine.h"

/* At the start: take back the step in wal/in_progress, if there is one. One
 * that cannot be taken back is committed as an unprotected step. */
bool rollback_recover(struct ic *ic, GError **error);

/* The same for those who only look: leave it, break the engine, and tell of it.
 * False: there is none. */
bool rollback_leave_unfinished(struct ic *ic);

/* With the gate write-locked: take back the step in wal/in_progress and remove
 * it, whatever is in the way. ret_info (may be NULL): what the step had done.
 * What a damaged record does not say and what others have taken away is not
 * restored. ERROR_STEP_UNPROTECTED, ERROR_PREIMAGE_*: nothing was changed. */
gboolean rollback_undo_wal(struct ic *ic, struct ic_step_info **ret_info,
                           GError **error);

/* The steps that count. The others are taken back with the older step that is
 * counted, or, where there are too few of these, count as well. */
enum rollback_counts {
    ROLLBACK_COUNTS_ALL,
    ROLLBACK_COUNTS_CHANGES,  /* not those that left all as it was */
    ROLLBACK_COUNTS_COMMANDS, /* nor ambient ones */
};

/* What is to be taken back: so many of the newest steps, or, if down_to is not
 * 0, the one with this id and all that are newer. */
struct rollback_extent {
    unsigned steps;
    enum rollback_counts counts;
    int64_t down_to;
};

/* Does this step of the history count? */
bool rollback_does_count(const struct undo_log_entry *entry,
                         enum rollback_counts counts);

/* As ic_rollback_steps(), ic_rollback_to(), and as the previews of these. */
gboolean rollback_go(struct ic *ic, const struct rollback_extent *extent,
                     bool force, struct ic_rollback_result **ret_result,
                     GError **error);
gboolean rollback_preview(struct ic *ic, const struct rollback_extent *extent,
                          bool force, struct ic_rollback_result **ret_result,
                          GError **error);

/* How many these are, an unfinished rollback being one of them.
 * ERROR_NOTHING_TO_UNDO: there is no such step. */
gboolean rollback_count_steps(struct ic *ic,
                              const struct rollback_extent *extent,
                              unsigned *ret_steps, GError **error);

/* Are there so many steps that can be taken back? Else ERROR_NOTHING_TO_UNDO
 * or why not. */
gboolean rollback_check_steps(struct ic *ic, unsigned steps, bool force,
                              GError **error);

/* The error's code for a step's record that cannot be read: -errno. It is
 * damaged (ERROR_PREIMAGE_CORRUPT), and to be passed by, or cannot be read now
 * (ERROR_IO_ERROR). */
int rollback_record_code(int rc);

/* Read a step's record from its folder. damaged_too: also if it has bad lines;
 * what they say is then not restored. */
gboolean rollback_load_step(struct ic *ic, int dir, bool damaged_too,
                            struct step **ret_step, GError **error);

/* The gate, write-locked, for as long as it takes: changes that come are
 * parked. */
void rollback_lock_gate(struct ic *ic);
void rollback_unlock_gate(struct ic *ic);

/* Beside enum restore_flags: with all barriers after the step; what is put
 * aside may be another process's, so it must be kept; it was begun before;
 * there is no change by another process. */
enum {
    ROLLBACK_CROSS = 1 << 8,
    ROLLBACK_EDITED = 1 << 9,
    ROLLBACK_RESUMED = 1 << 10,
    ROLLBACK_COMPARED = 1 << 11,
};

/* Take back the step in wal/in_progress, whose folder is dir, and remove it.
 * ret_info (may be NULL): what the step had done. result (may be NULL): for
 * warnings. flags: RESTORE_* and ROLLBACK_CROSS. */
gboolean rollback_undo_step(struct ic *ic, int dir, struct step *step,
                            unsigned flags, struct ic_rollback_result *result,
                            struct ic_step_info **ret_info, GError **error);

/* Make the error ERROR_STEP_UNPROTECTED, for this step. */
void rollback_set_unprotected(int64_t id, GError **error);

/* Who is told that a later step (id; 0: not known) failed must know that
 * earlier ones did not: those of the result are done ("undone"). */
void rollback_tell_part(const struct ic_rollback_result *result, unsigned steps,
                        const char *done, int64_t id, GError **error);

/* With the gate write-locked: take the open step back. ret_info (may be NULL):
 * what it had done. If that fails, the engine is broken until it is finished;
 * only that an unprotected step was committed as it is breaks nothing. */
gboolean rollback_open_step_locked(struct ic *ic,
                                   struct ic_step_info **ret_info,
                                   GError **error);

#endif
