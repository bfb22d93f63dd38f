/* SPDX-License-Identifier: Apache-2.0
 *
 * step - what one step touched first: the model of undo.
 *
 * Names are bindings, files are inodes. For each directory entry that a step
 * changes, a step_binding says which inode it named before the step. For each
 * inode whose metadata or content it changes, a step_inode holds what that
 * was. Both are recorded once, at the first touch. Undo then needs no order
 * of events: it makes each binding and inode be what the record says.
 *
 * S1  A change is recorded in the manifest (journal.h) before it is made.
 * S2  Inodes that the step itself created are not recorded, nor what happens
 *     inside directories that it created: undo removes them as a whole.
 * S3  Every recorded inode leads, by its home (the binding it had before the
 *     step), to the share's root through recorded inodes.
 * S4  An inode number is an identity only while the inode lives. An inode
 *     whose number was given free (its content was copied, not moved) is
 *     retired: its records stay, the number may mean another inode from there.
 *
 * Manifest, a line a record ("i", "p": inode numbers; "n": a name):
 *     {"t":"step","v":1,"id":7,"seq":3,"type":"command","command":"make",
 *      "us":1763670000000000,"root":2,"born":1763600000000000,
 *      "subvolume":"6a1f...","folder":{"v":"/home/me/work"}}
 *                                        the first line; "born", "subvolume"
 *                                        and "folder" tell of the share's root,
 *                                        as far as is known (folder.h);
 *                                        "inverse":true in that of an inverse
 *     {"t":"b","p":2,"n":"a","i":12,"ct":T}  binding; "i":0: there was none
 *     {"t":"h","p":2,"n":"a","i":12}     home of an inode
 *     {"t":"m","i":12, ...}              metadata (meta.h)
 *     {"t":"d","i":12,"size":S,"c":1}    content: it had S bytes; what of them
 *                                        was to be changed is number 1 in the
 *                                        pack (pack.h), or, with "clone":true,
 *                                        all of it is in blobs/f1
 *     {"t":"c","i":12,"ct":T}            it gets another name
 *     {"t":"a","i":12,"unwritten":true}  all its content is kept; for one of
 *                                        its names went, if it is unwritten;
 *                                        a "d" after that says that it is not
 *     {"t":"l","i":12}                   rollback: lost (restore_lost.h)
 *     {"t":"g","i":12,"to":34}           forced rollback: the folder 34, which
 *                                        another process made at the home of
 *                                        folder 12, takes its place
 *     {"t":"r","i":12,"bt":T}            retired; "bt": its birth (birth.h), if
 *                                        it is known
 *     {"t":"s","n":".stepback-..."}      rollback: staging is in the share's
 *                                        root, by this name (restore.h)
 *     {"t":"u","bytes":N}                unprotected: N bytes were kept when
 *                                        that became too much, and nothing
 *                                        after; it cannot be taken back
 *     {"t":"p",...}                      state at the end (post_state.h)
 *     {"t":"end",...}                    committed (report.h)
 * A name that is not UTF-8 is "n64", in base64. "ct" is the inode's ctime
 * when the step met it first; "m" records have it as well.
 *
 * Threads: a step belongs to whoever holds the engine's lock for it.
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
#include "interceptor/log/own.h"

struct content;

#define STEP_MANIFEST "manifest.jsonl"
#define STEP_BLOBS    "blobs"
#define STEP_STAGING  "staging"

enum { STEP_FORMAT = 1 };

/* Ids and seqs in a log beyond this are none of ours: counting on from them
 * must not overflow. */
#define STEP_MAX_NUMBER (INT64_MAX / 4)

enum step_inode_flags {
    STEP_CREATED = 1 << 0,    /* by this step; in memory only */
    STEP_META = 1 << 1,       /* .meta is what it was */
    STEP_DATA = 1 << 2,       /* content is kept, as data_number */
    STEP_KEPT = 1 << 3,       /* blobs/i<ino> is the inode or a link to it */
    STEP_RETIRED = 1 << 4,    /* the number is no longer its identity */
    STEP_CLONE = 1 << 5,      /* content is kept in blobs/f<data_number> */
    STEP_SEEN = 1 << 6,       /* .seen is what it was at the first touch */
    STEP_EDITED = 1 << 7,     /* from outside, since; in memory only */
    STEP_ALL = 1 << 8,        /* with STEP_DATA: all content is kept */
    STEP_RETIRING = 1 << 10,  /* so recorded, about to be; in memory only */
    STEP_LOST = 1 << 9,       /* taken away from outside (restore_lost.h) */
    STEP_LINKED = 1 << 11,    /* the step gave it a name; in memory only */
    STEP_UNWRITTEN = 1 << 12, /* with STEP_ALL: nothing of it was written */
};

struct step_inode {
    uint64_t ino;
    uint64_t recorded; /* the number that the manifest has for it */
    unsigned flags;
    struct meta *meta;
    int64_t data_size; /* bytes of the file before, with STEP_DATA */
    int64_t data_number;
    struct content *content; /* of the open step; borrowed; or NULL */
    uint64_t now; /* of a retired inode: the number it was remade with */
    uint64_t stand_in; /* 0, or the number of what takes its place ("g") */
    uint64_t former;   /* with a stand-in: the number that it had */

    /* birth.h: of one to be retired, or of one that undo has made anew since;
     * 0: not known. INT64_MAX: made anew, nobody knows when. */
    int64_t born;

    /* With STEP_SEEN: its number and ctime then (own.h). */
    struct own_state seen;

    /* Home; NULL for the root and for inodes reached through STEP_KEPT. */
    struct step_inode *home;
    char *home_name;

    /* By step_sort(). */
    unsigned order; /* above are less; 0: no way leads here from the root */
    unsigned depth;

    GPtrArray *bindings; /* borrowed step_binding: entries of this directory */
    GPtrArray *children; /* borrowed step_inode: those whose home is here */
    GPtrArray *names;    /* borrowed step_binding: that named this inode */
};

struct step_binding {
    struct step_inode *dir;
    struct step_inode *before; /* NULL: there was no such name */
    char *name;
    bool vacant; /* see step_is_vacant(); post_state_mark_vacant() */
};

struct step {
    int64_t id;
    int64_t seq; /* order in the history, rising */
    enum ic_step_type type;
    char *command; /* may be NULL */
    int64_t started_us;
    struct folder_mark folder;
    bool inverse;    /* of a step that was taken back (undo_log.h) */
    json_t *end;     /* the end record, or NULL */
    GPtrArray *post; /* post_state.h; NULL: none was read */
    char *staging;   /* name of a staging folder in the share, or NULL */

    struct step_inode *root;
    GHashTable *inodes;   /* ino -> owned step_inode */
    GHashTable *bindings; /* owned step_binding, by (dir, name) */
    GPtrArray *retired;   /* owned step_inode */

    struct journal *journal; /* owned; NULL: nothing can be recorded */
    size_t records;          /* beside the first and the end line */
    bool dry;                /* what is recorded is noted in memory alone */
    bool knows_created;      /* it is open: STEP_CREATED says what it made */
    bool damaged;            /* the manifest has bad lines */
    bool unprotected;        /* it cannot be taken back */
};

struct step *step_new(int64_t id, int64_t seq, enum ic_step_type type,
                      const char *command, uint64_t root_ino);
void step_free(struct step *step);
typedef struct step step_auto;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(step_auto, step_free)

/* Create dirfd/manifest.jsonl and write its first line. 0 or -errno. */
int step_create_manifest(struct step *step, int dirfd);

/* Tells the number that an inode has now which was in this state (changed 0:
 * not known) when step seq met it; 0: it is known to be dead, by somebody
 * else's hand. ret_born: for the inode's born. */
typedef uint64_t step_alias(const struct own_state *then, int64_t seq,
                            int64_t *ret_born, void *opaque);

/* Read a step back from dirfd/manifest.jsonl. alias may be NULL; what is dead
 * by it is lost. -EBADMSG if the first line is not a step of this format. */
int step_load(int dirfd, step_alias *alias, void *opaque,
              struct step **ret_step);

/* Read its header and end record alone. -ENODATA if not even the first line is
 * whole: then nothing was changed yet. */
int step_load_summary(int dirfd, struct step **ret_step);

/* The record of a number, or NULL. Retired inodes are not found. */
struct step_inode *step_find_inode(struct step *step, uint64_t ino);
struct step_binding *
step_find_binding(struct step *step, struct step_inode *dir, const char *name);

/* Find or add, without a log record. */
struct step_inode *step_get_inode(struct step *step, uint64_t ino);

/* Forget a created inode that is gone: its number may be used again. */
void step_drop_created(struct step *step, uint64_t ino);

/* Has somebody else made what now stands, as the inode ino, where the step has
 * changed the tree? Only the open step can tell; of others it is false. */
bool step_is_foreign(struct step *step, uint64_t ino);

/* Has the inode a known place in the tree before the step? */
bool step_has_home(const struct step *step, const struct step_inode *inode);

/* Is it to get a name back? */
bool step_has_name(const struct step_inode *inode);

/* What is at the name now stays, but for what is to get another name back:
 * what the name meant is lost; or the step left nothing there, or what is lost
 * by now (post_state_mark_vacant()). */
bool step_is_vacant(const struct step_binding *binding);

/* Each writes the record, then notes it in memory. 0 or -errno. */
int step_record_binding(struct step *step, struct step_inode *dir,
                        const char *name, struct step_inode *before);
int step_record_home(struct step *step, struct step_inode *inode,
                     struct step_inode *dir, const char *name);
int step_record_meta(struct step *step, struct step_inode *inode,
                     struct meta *meta /* taken, also on error */);
int step_record_data(struct step *step, struct step_inode *inode, int64_t size,
                     int64_t number, bool cloned);
int step_record_seen(struct step *step, struct step_inode *inode,
                     const struct stat *now);
int step_record_all(struct step *step, struct step_inode *inode,
                    bool unwritten);
int step_record_lost(struct step *step, struct step_inode *inode);

/* The folder with this number takes the inode's place. -EEXIST: the step knows
 * it as another inode. */
int step_record_stand_in(struct step *step, struct step_inode *inode,
                         uint64_t ino);

/* The inode is about to lose its last name, and all of it is kept. Recorded
 * before that: its number may be another's right after. step_note_retired()
 * follows when it is gone; if it stays after all, undo makes it anew. */
int step_record_retiring(struct step *step, struct step_inode *inode);

int step_record_staging(struct step *step, const char *name);
int step_record_unprotected(struct step *step, int64_t bytes);

/* The notes alone, for the loader; the first one stays. */
void step_note_seen(struct step_inode *inode, uint64_t ino, int64_t changed);

/* Further notes for the loader. A home whose name the step has changed gives
 * way to one that it has not. */
void step_note_home(struct step_inode *inode, struct step_inode *dir,
                    const char *name);
void step_note_binding(struct step *step, struct step_inode *dir,
                       const char *name, struct step_inode *before);
void step_note_retired(struct step *step, struct step_inode *inode);

/* The inode has the number of its stand-in from here. */
void step_note_stand_in(struct step *step, struct step_inode *inode);
void step_inode_free(gpointer inode);

/* The path, relative to the share, that the inode had before the step, with
 * "/name" added if name is not NULL. NULL if it has none, or one of PATH_MAX
 * bytes and more, or if a damaged log leads in a circle. */
char *step_path_before(const struct step *step, const struct step_inode *inode,
                       const char *name);

/* Number the recorded inodes, so that each directory comes before what is below
 * it and next to it. */
void step_sort(struct step *step);

/* Does its end record say that nothing but times differs from before it? */
bool step_is_unchanged(const struct step *step);

/* Is the inode with this number now the one that the record means? */
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
