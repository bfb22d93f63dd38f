/* SPDX-License-Identifier: Apache-2.0
 *
 * model_script - the operations of a run of the model test, as data.
 *
 * Any part of a list of operations is valid: operations that are impossible
 * fail and change nothing. So a list that shows an error can be shortened as
 * long as it still shows it. As text it has one operation per line: a word, one
 * or two names in quotes (C escapes), numbers.
 *
 *     step
 *     rename "a" "b/c" 0
 *     undo 1 0
 */
#ifndef TESTS_MODEL_SCRIPT_H
#define TESTS_MODEL_SCRIPT_H

#include <glib.h>
#include <stdint.h>

enum model_kind {
    /* The frame: all that is not between step and close is ambient. */
    MODEL_STEP,
    MODEL_CLOSE,
    MODEL_ABORT,
    MODEL_CRASH,   /* SIGKILL, and a restart */
    MODEL_RESTART, /* SIGTERM, and a restart */
    MODEL_UNDO,    /* count, enum model_force */
    MODEL_REDO,    /* count */
    MODEL_LIMITS,  /* steps, bytes of one step, bytes of all; -1: none */
    MODEL_DISCARD,
    MODEL_WRITE_FILE, /* path; mode, length, pattern: a step of its own */

    /* Outside edits, which end an ambient step and are not made in another one.
     * The last number: enum model_when. */
    MODEL_EDIT_NEW,  /* name; kind: make what no step overlaps */
    MODEL_EDIT_STEP, /* pick, kind: change what the newest step left */
    MODEL_EDIT_ANY,  /* path, other; kind: anything */

    MODEL_PUT,      /* path; flags, length, offset, pattern */
    MODEL_PUT_USER, /* path; length, offset */
    MODEL_MKDIR,    /* path; mode */
    MODEL_DEEP,     /* path; levels */
    MODEL_MKNOD,    /* path; mode, device */
    MODEL_SYMLINK,  /* target, path */
    MODEL_LINK,     /* from, path */
    MODEL_REMOVE,   /* path */
    MODEL_RMTREE,   /* path */
    MODEL_RENAME,   /* from, to; flags */
    MODEL_CHMOD,    /* path; mode */
    MODEL_CHOWN,    /* path; uid, gid */
    MODEL_UTIMES,   /* path; seconds, nanoseconds */
    MODEL_TRUNCATE, /* path; size */
    MODEL_SETXATTR, /* path, name; length, pattern */
    MODEL_ACL,      /* path, name; number of entries */
    MODEL_RMXATTR,  /* path, name */
    MODEL_ALLOCATE, /* path; mode, offset, length */
    MODEL_COPY,     /* from, to; offsets, length */
    MODEL_OPEN,     /* path; slot, flags */
    MODEL_TMPFILE,  /* folder; slot */
    MODEL_HWRITE,   /* slot, length, offset, pattern */
    MODEL_HTRUNC,   /* slot, size */
    MODEL_HLINK,    /* path; slot */
    MODEL_HCLOSE,   /* slot */
    MODEL_KINDS,
};

enum { MODEL_NAMES = 2, MODEL_NUMBERS = 4 };

enum model_force {
    MODEL_ASK,      /* and force if it is refused */
    MODEL_FORCE,    /* at once */
    MODEL_ASK_ONLY, /* not at all */
    MODEL_FORCES,
};

enum model_when { MODEL_LIVE, MODEL_STOPPED, MODEL_KILLED, MODEL_WHENS };

struct model_op {
    enum model_kind kind;
    char *names[MODEL_NAMES]; /* owned; NULL: fewer */
    int64_t numbers[MODEL_NUMBERS];
};

void model_op_free(gpointer op);

/* Return whether the operation is of the frame, not a change of the tree. */
gboolean model_op_is_frame(const struct model_op *op);

/* Return its line, without the newline. */
char *model_op_to_text(const struct model_op *op);

/* A list of owned operations; other lines (empty, "# ...", incomplete) are
 * skipped. */
GPtrArray *model_script_parse(const char *text);
char *model_script_to_text(GPtrArray *ops);

#endif
