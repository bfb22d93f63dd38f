/* SPDX-License-Identifier: Apache-2.0
 *
 * step - what one step touched first: the model of undo.
 *
 * Names are bindings, files are inodes. For each directory entry that a step
 * changes, a step_binding records which inode it named before the step. For
 * each inode whose metadata or content it changes, a step_inode records the
 * state before. Both are recorded once, at the first touch. So undo needs no
 * order of events: it restores each binding and inode to its record.
 *
 * S1  A change is recorded in the manifest (journal.h) before it is made.
 * S2  Inodes that the step itself created are not recorded, nor changes
 *     inside directories that it created: undo removes them as a whole.
 * S3  Every recorded inode leads, by its home (the binding it had before the
 *     step), to the share's root through recorded inodes.
 * S4  An inode number identifies an inode only while the inode lives. An
 *     inode whose number was freed (its content was copied, not moved) is
 *     retired: its records stay, later records may use the number for
 *     another inode.
 *
 * Manifest, a line a record ("i", "p": inode numbers; "n": a name):
 *     {"t":"step","v":1,"id":7,"seq":3,"type":"command","command":"make",
 *      "us":1763670000000000,"root":2,"born":1763600000000000,
 *      "subvolume":"6a1f...","folder":{"v":"/home/me/work"}}
 *                                        the first line; "born", "subvolume"
 *                                        and "folder" describe the share's
 *                                        root, if known (folder.h);
 *                                        "inverse":true in that of an inverse
 *     {"t":"b","p":2,"n":"a","i":12,"ct":T}  binding; "i":0: there was none
 *     {"t":"h","p":2,"n":"a","i":12}     home of an inode
 *     {"t":"m","i":12, ...}              metadata (meta.h)
 *     {"t":"d","i":12,"size":S,"c":1}    content: it had S bytes; those about
 *                                        to be changed have number 1 in the
 *                                        pack (pack.h), or, with "clone":true,
 *                                        all of it is in blobs/f1
 *     {"t":"c","i":12,"ct":T}            it gets another name
 *     {"t":"a","i":12,"unwritten":true}  all its content is saved, because one
 *                                        of its names was removed, if it is
 *                                        unwritten; a later "d" revokes that
 *     {"t":"l","i":12}                   rollback: lost (restore_lost.h)
 *     {"t":"g","i":12,"to":34}           forced rollback: the folder 34, which
 *                                        another process made at the home of
 *                                        folder 12, takes its place
 *     {"t":"r","i":12,"bt":T}            retired; "bt": its btime (btime.h), if
 *                                        known
 *     {"t":"s","n":".stepback-..."}      rollback: the staging folder in the
 *                                        share's root has this name (restore.h)
 *     {"t":"u","bytes":N,"at":T}         unprotected: N bytes were saved when
 *                                        the limit was reached, at the time T
 *                                        (ns, as ctimes), and none after;
 *                                        the step cannot be undone
 *     {"t":"p",...}                      state at the end (post_state.h)
 *     {"t":"end",...}                    committed (report.h)
 * A name that is not UTF-8 is "n64", in base64. "ct" is the inode's ctime at
 * the step's first touch; "m" records have it as well.
 *
 * Threads: the engine's lock for the step guards it.
 */
#ifndef INTERCEPTOR_LOG_STEP_H
#define INTERCEPTOR_LOG_STEP_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "interceptor/interceptor.h"
#include "interceptor/log/folder_mark.h"
#include "interceptor/log/journal.h"
#include "interceptor/log/meta.h"
#include "interceptor/log/ctime_ledger.h"
#include "interceptor/log/writers.h"

struct content;

#define STEP_MANIFEST "manifest.jsonl"
#define STEP_BLOBS    "blobs"
#define STEP_STAGING  "staging"

enum { STEP_FORMAT = 1 };

/* Upper bound of ids and seqs in a valid log, so that counting on from them
 * cannot overflow. */
#define STEP_MAX_NUMBER (INT64_MAX / 4)

enum step_inode_flags {
    STEP_CREATED = 1 << 0, /* by this step; in memory only */
    STEP_META = 1 << 1,    /* .meta is the state before */
    STEP_DATA = 1 << 2,    /* content is saved, as data_number */
    STEP_KEPT = 1 << 3,    /* blobs/i<ino> is the inode or a link to it */
    STEP_RETIRED = 1 << 4, /* the number no longer identifies it */
    STEP_CLONE = 1 << 5,   /* content is saved in blobs/f<data_number> */
    STEP_SEEN = 1 << 6,    /* .seen is the state at the first touch */
    STEP_EDITED = 1 << 7,  /* edited from outside since; in memory only */
    STEP_ALL = 1 << 8,     /* with STEP_DATA: all content is saved */
    STEP_RETIRING =
        1 << 10,           /* about to be recorded as retired; in memory only */
    STEP_LOST = 1 << 9,    /* removed from outside (restore_lost.h) */
    STEP_LINKED = 1 << 11, /* the step gave it a name; in memory only */
    STEP_UNWRITTEN = 1 << 12, /* with STEP_ALL: none of it was written */
};

struct step_inode {
    uint64_t ino;
    uint64_t recorded; /* number in the manifest */
    unsigned flags;
    struct meta *meta;
    int64_t data_size; /* bytes before the step, with STEP_DATA */
    int64_t data_number;
    struct content *content; /* of the open step, or NULL; borrowed */
    uint64_t now;            /* of a retired inode: number of its recreation */
    uint64_t stand_in;       /* 0, or the number of its replacement ("g") */
    uint64_t former;         /* with a stand-in: the number before */

    /* btime (btime.h) of an inode to be retired, or of one that undo has
     * recreated; 0: unknown. INT64_MAX: recreated at an unknown time. */
    int64_t born;

    /* With STEP_SEEN: number and ctime at the first touch (ctime_ledger.h). */
    struct ctime_state seen;

    /* Home; NULL for the root and for inodes reached through STEP_KEPT. */
    struct step_inode *home;
    char *home_name;

    /* Set by step_sort(). */
    unsigned order; /* parents have less; 0: unreachable from the root */
    unsigned depth;

    GPtrArray *bindings; /* borrowed step_binding: entries of this directory */
    GPtrArray *children; /* borrowed step_inode: inodes whose home is here */
    GPtrArray *names;    /* borrowed step_binding: names of this inode */

    struct writer_set by; /* in memory only */
};

struct step_binding {
    struct step_inode *dir;
    struct step_inode *before; /* NULL: the name did not exist */
    char *name;
    bool vacant;          /* see step_is_vacant(); post_state_mark_vacant() */
    struct writer_set by; /* in memory only */
};

struct step {
    int64_t id;
    int64_t seq; /* rises in the order of the history */
    enum ic_step_type type;
    char *command; /* may be NULL */
    int64_t started_us;
    struct folder_mark folder;
    bool inverse;    /* of a step that was rolled back (undo_log.h) */
    json_t *end;     /* the end record, or NULL */
    GPtrArray *post; /* post_state.h; NULL: not read */
    char *staging;   /* name of the staging folder in the share, or NULL */

    struct step_inode *root;
    GHashTable *inodes;   /* ino -> owned step_inode */
    GHashTable *bindings; /* owned step_binding, by (dir, name) */
    GPtrArray *retired;   /* owned step_inode */

    struct journal *journal; /* owned; NULL: recording is impossible */
    size_t records;          /* lines between the first and the end line */
    bool dry;                /* record in memory only */
    bool knows_created;      /* the step is open, so STEP_CREATED is known */
    bool damaged;            /* the manifest has bad lines */
    bool unprotected;        /* the step cannot be rolled back */
    int64_t unprotected_ns; /* since when, by the clock of ctimes; 0: unknown */

    /* Of the open step, if its writers are followed; or NULL. Borrowed. */
    struct writers *writers;
    uint64_t writers_table;
};

struct step *step_new(int64_t id, int64_t seq, enum ic_step_type type,
                      const char *command, uint64_t root_ino);
void step_free(struct step *step);
typedef struct step step_auto;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(step_auto, step_free)

/* Create dirfd/manifest.jsonl and write its first line. Returns 0 or -errno. */
int step_create_manifest(struct step *step, int dirfd);

/* Return the current number of the inode that was in this state (changed 0:
 * unknown) when step seq met it; 0: another process removed it. ret_born: for
 * the inode's born. */
typedef uint64_t step_alias(const struct ctime_state *then, int64_t seq,
                            int64_t *ret_born, void *opaque);

/* Read a step from dirfd/manifest.jsonl. alias may be NULL; an inode that it
 * reports as removed is marked lost. -EBADMSG if the first line is not a step
 * of this format. */
int step_load(int dirfd, step_alias *alias, void *opaque,
              struct step **ret_step);

/* Read only the header and the end record. -ENODATA if not even the first line
 * is complete: nothing was changed yet. */
int step_load_summary(int dirfd, struct step **ret_step);

/* Return the record of a number, or NULL. Retired inodes are not found. */
struct step_inode *step_find_inode(struct step *step, uint64_t ino);
struct step_binding *
step_find_binding(struct step *step, struct step_inode *dir, const char *name);

/* Find or add a record, without a line in the log. */
struct step_inode *step_get_inode(struct step *step, uint64_t ino);

/* Forget a created inode that is gone: its number may be reused. */
void step_drop_created(struct step *step, uint64_t ino);

/* Return whether another process made the inode ino at a place that the step
 * has changed. Known only for the open step; false for others. */
bool step_is_foreign(struct step *step, uint64_t ino);

/* Return whether the inode's place in the tree before the step is known. */
bool step_has_home(const struct step *step, const struct step_inode *inode);

/* Return whether undo has to give the inode a name. */
bool step_has_name(const struct step_inode *inode);

/* Return whether undo leaves this name alone, unless it must give the inode
 * there another name: the inode that the name meant is lost; or the step left
 * nothing there, or an inode that is lost now (post_state_mark_vacant()). */
bool step_is_vacant(const struct step_binding *binding);

/* Each function writes the record, then notes it in memory. Returns 0 or
 * -errno. */
int step_record_binding(struct step *step, struct step_inode *dir,
                        const char *name, struct step_inode *before);
int step_record_home(struct step *step, struct step_inode *inode,
                     struct step_inode *dir, const char *name);
int step_record_meta(struct step *step, struct step_inode *inode,
                     struct meta *meta /* ownership taken, also on error */);
int step_record_data(struct step *step, struct step_inode *inode, int64_t size,
                     int64_t number, bool cloned);
int step_record_seen(struct step *step, struct step_inode *inode,
                     const struct stat *now);
int step_record_all(struct step *step, struct step_inode *inode,
                    bool unwritten);
int step_record_lost(struct step *step, struct step_inode *inode);

/* The folder with this number takes the inode's place. -EEXIST: the step knows
 * the number as another inode. */
int step_record_stand_in(struct step *step, struct step_inode *inode,
                         uint64_t ino);

/* Record that the inode is about to lose its last name and that all of it is
 * saved. Recorded first, because the number may be reused at once.
 * step_note_retired() follows when the inode is gone; if it stays after all,
 * undo recreates it. */
int step_record_retiring(struct step *step, struct step_inode *inode);

int step_record_staging(struct step *step, const char *name);
int step_record_unprotected(struct step *step, int64_t bytes);

/* Note the state for the loader; the first note counts. */
void step_note_seen(struct step_inode *inode, uint64_t ino, int64_t changed);

/* More notes for the loader. A home whose name the step has changed is replaced
 * by one that it has not. */
void step_note_home(struct step_inode *inode, struct step_inode *dir,
                    const char *name);
void step_note_binding(struct step *step, struct step_inode *dir,
                       const char *name, struct step_inode *before);
void step_note_retired(struct step *step, struct step_inode *inode);

/* Give the inode the number of its stand-in from now on. */
void step_note_stand_in(struct step *step, struct step_inode *inode);
void step_inode_free(gpointer inode);

/* Return the path, relative to the share, that the inode had before the step,
 * with "/name" appended if name is not NULL. NULL if it has none, if the path
 * has PATH_MAX bytes or more, or if a damaged log contains a circle. */
char *step_path_before(const struct step *step, const struct step_inode *inode,
                       const char *name);

/* Number the recorded inodes so that each directory comes directly before the
 * inodes below it. */
void step_sort(struct step *step);

/* Return whether the end record says that only times differ from before. */
bool step_is_unchanged(const struct step *step);

/* Return whether the inode that now has this number is the recorded one. */
bool step_is_now(const struct step_inode *inode, uint64_t ino);

/* "i<ino>" and "f<number>": names below blobs/. */
struct step_name {
    char text[24];
};
struct step_name step_inode_blob(uint64_t ino);
struct step_name step_clone_blob(int64_t number);

const char *step_type_name(enum ic_step_type type);
bool step_type_parse(const char *name, enum ic_step_type *ret_type);

#endif
