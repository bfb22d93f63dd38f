/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_summary - see cli_summary.h.
 */
#include "agent/cli/cli_summary.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_fit.h"
#include "agent/client/report_json.h"
#include "common/json_bytes.h"

enum {
    COMMAND_MAX = 60,   /* characters of a command, off a terminal */
    GAP = 2,            /* columns between cells */
    MIN_COMMAND = 10,   /* columns of a command */
    MIN_PATH = 12,      /* columns of a path */
    KIND_COLUMNS = 13,  /* before a path of a list of changes */
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
static char *printable_command(const char *command, int max)
{
    g_autofree char *text = NULL;
    GString *line = g_string_new(NULL);
    int count = 0;

    text = g_utf8_make_valid(command ? command : "", -1);
    for (const char *p = text; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);

        if (count++ == max) {
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
    g_autofree char *command = printable_command(report->command, COMMAND_MAX);
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
    g_autofree char *command = printable_command(report->command, COMMAND_MAX);
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

static char *describe_command(const struct step_report *report, int max)
{
    g_autofree char *command = printable_command(report->command, max);
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

char *cli_summary_open_command(json_t *answer)
{
    json_t *value = json_object_get(answer, "open_command");
    g_autofree char *bytes = json_is_object(value)
                                 ? json_bytes_get(value, "command", NULL)
                                 : g_strdup(json_string_value(value));

    return printable_command(bytes, COMMAND_MAX);
}

void cli_summary_row(const struct step_report *report, int command_max,
                     struct cli_row *ret_row)
{
    int max = command_max ? command_max : COMMAND_MAX;
    bool damaged = report->damaged;

    ret_row->id = report->step_id;
    ret_row->time = damaged ? NULL : local_time(report->started);
    ret_row->changes = damaged
                           ? g_strdup("(damaged: its record cannot be read)")
                           : describe_changes(report);
    ret_row->command = damaged ? NULL : describe_command(report, max);
}

void cli_row_clear(struct cli_row *row)
{
    g_free(row->time);
    g_free(row->changes);
    g_free(row->command);
}

char *cli_summary_preview(const struct step_report *report, unsigned width)
{
    g_autofree char *changes = describe(report, true), *head = NULL;
    g_autofree char *command = NULL, *line = NULL;
    struct cli_row row;
    unsigned used;

    cli_summary_row(report, COMMAND_MAX, &row);
    head = row.time
               ? g_strdup_printf("%" G_GINT64_FORMAT "  %s", row.id, row.time)
               : g_strdup_printf("%" G_GINT64_FORMAT, row.id);
    used = cli_fit_columns(head) + cli_fit_columns(changes) + 2 * GAP;
    command = cli_fit_middle(row.command ? row.command : "",
                             width ? MAX(width, used + MIN_COMMAND) - used : 0);
    line = row.time ? g_strdup_printf("%s  %s  %s", head, command, changes)
                    : g_strdup_printf("%s  %s", head, row.changes);
    cli_row_clear(&row);
    return cli_fit_end(line, width);
}

char *cli_summary_path(const char *path, unsigned width)
{
    const char *end = path + strlen(path);
    GString *text = g_string_new(*path ? NULL : "."); /* the folder itself */
    char *shown;

    while (path < end) {
        gunichar c = g_utf8_get_char_validated(path, end - path);
        bool valid = (gint32)c >= 0;
        const char *next = valid ? g_utf8_next_char(path) : path + 1;

        if (valid && c >= 0x80 &&
            (g_unichar_isprint(c) || g_unichar_ismark(c))) {
            g_string_append_unichar(text, c);
        } else {
            g_autofree char *piece = g_strndup(path, (gsize)(next - path));
            g_autofree char *escaped = g_strescape(piece, NULL);

            g_string_append(text, escaped);
        }
        path = next;
    }
    shown = cli_fit_middle(text->str, width);
    g_string_free(text, TRUE);
    return shown;
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

/* Append as many of the paths as fit the width beside the rest, but one at
 * least. Return how many. */
static guint append_paths(GString *line, const struct undo_barrier *barrier,
                          unsigned width, unsigned rest)
{
    guint shown = 0;

    while (shown < MIN(barrier->paths->len, (guint)BARRIER_PATHS)) {
        unsigned used = cli_fit_columns(line->str) + rest + 2;
        unsigned room = MAX(width, used + MIN_PATH) - used;
        g_autofree char *text = cli_summary_path(
            g_ptr_array_index(barrier->paths, shown), width ? room : 0);

        if (shown > 0 && width > 0 && used + cli_fit_columns(text) > width)
            break;
        g_string_append_printf(line, "%s%s", shown ? ", " : "", text);
        shown++;
    }
    return shown;
}

char *cli_summary_barrier(const struct undo_barrier *barrier, unsigned width)
{
    g_autofree char *time = local_time(barrier->timestamp);
    g_autoptr(GString) line = g_string_new(NULL), who = g_string_new(NULL);
    gint64 more;
    guint shown;

    append_who(who, barrier);
    g_string_printf(line, "   --  %s  changed from outside: ", time);
    shown = append_paths(line, barrier, width,
                         cli_fit_columns(who->str) +
                             (unsigned)strlen(" and 1000 more"));
    more = barrier->more + barrier->paths->len - shown;
    if (shown == 0)
        g_string_append(line, "unknown paths");
    if (more > 0)
        g_string_append_printf(line, " and %" G_GINT64_FORMAT " more", more);
    g_string_append(line, who->str);
    return cli_fit_end(line->str, width);
}

static bool has_same_writers(const struct step_change *a,
                             const struct step_change *b)
{
    return a->n_by == b->n_by &&
           memcmp(a->by, b->by, a->n_by * sizeof(a->by[0])) == 0;
}

/* Return whether the changes have different writers. */
static bool has_several_writers(const struct step_report *report)
{
    for (guint i = 0; i < report->changes->len; i++) {
        const struct step_change *change = g_ptr_array_index(report->changes,
                                                             i);

        if (change->n_by > 1 ||
            !has_same_writers(change, g_ptr_array_index(report->changes, 0)))
            return true;
    }
    return false;
}

/* "  (by execution 3)", "  (by executions 3, ?)". */
static char *writers_text(const struct step_change *change)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < change->n_by; i++) {
        g_string_append(text, i > 0               ? ", "
                              : change->n_by == 1 ? "  (by execution "
                                                  : "  (by executions ");
        if (change->by[i] > 0)
            g_string_append_printf(text, "%" G_GINT64_FORMAT, change->by[i]);
        else
            g_string_append_c(text, '?');
    }
    if (change->n_by > 0)
        g_string_append_c(text, ')');
    return g_string_free(text, FALSE);
}

/* "    created  b, from a". */
static void append_change(GString *text, const struct step_change *change,
                          bool has_writers, const struct cli_output *output)
{
    static const enum cli_paint paints[IC_CHANGE_TYPES] = {
        [IC_CREATED] = PAINT_GOOD,   [IC_MODIFIED] = PAINT_OTHER,
        [IC_DELETED] = PAINT_BAD,    [IC_RENAMED] = PAINT_OTHER,
        [IC_METADATA] = PAINT_OTHER,
    };
    static const char from[] = ", from ";
    g_autofree char *by = has_writers ? writers_text(change) : g_strdup("");
    unsigned taken = KIND_COLUMNS + (unsigned)strlen(by);
    unsigned left = output->width ? MAX(output->width, taken + 20) - taken : 0;
    unsigned half = left ? (left - (unsigned)strlen(from)) / 2 : 0;
    g_autofree char *kind = g_strdup_printf("%-8s", kinds[change->type]);
    g_autofree char *shown_kind = cli_output_paint(output, paints[change->type],
                                                   kind);
    g_autofree char *old = change->from ? cli_summary_path(change->from, half)
                                        : NULL;
    g_autofree char *shown = cli_summary_path(change->path, old ? half : left);

    g_string_append_printf(text, "    %s %s%s%s%s\n", shown_kind, shown,
                           old ? from : "", old ? old : "", by);
}

char *cli_summary_changes(const struct step_report *report,
                          const struct cli_output *output)
{
    GString *text = g_string_new(NULL);
    gint64 more = report->affected - report->changes->len;
    bool has_writers = has_several_writers(report);

    for (guint i = 0; i < report->changes->len; i++)
        append_change(text, g_ptr_array_index(report->changes, i), has_writers,
                      output);
    if (report->truncated && more > 0)
        g_string_append_printf(text, "    and %" G_GINT64_FORMAT " more\n",
                               more);
    else if (report->truncated)
        g_string_append(text, "    and more\n");
    return g_string_free(text, FALSE);
}

void cli_summary_tell_oom(int kills)
{
    if (kills > 0)
        fprintf(stderr,
                CLI_PROGRAM ": the sandbox's memory was used up, and the "
                            "kernel killed %d of its processes; give a new "
                            "sandbox more with --memory\n",
                kills);
}
