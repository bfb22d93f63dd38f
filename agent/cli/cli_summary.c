/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_summary - see cli_summary.h.
 */
#include "agent/cli/cli_summary.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "agent/client/report_json.h"

enum {
    COMMAND_MAX = 60,   /* characters of a command in the history */
    BARRIER_PATHS = 10, /* paths of a barrier */
};

/* In the order of the output. */
static const char *const kinds[IC_CHANGE_TYPES] = {
    [IC_CREATED] = "created",   [IC_MODIFIED] = "modified",
    [IC_DELETED] = "deleted",   [IC_RENAMED] = "renamed",
    [IC_METADATA] = "metadata",
};

/* "2 created, 1 deleted". */
static char *count_changes(const struct step_report *report)
{
    GString *text = g_string_new(NULL);

    for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++) {
        if (report->counts[k] > 0)
            g_string_append_printf(text, "%s%" G_GINT64_FORMAT " %s",
                                   text->len ? ", " : "", report->counts[k],
                                   kinds[k]);
    }
    return g_string_free(text, FALSE);
}

/* For a report of the past, or of a preview. */
static char *describe(const struct step_report *report, bool is_preview)
{
    gint64 affected = report->affected;
    g_autofree char *counts = count_changes(report);
    const char *plural = affected == 1 ? "" : "s";

    if (report->unprotected)
        return g_strdup("changed more than could be kept");
    if (affected > 0 && report->unchanged)
        return g_strdup_printf("wrote %" G_GINT64_FORMAT
                               " path%s with the same content as before",
                               affected, plural);
    if (affected == 0)
        return g_strdup(is_preview ? "undo would change nothing"
                                   : "nothing changed");
    if (is_preview)
        return g_strdup_printf("undo would change %" G_GINT64_FORMAT
                               " path%s (%s)",
                               affected, plural, counts);
    return g_strdup_printf("%" G_GINT64_FORMAT " path%s changed (%s)", affected,
                           plural, counts);
}

static char *describe_changes(const struct step_report *report)
{
    return describe(report, false);
}

char *cli_summary_step(const struct step_report *report, const char *undo_hint)
{
    g_autofree char *changes = describe_changes(report);

    if (report->affected == 0 && !report->unprotected) {
        if (!report->undoable)
            return g_steal_pointer(&changes);
        return g_strdup_printf("only directory timestamps changed; undo with: "
                               "%s",
                               undo_hint);
    }
    if (!report->undoable)
        return g_strdup_printf("%s; this cannot be undone", changes);
    return g_strdup_printf("%s; undo with: %s", changes, undo_hint);
}

/* Return the command as one line of printable text. */
static char *printable_command(const char *command)
{
    g_autofree char *text = NULL;
    GString *line = g_string_new(NULL);
    int count = 0;

    text = g_utf8_make_valid(command ? command : "", -1);
    for (const char *p = text; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);

        if (count++ == COMMAND_MAX) {
            g_string_append(line, "...");
            break;
        }
        g_string_append_unichar(line, g_unichar_isprint(c) ? c : ' ');
    }
    return g_string_free(line, FALSE);
}

char *cli_summary_recovery(json_t *payload)
{
    const char *text = json_string_value(json_object_get(payload, "message"));
    gint64 restored = json_integer_value(
        json_object_get(payload, "restored_paths"));
    struct step_report *report = report_from_json(payload, NULL);
    g_autofree char *command = printable_command(report->command);
    bool ambient = g_strcmp0(report->type, "ambient") == 0;
    char *line;

    if (text && !json_is_true(json_object_get(payload, "taken_back")))
        line = g_strdup(text);
    else
        line = g_strdup_printf("rolled back an interrupted step: %s "
                               "(%" G_GINT64_FORMAT " path%s restored)",
                               *command  ? command
                               : ambient ? "changes outside commands"
                                         : report->type,
                               restored, restored == 1 ? "" : "s");
    step_report_unref(report);
    return line;
}

static char *describe_unfinished(const struct step_report *report, bool redo)
{
    g_autofree char *command = printable_command(report->command);
    const char *name = *command ? command : report->type;

    if (report->other_folder)
        return g_strdup_printf(
            "an interrupted step changed another folder: %s; "
            "undo it there",
            name);
    if (redo)
        return g_strdup_printf(
            "interrupted redo: %s; the next undo, redo or run "
            "finishes it",
            name);
    /* Undo, not this, reports whether the next start rolls them back. */
    if (!report->damaged && g_strcmp0(report->type, "ambient") == 0)
        return g_strdup("changes outside commands: no step of the history yet; "
                        "'undo --ambient' undoes them");
    return g_strdup_printf("interrupted step: %s; the next undo, redo or run "
                           "rolls it back",
                           report->damaged ? "its record cannot be read"
                                           : name);
}

char *cli_summary_unfinished(json_t *payload)
{
    struct step_report *report = report_from_json(payload, NULL);
    char *line = describe_unfinished(
        report, json_is_true(json_object_get(payload, "redo")));

    step_report_unref(report);
    return line;
}

/* Convert a protocol time to local time. */
static char *local_time(const char *text)
{
    g_autoptr(GDateTime) utc = text ? g_date_time_new_from_iso8601(text, NULL)
                                    : NULL;
    g_autoptr(GDateTime) local = utc ? g_date_time_to_local(utc) : NULL;

    return local ? g_date_time_format(local, "%Y-%m-%d %H:%M:%S")
                 : g_strdup("?");
}

static char *describe_command(const struct step_report *report)
{
    g_autofree char *command = printable_command(report->command);
    const char *type = report->type;
    GString *text = g_string_new(*command ? command : type ? type : "?");

    if (report->exit_code > 0)
        g_string_append_printf(text, "  [exit %d]", report->exit_code);
    if (report->other_folder)
        g_string_append(text,
                        "  [changed another folder: cannot be undone here]");
    else if (report->below_unprotected)
        g_string_append_printf(
            text, "  [cannot be undone: below step %" G_GINT64_FORMAT "]",
            report->below_unprotected);
    else if (!report->undoable)
        g_string_append(text, "  [cannot be undone]");
    return g_string_free(text, FALSE);
}

void cli_summary_row(const struct step_report *report, struct cli_row *ret_row)
{
    bool damaged = report->damaged;

    ret_row->id = report->step_id;
    ret_row->time = damaged ? NULL : local_time(report->started);
    ret_row->changes = damaged
                           ? g_strdup("(damaged: its record cannot be read)")
                           : describe_changes(report);
    ret_row->command = damaged ? NULL : describe_command(report);
}

void cli_row_clear(struct cli_row *row)
{
    g_free(row->time);
    g_free(row->changes);
    g_free(row->command);
}

static char *row_to_line(const struct cli_row *row)
{
    return row->time
               ? g_strdup_printf("%" G_GINT64_FORMAT "  %s  %s  %s", row->id,
                                 row->time, row->command, row->changes)
               : g_strdup_printf("%" G_GINT64_FORMAT "  %s", row->id,
                                 row->changes);
}

char *cli_summary_history(const struct step_report *report)
{
    struct cli_row row;
    char *line;

    cli_summary_row(report, &row);
    line = row_to_line(&row);
    cli_row_clear(&row);
    return line;
}

char *cli_summary_preview(const struct step_report *report)
{
    struct cli_row row;
    char *line;

    cli_summary_row(report, &row);
    if (row.time) {
        g_free(row.changes);
        row.changes = describe(report, true);
    }
    line = row_to_line(&row);
    cli_row_clear(&row);
    return line;
}

/* Return a path as printable text. */
static char *printable_path(const char *path)
{
    g_autofree char *text = g_utf8_make_valid(path, -1);
    GString *line = g_string_new(NULL);

    for (const char *p = text; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);

        g_string_append_unichar(line, g_unichar_isprint(c) ? c : '?');
    }
    if (line->len == 0)
        g_string_append_c(line, '.'); /* the folder itself */
    return g_string_free(line, FALSE);
}

static void append_who(GString *line, const struct undo_barrier *barrier)
{
    if (barrier->pid > 0 && barrier->process)
        g_string_append_printf(line, " (by %s, process %" G_GINT64_FORMAT ")",
                               barrier->process, barrier->pid);
    else if (barrier->pid > 0)
        g_string_append_printf(line, " (by process %" G_GINT64_FORMAT ")",
                               barrier->pid);
    else if (!barrier->watched)
        g_string_append(line, " (while no file server ran)");
}

char *cli_summary_barrier(const struct undo_barrier *barrier)
{
    g_autofree char *time = local_time(barrier->timestamp);
    guint shown = MIN(barrier->paths->len, BARRIER_PATHS);
    gint64 more = barrier->more + barrier->paths->len - shown;
    GString *line = g_string_new(NULL);

    g_string_printf(line, "   --  %s  changed from outside: ", time);
    for (guint i = 0; i < shown; i++) {
        g_autofree char *text = printable_path(
            g_ptr_array_index(barrier->paths, i));

        g_string_append_printf(line, "%s%s", i ? ", " : "", text);
    }
    if (shown == 0)
        g_string_append(line, "unknown paths");
    if (more > 0)
        g_string_append_printf(line, " and %" G_GINT64_FORMAT " more", more);
    append_who(line, barrier);
    return g_string_free(line, FALSE);
}

static void append_change(GString *text, const struct step_change *change)
{
    g_autofree char *shown = g_strescape(change->path, NULL);
    g_autofree char *shown_from = change->from ? g_strescape(change->from, NULL)
                                               : NULL;

    g_string_append_printf(text, "    %-8s %s%s%s\n", kinds[change->type],
                           shown, shown_from ? ", from " : "",
                           shown_from ? shown_from : "");
}

char *cli_summary_changes(const struct step_report *report)
{
    GString *text = g_string_new(NULL);
    gint64 more = report->affected - report->changes->len;

    for (guint i = 0; i < report->changes->len; i++)
        append_change(text, g_ptr_array_index(report->changes, i));
    if (report->truncated && more > 0)
        g_string_append_printf(text, "    and %" G_GINT64_FORMAT " more\n",
                               more);
    else if (report->truncated)
        g_string_append(text, "    and more\n");
    return g_string_free(text, FALSE);
}
