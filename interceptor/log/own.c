/* SPDX-License-Identifier: Apache-2.0
 *
 * own - see own.h.
 */
#include "interceptor/log/own.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "interceptor/log/journal.h"
#include "interceptor/sys/sys.h"

#define FILE_NAME "own.jsonl"
#define NEW_NAME  "own.new"

/* Reading more records is not worth the time and memory; write "lost" instead.
 */
enum { MAX_RECORDS = 1 << 20 };

struct own {
    int dir;
    struct journal *journal; /* NULL: not opened yet */
    bool loaded;
    GHashTable *states; /* own_state -> link */
    guint records;
    int64_t lost_seq; /* -1: none lost */
};

/* The successor of a state. to.ino 0: its ctime is unknown. */
struct link {
    struct own_state from, to;
};

static guint state_hash(gconstpointer key)
{
    const struct own_state *state = key;

    return g_int64_hash(&state->ino) ^ g_int64_hash(&state->changed);
}

static gboolean state_equal(gconstpointer a, gconstpointer b)
{
    const struct own_state *x = a, *y = b;

    return x->ino == y->ino && x->changed == y->changed;
}

static void note_link(struct own *own, const struct own_state *from,
                      const struct own_state *to)
{
    struct link *link = g_new(struct link, 1);

    link->from = *from;
    link->to = *to;
    g_hash_table_replace(own->states, &link->from, link);
}

/* ---- reading ------------------------------------------------------------- */

static int64_t number(json_t *record, const char *key)
{
    return json_integer_value(json_object_get(record, key));
}

static int read_record(json_t *record, void *opaque)
{
    struct own *own = opaque;
    const char *type = json_string_value(json_object_get(record, "t"));
    struct own_state from = { (uint64_t)number(record, "i"),
                              number(record, "c") };
    struct own_state to = { (uint64_t)number(record, "j"),
                            number(record, "d") };

    own->records++;
    if (g_strcmp0(type, "lost") == 0)
        own->lost_seq = MAX(own->lost_seq, number(record, "seq"));
    else if (from.ino)
        note_link(own, &from, &to);
    return 0;
}

static void load(struct own *own)
{
    bool damaged = false;
    int rc;

    if (own->loaded)
        return;
    own->loaded = true;
    rc = journal_read(own->dir, FILE_NAME, read_record, own, &damaged);
    if (damaged || (rc < 0 && rc != -ENOENT)) {
        log_warn(LOG_UNDO, "undo log: " FILE_NAME
                           " is damaged; undo may miss outside edits");
        own->lost_seq = INT64_MAX;
    }
}

/* ---- writing ------------------------------------------------------------- */

/* Start over with a file that has only "lost". If that cannot be written, the
 * loss is noted in memory and the file stays as it was. */
void own_lose(struct own *own, int64_t last_seq)
{
    struct journal *journal;
    int rc;

    load(own);
    own->lost_seq = MAX(own->lost_seq, last_seq);
    sys_unlinkat(own->dir, NEW_NAME, 0);
    rc = journal_open(own->dir, NEW_NAME, &journal);
    if (rc < 0)
        return;
    rc = journal_append(journal, json_pack("{s:s, s:I}", "t", "lost", "seq",
                                           (json_int_t)own->lost_seq));
    if (rc == 0)
        rc = sys_renameat2(own->dir, NEW_NAME, own->dir, FILE_NAME, 0);
    if (rc < 0) {
        journal_close(journal);
        return;
    }
    journal_close(own->journal);
    own->journal = journal;
    own->records = 1;
    g_hash_table_remove_all(own->states);
}

static void append(struct own *own, const char *line, int64_t last_seq)
{
    int rc = own->journal ? 0
                          : journal_open(own->dir, FILE_NAME, &own->journal);

    if (rc == 0)
        rc = journal_append_text(own->journal, line, strlen(line));
    if (rc < 0 || ++own->records > MAX_RECORDS)
        own_lose(own, last_seq);
}

void own_add(struct own *own, const struct own_state *from,
             const struct own_state *to, int64_t last_seq)
{
    g_autofree char *line = NULL;

    if (state_equal(from, to))
        return;
    line = g_strdup_printf("{\"t\":\"own\",\"i\":%" PRId64 ",\"c\":%" PRId64
                           ",\"j\":%" PRId64 ",\"d\":%" PRId64,
                           (int64_t)from->ino, from->changed, (int64_t)to->ino,
                           to->changed);
    append(own, line, last_seq);
    if (own->loaded)
        note_link(own, from, to);
}

void own_loosen(struct own *own, const struct own_state *state,
                int64_t last_seq)
{
    g_autofree char *line = g_strdup_printf(
        "{\"t\":\"loose\",\"i\":%" PRId64 ",\"c\":%" PRId64,
        (int64_t)state->ino, state->changed);
    struct own_state unknown = { 0 };

    append(own, line, last_seq);
    if (own->loaded)
        note_link(own, state, &unknown);
}

/* ---- asking -------------------------------------------------------------- */

bool own_follow(struct own *own, int64_t seq, struct own_state *state)
{
    const struct link *link;
    guint left;

    load(own);
    /* A clock that was set back could make a circle. */
    for (left = g_hash_table_size(own->states);
         left > 0 && (link = g_hash_table_lookup(own->states, state)); left--) {
        if (link->to.ino == 0)
            return false;
        *state = link->to;
    }
    return seq > own->lost_seq;
}

/* ---- life ---------------------------------------------------------------- */

struct own *own_new(int dirfd)
{
    struct own *own = g_new0(struct own, 1);

    own->dir = dirfd;
    own->lost_seq = -1;
    own->states = g_hash_table_new_full(state_hash, state_equal, NULL, g_free);
    return own;
}

void own_free(struct own *own)
{
    if (!own)
        return;
    journal_close(own->journal);
    g_hash_table_unref(own->states);
    g_free(own);
}

void own_forget(struct own *own)
{
    if (own->loaded && own->records == 0 && own->lost_seq < 0)
        return;
    g_clear_pointer(&own->journal, journal_close);
    sys_unlinkat(own->dir, FILE_NAME, 0);
    g_hash_table_remove_all(own->states);
    own->records = 0;
    own->lost_seq = -1;
    own->loaded = true; /* nothing left to read */
}
