/* SPDX-License-Identifier: Apache-2.0
 *
 * ctime_ledger - see ctime_ledger.h.
 */
#include "interceptor/log/ctime_ledger.h"

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

struct ctime_ledger {
    int dir;
    struct journal *journal; /* NULL: not opened yet */
    bool loaded;
    GHashTable *states; /* ctime_state -> link */
    guint records;
    int64_t lost_seq; /* -1: none lost */
};

/* The successor of a state. to.ino 0: its ctime is unknown. */
struct link {
    struct ctime_state from, to;
};

static guint state_hash(gconstpointer key)
{
    const struct ctime_state *state = key;

    return g_int64_hash(&state->ino) ^ g_int64_hash(&state->changed);
}

static gboolean state_equal(gconstpointer a, gconstpointer b)
{
    const struct ctime_state *x = a, *y = b;

    return x->ino == y->ino && x->changed == y->changed;
}

static void note_link(struct ctime_ledger *ledger,
                      const struct ctime_state *from,
                      const struct ctime_state *to)
{
    struct link *link = g_new(struct link, 1);

    link->from = *from;
    link->to = *to;
    g_hash_table_replace(ledger->states, &link->from, link);
}

/* ---- reading ------------------------------------------------------------- */

static int64_t number(json_t *record, const char *key)
{
    return json_integer_value(json_object_get(record, key));
}

static int read_record(json_t *record, void *opaque)
{
    struct ctime_ledger *ledger = opaque;
    const char *type = json_string_value(json_object_get(record, "t"));
    struct ctime_state from = { (uint64_t)number(record, "i"),
                                number(record, "c") };
    struct ctime_state to = { (uint64_t)number(record, "j"),
                              number(record, "d") };

    ledger->records++;
    if (g_strcmp0(type, "lost") == 0)
        ledger->lost_seq = MAX(ledger->lost_seq, number(record, "seq"));
    else if (from.ino)
        note_link(ledger, &from, &to);
    return 0;
}

static void load(struct ctime_ledger *ledger)
{
    bool damaged = false;
    int rc;

    if (ledger->loaded)
        return;
    ledger->loaded = true;
    rc = journal_read(ledger->dir, FILE_NAME, read_record, ledger, &damaged);
    if (damaged || (rc < 0 && rc != -ENOENT)) {
        log_warn(LOG_UNDO, "undo log: " FILE_NAME
                           " is damaged; undo may miss outside edits");
        ledger->lost_seq = INT64_MAX;
    }
}

/* ---- writing ------------------------------------------------------------- */

/* Start over with a file that has only "lost". If that cannot be written, the
 * loss is noted in memory and the file stays as it was. */
void ctime_ledger_lose(struct ctime_ledger *ledger, int64_t last_seq)
{
    struct journal *journal;
    int rc;

    load(ledger);
    ledger->lost_seq = MAX(ledger->lost_seq, last_seq);
    sys_unlinkat(ledger->dir, NEW_NAME, 0);
    rc = journal_open(ledger->dir, NEW_NAME, &journal);
    if (rc < 0)
        return;
    rc = journal_append(journal, json_pack("{s:s, s:I}", "t", "lost", "seq",
                                           (json_int_t)ledger->lost_seq));
    if (rc == 0)
        rc = sys_renameat2(ledger->dir, NEW_NAME, ledger->dir, FILE_NAME, 0);
    if (rc < 0) {
        journal_close(journal);
        return;
    }
    journal_close(ledger->journal);
    ledger->journal = journal;
    ledger->records = 1;
    g_hash_table_remove_all(ledger->states);
}

static void append(struct ctime_ledger *ledger, const char *line,
                   int64_t last_seq)
{
    int rc = ledger->journal
                 ? 0
                 : journal_open(ledger->dir, FILE_NAME, &ledger->journal);

    if (rc == 0)
        rc = journal_append_text(ledger->journal, line, strlen(line));
    if (rc < 0 || ++ledger->records > MAX_RECORDS)
        ctime_ledger_lose(ledger, last_seq);
}

void ctime_ledger_add(struct ctime_ledger *ledger,
                      const struct ctime_state *from,
                      const struct ctime_state *to, int64_t last_seq)
{
    g_autofree char *line = NULL;

    if (state_equal(from, to))
        return;
    line = g_strdup_printf("{\"t\":\"own\",\"i\":%" PRId64 ",\"c\":%" PRId64
                           ",\"j\":%" PRId64 ",\"d\":%" PRId64,
                           (int64_t)from->ino, from->changed, (int64_t)to->ino,
                           to->changed);
    append(ledger, line, last_seq);
    if (ledger->loaded)
        note_link(ledger, from, to);
}

void ctime_ledger_loosen(struct ctime_ledger *ledger,
                         const struct ctime_state *state, int64_t last_seq)
{
    g_autofree char *line = g_strdup_printf(
        "{\"t\":\"loose\",\"i\":%" PRId64 ",\"c\":%" PRId64,
        (int64_t)state->ino, state->changed);
    struct ctime_state unknown = { 0 };

    append(ledger, line, last_seq);
    if (ledger->loaded)
        note_link(ledger, state, &unknown);
}

/* ---- asking -------------------------------------------------------------- */

bool ctime_ledger_follow(struct ctime_ledger *ledger, int64_t seq,
                         struct ctime_state *state)
{
    const struct link *link;
    guint left;

    load(ledger);
    /* A clock that was set back could make a circle. */
    for (left = g_hash_table_size(ledger->states);
         left > 0 && (link = g_hash_table_lookup(ledger->states, state));
         left--) {
        if (link->to.ino == 0)
            return false;
        *state = link->to;
    }
    return seq > ledger->lost_seq;
}

/* ---- life ---------------------------------------------------------------- */

struct ctime_ledger *ctime_ledger_new(int dirfd)
{
    struct ctime_ledger *ledger = g_new0(struct ctime_ledger, 1);

    ledger->dir = dirfd;
    ledger->lost_seq = -1;
    ledger->states = g_hash_table_new_full(state_hash, state_equal, NULL,
                                           g_free);
    return ledger;
}

void ctime_ledger_free(struct ctime_ledger *ledger)
{
    if (!ledger)
        return;
    journal_close(ledger->journal);
    g_hash_table_unref(ledger->states);
    g_free(ledger);
}

void ctime_ledger_forget(struct ctime_ledger *ledger)
{
    if (ledger->loaded && ledger->records == 0 && ledger->lost_seq < 0)
        return;
    g_clear_pointer(&ledger->journal, journal_close);
    sys_unlinkat(ledger->dir, FILE_NAME, 0);
    g_hash_table_remove_all(ledger->states);
    ledger->records = 0;
    ledger->lost_seq = -1;
    ledger->loaded = true; /* nothing left to read */
}
