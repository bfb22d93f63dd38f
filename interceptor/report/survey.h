/* SPDX-License-Identifier: Apache-2.0
 *
 * survey - find where the inodes that a step touched are now.
 *
 * Reads the tree only where the step's records lead: from the root through
 * directories with records below them, and into moved and created directories.
 * The effect report and the check before a rollback use it.
 */
#ifndef INTERCEPTOR_REPORT_SURVEY_H
#define INTERCEPTOR_REPORT_SURVEY_H

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "interceptor/log/step.h"
#include "interceptor/sys/walker.h"

/* An entry of the tree. */
struct survey_entry {
    const struct survey_entry
        *dir; /* its directory's entry; NULL for the root */
    const struct step_binding *binding; /* the binding that names it, or NULL */
    char *name;                         /* in dir; "" for the root */
    unsigned depth;
    size_t path_length; /* of survey_path() */
    struct stat st;
    bool meta_changed; /* type, mode, owner or attributes differ from the record
                        */
    bool mtime_changed;
    bool closed;       /* an unreadable folder (survey_make_open()) */
    bool has_digest;   /* its metadata was read: */
    uint32_t digest;   /* meta_digest() of its metadata */
    uint32_t uid, gid; /* as in struct meta */
};

struct survey {
    /* Recorded inodes in the tree: step_inode -> owned entry. An inode with
     * several names is entered at one of them. */
    GHashTable *inodes;
    /* The current inode of each binding of the step: step_binding -> owned
     * entry; missing if the name does not exist. */
    GHashTable *bindings;
    GPtrArray *created; /* owned entries without a record, parents first */
    GPtrArray *others;  /* owned entries: further names of recorded inodes */
    /* Owned entries that other processes made while the step was open, at the
     * step's names and in directories that it created; only the topmost of each
     * tree. None of the other lists has them (step_is_foreign()). */
    GPtrArray *foreign;
    /* Owned entries: each name of a recorded inode in a directory that the step
     * created. */
    GPtrArray *arrivals;
};

/* Return the path relative to the share. A new string; its length has no bound,
 * so check path_length first. */
char *survey_path(const struct survey_entry *entry);

/* Start a walker over the entries that are directories; root as in
 * survey_make(). */
void survey_walker_init(struct walker *walker, const struct survey *survey,
                        const struct step *step, int root);

/* Open an entry (O_PATH) with a walker of its survey. Returns the caller's fd,
 * or -errno; -ESTALE: another inode is there by now. */
int survey_open(struct walker *walker, int root,
                const struct survey_entry *entry);

/* Make a survey. Returns 0 or -errno; a directory that cannot be read (-EACCES,
 * -EMFILE) makes it fail. with_meta: compare metadata, too. Free with
 * survey_free(). */
int survey_make(struct step *step, int root, bool with_meta,
                struct survey **ret_survey);

/* The same with metadata; a directory that cannot be read (-EACCES) is marked
 * ->closed, and its entries are missing. */
int survey_make_open(struct step *step, int root, struct survey **ret_survey);

/* Survey everything below the directory top (an fd of any kind, O_PATH
 * included), without a step: ->created, as far as it is readable; paths begin
 * below top. */
struct survey *survey_folder(int top);
void survey_free(struct survey *survey);
typedef struct survey survey_auto;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(survey_auto, survey_free)

#endif
