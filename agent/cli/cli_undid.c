/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_undid - see cli_undid.h.
 */
#include "agent/cli/cli_undid.h"

#include <stdio.h>
#include <string.h>

#include "agent/cli/cli_fit.h"
#include "agent/cli/cli_summary.h"

enum {
    MAX_NAMES = 10,
    MAX_NAME_COLUMNS = 40, /* on a terminal */
    MORE_COLUMNS = sizeof(" and 1000000 more") - 1,
};

/* The verbs for the paths, by the kind of the step's change, in the order of
 * the output. */
struct group {
    const char *verb;
    unsigned kinds; /* bits of enum ic_change_type */
};

#define KIND(kind) (1u << (kind))

static const struct group undone[] = {
    { "removed ", KIND(IC_CREATED) },
    { "restored ", KIND(IC_DELETED) | KIND(IC_MODIFIED) },
    { "renamed ", KIND(IC_RENAMED) },
    { "restored the attributes of ", KIND(IC_METADATA) },
    { NULL, 0 },
};

static const struct group redone[] = {
    { "created ", KIND(IC_CREATED) },
    { "modified ", KIND(IC_MODIFIED) },
    { "removed ", KIND(IC_DELETED) },
    { "renamed ", KIND(IC_RENAMED) },
    { "changed the attributes of ", KIND(IC_METADATA) },
    { NULL, 0 },
};

/* Return "b", or for a rename "b to a": a new string. */
static char *name_change(const struct step_change *change, bool redo,
                         const struct cli_output *output)
{
    unsigned width = output->terminal ? MAX_NAME_COLUMNS : 0;
    g_autofree char *path = cli_summary_path(change->path, width);
    g_autofree char *from = change->from ? cli_summary_path(change->from, width)
                                         : NULL;

    if (!from)
        return g_steal_pointer(&path);
    return redo ? g_strdup_printf("%s to %s", from, path)
                : g_strdup_printf("%s back to %s", path, from);
}

/* A line that grows until it is full. */
struct line {
    GString *text;
    const struct cli_output *output;
    gint64 names; /* so far */
    gint64 paths; /* that they stand for */
    bool full;
};

static void append_name(struct line *line, const char *verb, const char *name)
{
    const char *comma = line->names > 0 ? ", " : "";
    g_autofree char *part = g_strconcat(comma, verb, name, NULL);
    unsigned width = line->output->width;

    line->full |= line->names == MAX_NAMES ||
                  (width > 0 && line->names > 0 &&
                   cli_fit_columns(line->text->str) + cli_fit_columns(part) +
                           MORE_COLUMNS >
                       width);
    if (line->full)
        return;
    g_string_append(line->text, part);
    line->names++;
}

/* Return the topmost folder above path that folders has, as a new string, or
 * NULL. */
static char *find_above(GHashTable *folders, const char *path)
{
    for (const char *slash = strchr(path, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        g_autofree char *above = g_strndup(path, (gsize)(slash - path));

        if (g_hash_table_contains(folders, above))
            return g_steal_pointer(&above);
    }
    return NULL;
}

/* Return the paths that appeared or disappeared in this way, each with the
 * number of such paths below it: a folder stands for what is in it. */
static GHashTable *find_tops(const struct step_report *report,
                             enum ic_change_type type)
{
    GHashTable *tops = g_hash_table_new(g_str_hash, g_str_equal);

    if (type != IC_CREATED && type != IC_DELETED)
        return tops;
    for (guint i = 0; i < report->changes->len; i++) {
        const struct step_change *change = g_ptr_array_index(report->changes,
                                                             i);

        if (change->type == type)
            g_hash_table_insert(tops, change->path, GINT_TO_POINTER(0));
    }
    for (guint i = 0; i < report->changes->len; i++) {
        const struct step_change *change = g_ptr_array_index(report->changes,
                                                             i);
        g_autofree char *above = change->type == type
                                     ? find_above(tops, change->path)
                                     : NULL;
        gpointer key, count;

        if (above && g_hash_table_lookup_extended(tops, above, &key, &count))
            g_hash_table_insert(tops, key,
                                GINT_TO_POINTER(GPOINTER_TO_INT(count) + 1));
    }
    return tops;
}

/* Append the changes of one kind. Return whether the verb was used. */
static bool append_kind(struct line *line, const char *verb,
                        const struct step_report *report,
                        enum ic_change_type type, bool redo)
{
    g_autoptr(GHashTable) tops = find_tops(report, type);
    bool used = false;

    for (guint i = 0; i < report->changes->len && !line->full; i++) {
        const struct step_change *change = g_ptr_array_index(report->changes,
                                                             i);
        g_autofree char *name = NULL, *above = NULL, *whole = NULL;
        int inside;

        if (change->type != type)
            continue;
        above = find_above(tops, change->path);
        if (above)
            continue;
        inside = GPOINTER_TO_INT(g_hash_table_lookup(tops, change->path));
        name = name_change(change, redo, line->output);
        whole = inside > 0 ? g_strdup_printf("%s (%d in it)", name, inside)
                           : g_strdup(name);
        append_name(line, used ? "" : verb, whole);
        if (!line->full)
            line->paths += 1 + inside;
        used = true;
    }
    return used;
}

static void append_group(struct line *line, const struct group *group,
                         const struct step_report *report, bool redo)
{
    const char *verb = group->verb;

    for (enum ic_change_type type = 0; type < IC_CHANGE_TYPES; type++) {
        if ((group->kinds & KIND(type)) &&
            append_kind(line, verb, report, type, redo))
            verb = "";
    }
}

static const char *describe_none(const struct step_report *report)
{
    if (report->unprotected)
        return "what could be kept of it";
    return report->affected > 0 ? "the content was the same before"
                                : "only directory timestamps had changed";
}

static char *paint_head(const char *text, const struct cli_output *output)
{
    const char *colon = strchr(text, ':');
    g_autofree char *head = g_strndup(text, (gsize)(colon - text));
    g_autofree char *shown = cli_output_paint(output, PAINT_ID, head);

    return g_strconcat(shown, colon, NULL);
}

char *cli_undid_line(enum cli_deed deed, const struct step_report *report,
                     const struct cli_output *output)
{
    bool redo = deed == CLI_REDID;
    g_autoptr(GString) text = g_string_new(NULL);
    struct line line = { .text = text, .output = output };
    gint64 more;

    g_string_printf(text, "%s step %" G_GINT64_FORMAT ": ",
                    redo ? "redid" : "undid", report->step_id);
    for (const struct group *g = redo ? redone : undone;
         g->verb && !report->unchanged; g++)
        append_group(&line, g, report, redo);
    more = MAX(report->affected, (gint64)report->changes->len) - line.paths;
    if (line.names == 0)
        g_string_append(text, describe_none(report));
    else if (more > 0)
        g_string_append_printf(text, " and %" G_GINT64_FORMAT " more", more);
    return paint_head(text->str, output);
}

/* ---- all steps of an answer ---------------------------------------------- */

static void print_preview(const struct step_report *report,
                          const struct cli_output *output)
{
    static const char head[] = "would be undone: step ";
    unsigned width = output->width;
    g_autofree char *rest = cli_summary_preview(
        report, width ? width - (unsigned)(sizeof(head) - 1) : 0);
    g_autofree char *text = g_strconcat(head, rest, NULL);
    g_autofree char *shown = paint_head(text, output);

    puts(shown);
}

static void print_step(enum cli_deed deed, bool passes,
                       const struct step_report *report,
                       const struct cli_output *output)
{
    bool dry = deed == CLI_WOULD_UNDO;

    if (report->other_folder || report->damaged) {
        printf("%s: step %" G_GINT64_FORMAT "; its changes stay\n",
               !dry     ? "skipped"
               : passes ? "would be skipped"
                        : "cannot be undone",
               report->step_id);
    } else if (dry) {
        print_preview(report, output);
    } else {
        g_autofree char *line = cli_undid_line(deed, report, output);

        puts(line);
    }
}

void cli_undid_print(enum cli_deed deed, bool passes,
                     const struct undo_result *result,
                     const struct cli_output *output)
{
    for (guint i = 0; result->steps && i < result->steps->len; i++) {
        const struct step_report *report = g_ptr_array_index(result->steps, i);
        g_autofree char *changes = NULL;

        print_step(deed, passes, report, output);
        if (deed != CLI_WOULD_UNDO || report->other_folder)
            continue;
        if (i > 0)
            puts(
                "    As recorded by the step; undo compares it with the folder "
                "only after the\n    newer steps are undone.");
        changes = cli_summary_changes(report, output);
        fputs(changes, stdout);
    }
}
