/* SPDX-License-Identifier: Apache-2.0
 *
 * survey - where the things that a step touched are now.
 *
 * Reads the tree, only where the step's records lead: from the root through
 * the directories that have records below them, into what was moved, and into
 * what was created. The effect report and the check before a rollback use it.
 */
#ifndef INTERCEPTOR_REPORT_SURVEY_H
#define INTERCEPTOR_REPORT_SURVEY_H

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "interceptor/log/step.h"
#include "interceptor/sys/walker.h"

/* Something in the tree. */
struct survey_entry {
    const struct survey_entry *dir; /* a directory's; NULL: it is the root */
    const struct step_binding *binding; /* that names it, or NULL */
    char *name;                         /* in dir; "" for the root */
    unsigned depth;
    size_t path_length; /* of survey_path() */
    struct stat st;
    bool meta_changed; /* type, mode, owner or attributes are not as recorded */
    bool mtime_changed;
    bool closed; /* a folder that may not be looked into (survey_make_open()) */
    bool has_digest;   /* its metadata was read: */
    uint32_t digest;   /* meta_digest() of it */
    uint32_t uid, gid; /* as in struct meta */
};

struct survey {
    /* Recorded inodes that are in the tree: step_inode -> owned entry. One
     * that has several names is entered at one of them. */
    GHashTable *inodes;
    /* For each binding of the step what it names now: step_binding -> owned
     * entry; missing if there is no such name. */
    GHashTable *bindings;
    GPtrArray *created; /* owned entries that no record knows, parents first */
    GPtrArray *others;  /* owned entries: more names of recorded inodes */
    /* Owned entries: what somebody else has put, while the step was open, at
     * the step's names and into directories that it created; the uppermost of
     * it. It is in none of the others. (step_is_foreign()) */
    GPtrArray *foreign;
    /* Owned entries: each name, in a directory that the step created, of an
     * inode that the records know. */
    GPtrArray *arrivals;
};

/* Its path, relative to the share. A new string; its length has no bound, so
 * look at path_length first. */
char *survey_path(const struct survey_entry *entry);

/* A walker over the entries that are directories; root as in survey_make(). */
void survey_walker_init(struct walker *walker, const struct survey *survey,
                        const struct step *step, int root);

/* Open an entry (O_PATH) by a walker of its survey. The caller's fd, or -errno;
 * -ESTALE: another inode is there by now. */
int survey_open(struct walker *walker, int root,
                const struct survey_entry *entry);

/* 0 or -errno; what cannot be read below a directory (-EACCES, -EMFILE) makes
 * the survey fail. with_meta: compare metadata too. Free with survey_free(). */
int survey_make(struct step *step, int root, bool with_meta,
                struct survey **ret_survey);

/* The same with metadata; what may not be looked into (-EACCES) is marked
 * ->closed, and what is in there is missing. */
int survey_make_open(struct step *step, int root, struct survey **ret_survey);

/* All that is below the directory top (any fd, O_PATH too), of which no step
 * knows: ->created, as far as it can be read; their paths begin below top. */
struct survey *survey_folder(int top);
void survey_free(struct survey *survey);
typedef struct survey survey_auto;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(survey_auto, survey_free)

#endif
