/* SPDX-License-Identifier: Apache-2.0
 *
 * redo_units - see redo_units.h.
 */
#include "agent/session/redo_units.h"

#include <string.h>

#include "agent/client/step_merge.h"
#include "agent/session/session_core.h"

/* Return a bit set of the folders of a merged step, by index in the session. */
static unsigned find_folders(const struct session *session,
                             const struct step_report *step)
{
    const struct session_config *config = session->config;
    unsigned set = 0;

    for (guint i = 0; i < step->parts->len; i++) {
        const struct step_part *part = g_ptr_array_index(step->parts, i);

        for (unsigned j = 0; j < config->n_directories; j++) {
            if (strcmp(part->directory, config->directories[j]->label) == 0)
                set |= 1u << j;
        }
    }
    return set;
}

/* 0: not undone by this session. */
static unsigned find_undone_folders(const struct session *session, gint64 id)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(session->undone, &id));
}

void redo_units_note(struct session *session, GPtrArray *steps, bool undone)
{
    for (guint i = 0; i < steps->len; i++) {
        const struct step_report *step = g_ptr_array_index(steps, i);
        gint64 id = step->step_id;
        unsigned folders = find_folders(session, step);
        unsigned set = undone ? find_undone_folders(session, id) | folders
                              : find_undone_folders(session, id) & ~folders;

        if (id <= 0) /* private to one log */
            continue;
        if (set)
            g_hash_table_insert(session->undone, g_memdup2(&id, sizeof(id)),
                                GUINT_TO_POINTER(set));
        else
            g_hash_table_remove(session->undone, &id);
    }
}

static bool is_whole(const struct session *session,
                     const struct step_report *step)
{
    unsigned set = find_undone_folders(session, step->step_id);

    return set == 0 || set == find_folders(session, step);
}

/* Return how many steps count; ret_all includes the unchanged steps that go
 * along. */
static unsigned count(const struct session_spread *spread, unsigned max,
                      unsigned *counts, size_t *ret_all)
{
    g_autoptr(GPtrArray) units = step_merge_lists(spread->redos, spread->n,
                                                  SIZE_MAX, true, NULL);
    unsigned counted = 0;
    guint k = 0;

    memset(counts, 0, sizeof(*counts) * spread->n);
    for (; k < units->len; k++) {
        const struct step_report *step = g_ptr_array_index(units, k);
        unsigned set = find_folders(spread->session, step);
        bool follows = counted > 0 && step->unchanged;

        if (!is_whole(spread->session, step) || (!follows && counted == max))
            break;
        counted += !follows;
        for (unsigned i = 0; i < spread->n; i++)
            counts[i] += set >> spread->folders[i] & 1;
    }
    *ret_all = k;
    return counted;
}

unsigned redo_units_count(const struct session_spread *spread, unsigned max,
                          unsigned *counts)
{
    size_t all;

    return count(spread, max, counts, &all);
}

unsigned redo_units_count_all(const struct session_spread *spread)
{
    unsigned counts[SESSION_MAX_DIRECTORIES];
    size_t all = spread->redoable[0];

    if (spread->n > 1)
        count(spread, UINT_MAX, counts, &all);
    return (unsigned)all;
}

bool redo_units_has_others(const struct session_spread *spread,
                           const unsigned *counts)
{
    for (unsigned i = 0; i < spread->n; i++) {
        if (spread->redoable[i] > counts[i])
            return true;
    }
    return false;
}
