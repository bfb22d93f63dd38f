/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_stat - see cli_stat.h.
 */
#include "agent/cli/cli_stat.h"

#include <stdio.h>

#include "agent/client/patch_stat.h"
#include "agent/cli/cli_fit.h"
#include "agent/cli/cli_summary.h"
#include "common/json_bytes.h"

enum {
    FRAME = 5,        /* columns of " ", " | " and the space at the end */
    PLAIN_WIDTH = 80, /* off a terminal, of which names may take more */
    MIN_NAME = 10,
};

struct cli_stat {
    GArray *files; /* of struct patch_stat */
};

static void clear_file(gpointer file)
{
    patch_stat_clear(file);
}

struct cli_stat *cli_stat_new(void)
{
    struct cli_stat *stat = g_new0(struct cli_stat, 1);

    stat->files = g_array_new(FALSE, FALSE, sizeof(struct patch_stat));
    g_array_set_clear_func(stat->files, clear_file);
    return stat;
}

void cli_stat_free(struct cli_stat *stat)
{
    if (stat)
        g_array_unref(stat->files);
    g_free(stat);
}

gboolean cli_stat_add(struct cli_stat *stat, json_t *file, GError **error)
{
    struct patch_stat one;

    if (!patch_stat_file(file, &one, error))
        return FALSE;
    if (one.path)
        g_array_append_val(stat->files, one);
    else
        patch_stat_clear(&one);
    return TRUE;
}

static const struct patch_stat *file_at(const struct cli_stat *stat, guint i)
{
    return &g_array_index(stat->files, struct patch_stat, i);
}

/* ---- text ---------------------------------------------------------------- */

struct layout {
    unsigned name, count, graph; /* columns */
    gint64 most;                 /* lines of the largest change */
};

/* Return "a", or "a => b" for a rename: a new string. */
static char *name_of(const struct patch_stat *file, unsigned width)
{
    static const char arrow[] = " => ";
    unsigned half = width ? (width - (unsigned)sizeof(arrow) + 1) / 2 : 0;
    g_autofree char *from = file->from ? cli_summary_path(file->from, 0) : NULL;
    g_autofree char *path = cli_summary_path(file->path, from ? 0 : width);
    g_autofree char *both = from ? g_strconcat(from, arrow, path, NULL) : NULL;
    g_autofree char *old = NULL, *new = NULL;

    if (!from)
        return g_steal_pointer(&path);
    if (width == 0 || cli_fit_columns(both) <= width)
        return g_steal_pointer(&both);
    old = cli_fit_middle(from, half);
    new = cli_fit_middle(path, half);
    return g_strconcat(old, arrow, new, NULL);
}

static unsigned digits(gint64 number)
{
    unsigned count = 1;

    for (; number >= 10; number /= 10)
        count++;
    return count;
}

/* The graph gets what the names leave, and at least 3/8 of the width; a name
 * that is longer than the rest is shortened. */
static struct layout make_layout(const struct cli_stat *stat, unsigned width)
{
    struct layout layout = { 0 };
    unsigned whole = width ? width : PLAIN_WIDTH, notes = 0, want;

    for (guint i = 0; i < stat->files->len; i++) {
        const struct patch_stat *file = file_at(stat, i);
        g_autofree char *name = name_of(file, 0);

        layout.name = MAX(layout.name, cli_fit_columns(name));
        layout.most = MAX(layout.most, file->added + file->removed);
        if (file->note)
            notes = MAX(notes, cli_fit_columns(file->note));
    }
    layout.count = digits(layout.most);
    want = (unsigned)MIN(layout.most, (gint64)whole * 3 / 8);
    want = MAX(want + layout.count, notes) + FRAME;
    if (width)
        layout.name = MIN(layout.name, MAX(whole, want + MIN_NAME) - want);
    want = FRAME + layout.name + layout.count;
    layout.graph = (unsigned)MIN(layout.most,
                                 (gint64)(MAX(whole, want + MIN_NAME) - want));
    return layout;
}

/* Return the marks of this many lines, at least one for a line. */
static char *marks(const struct layout *layout, gint64 lines, char mark)
{
    gint64 count = lines;

    if (layout->most > layout->graph && lines > 0)
        count = MAX(lines * layout->graph / layout->most, 1);
    return g_strnfill((gsize)count, mark);
}

static void print_file(const struct layout *layout,
                       const struct patch_stat *file,
                       const struct cli_output *output)
{
    g_autofree char *name = name_of(file, output->width ? layout->name : 0);
    g_autofree char *cell = cli_fit_pad(name, layout->name);
    g_autofree char *plus = marks(layout, file->added, '+');
    g_autofree char *minus = marks(layout, file->removed, '-');
    g_autofree char *added = cli_output_paint(output, PAINT_GOOD, plus);
    g_autofree char *removed = cli_output_paint(output, PAINT_BAD, minus);

    if (file->note)
        printf(" %s | %s\n", cell, file->note);
    else
        printf(" %s | %*" G_GINT64_FORMAT "%s%s%s\n", cell, (int)layout->count,
               file->added + file->removed, *plus || *minus ? " " : "", added,
               removed);
}

static void print_count(gint64 count, const char *what)
{
    if (count > 0)
        printf(", %" G_GINT64_FORMAT " %s", count, what);
}

static void print_total(const struct cli_stat *stat)
{
    gint64 added = 0, removed = 0;

    for (guint i = 0; i < stat->files->len; i++) {
        added += file_at(stat, i)->added;
        removed += file_at(stat, i)->removed;
    }
    printf(" %u file%s changed", stat->files->len,
           stat->files->len == 1 ? "" : "s");
    print_count(added, added == 1 ? "insertion(+)" : "insertions(+)");
    print_count(removed, removed == 1 ? "deletion(-)" : "deletions(-)");
    putchar('\n');
}

void cli_stat_print(const struct cli_stat *stat,
                    const struct cli_output *output)
{
    const struct layout layout = make_layout(stat, output->width);

    if (stat->files->len == 0)
        return;
    for (guint i = 0; i < stat->files->len; i++)
        print_file(&layout, file_at(stat, i), output);
    print_total(stat);
}

/* ---- JSON ---------------------------------------------------------------- */

json_t *cli_stat_to_json(const struct cli_stat *stat)
{
    json_t *files = json_array();

    for (guint i = 0; i < stat->files->len; i++) {
        const struct patch_stat *file = file_at(stat, i);
        json_t *one = json_pack("{s:o}", "path", json_bytes_path(file->path));

        if (file->from)
            json_object_set_new(one, "from", json_bytes_path(file->from));
        if (file->note) {
            json_object_set_new(one, "note", json_string(file->note));
        } else {
            json_object_set_new(one, "added", json_integer(file->added));
            json_object_set_new(one, "removed", json_integer(file->removed));
        }
        json_array_append_new(files, one);
    }
    return files;
}
