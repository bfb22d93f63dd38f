/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_summary - see cli_summary.h.
 */
#include "agent/cli/cli_summary.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "common/json_bytes.h"

enum {
    COMMAND_MAX = 60,   /* characters of a command in the history */
    BARRIER_PATHS = 10, /* paths of a barrier */
};

/* In the order in which they are told. */
static const char *const kinds[] = { "created", "modified", "deleted",
                                     "renamed", "metadata" };

static gint64 member(json_t *report, const char *key)
{
    return json_integer_value(json_object_get(report, key));
}

/* "2 created, 1 deleted". */
static char *count_changes(json_t *report)
{
    json_t *counts = json_object_get(report, "counts");
    GString *text = g_string_new(NULL);

    for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++) {
        gint64 count = member(counts, kinds[k]);

        if (count > 0)
            g_string_append_printf(text, "%s%" G_GINT64_FORMAT " %s",
                                   text->len ? ", " : "", count, kinds[k]);
    }
    return g_string_free(text, FALSE);
}

/* For a report of what was done, or of what undo would do. */
static char *describe(json_t *report, bool is_preview)
{
    gint64 affected = member(report, "affected");
    g_autofree char *counts = count_changes(report);
    const char *plural = affected == 1 ? "" : "s";

    if (json_is_true(json_object_get(report, "unprotected")))
        return g_strdup("changed more than could be kept");
    if (affected > 0 && json_is_true(json_object_get(report, "unchanged")))
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

static char *describe_changes(json_t *report)
{
    return describe(report, false);
}

char *cli_summary_step(json_t *report, const char *undo_hint)
{
    g_autofree char *changes = describe_changes(report);

    if (member(report, "affected") == 0 &&
        !json_is_true(json_object_get(report, "unprotected"))) {
        if (!json_is_true(json_object_get(report, "undoable")))
            return g_steal_pointer(&changes);
        return g_strdup_printf("only directory timestamps changed; undo with: "
                               "%s",
                               undo_hint);
    }
    if (!json_is_true(json_object_get(report, "undoable")))
        return g_strdup_printf("%s; this cannot be undone", changes);
    return g_strdup_printf("%s; undo with: %s", changes, undo_hint);
}

/* The command as one line of printable text. */
static char *printable_command(json_t *report)
{
    g_autofree char *bytes = NULL;
    g_autofree char *text = NULL;
    GString *line = g_string_new(NULL);
    size_t len;
    int count = 0;

    bytes = json_bytes_get(report, "command", &len);
    text = g_utf8_make_valid(bytes ? bytes : "", -1);
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

char *cli_summary_recovery(json_t *report)
{
    const char *text = json_string_value(json_object_get(report, "message"));
    gint64 restored = member(report, "restored_paths");
    const char *type = json_string_value(json_object_get(report, "type"));
    g_autofree char *command = printable_command(report);
    bool ambient = g_strcmp0(type, "ambient") == 0;

    if (text && !json_is_true(json_object_get(report, "taken_back")))
        return g_strdup(text);
    return g_strdup_printf("rolled back an interrupted step: %s "
                           "(%" G_GINT64_FORMAT " path%s restored)",
                           *command  ? command
                           : ambient ? "changes outside commands"
                                     : type,
                           restored, restored == 1 ? "" : "s");
}

char *cli_summary_unfinished(json_t *report)
{
    bool damaged = json_is_true(json_object_get(report, "damaged"));
    const char *type = json_string_value(json_object_get(report, "type"));
    g_autofree char *command = printable_command(report);

    if (json_is_true(json_object_get(report, "other_folder")))
        return g_strdup_printf(
            "an interrupted step changed another folder: %s; "
            "undo it there",
            *command ? command : type);
    if (json_is_true(json_object_get(report, "redo")))
        return g_strdup_printf(
            "interrupted redo: %s; the next undo, redo or run "
            "finishes it",
            *command ? command : type);
    /* Whether the next start takes these back is not said: undo does. */
    if (!damaged && g_strcmp0(type, "ambient") == 0)
        return g_strdup("changes outside commands: no step of the history yet; "
                        "'undo --ambient' undoes them");
    return g_strdup_printf(
        "interrupted step: %s; the next undo, redo or run rolls it "
        "back",
        damaged    ? "its record cannot be read"
        : *command ? command
                   : type);
}

/* A time of the protocol as the clock on the wall shows it. */
static char *local_time(json_t *report, const char *key)
{
    const char *text = json_string_value(json_object_get(report, key));
    g_autoptr(GDateTime) utc = text ? g_date_time_new_from_iso8601(text, NULL)
                                    : NULL;
    g_autoptr(GDateTime) local = utc ? g_date_time_to_local(utc) : NULL;

    return local ? g_date_time_format(local, "%Y-%m-%d %H:%M:%S")
                 : g_strdup("?");
}

static char *describe_command(json_t *report)
{
    const char *type = json_string_value(json_object_get(report, "type"));
    g_autofree char *command = printable_command(report);
    gint64 exit_code = member(report, "exit_code");
    GString *text = g_string_new(*command ? command : type ? type : "?");

    if (exit_code > 0)
        g_string_append_printf(text, "  [exit %d]", (int)exit_code);
    if (json_is_true(json_object_get(report, "other_folder")))
        g_string_append(text,
                        "  [changed another folder: cannot be undone here]");
    else if (member(report, "below_unprotected"))
        g_string_append_printf(
            text, "  [cannot be undone: below step %" G_GINT64_FORMAT "]",
            member(report, "below_unprotected"));
    else if (json_is_false(json_object_get(report, "undoable")))
        g_string_append(text, "  [cannot be undone]");
    return g_string_free(text, FALSE);
}

void cli_summary_row(json_t *report, struct cli_row *ret_row)
{
    bool damaged = json_is_true(json_object_get(report, "damaged"));

    ret_row->id = member(report, "step_id");
    ret_row->time = damaged ? NULL : local_time(report, "started");
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

char *cli_summary_history(json_t *report)
{
    struct cli_row row;
    char *line;

    cli_summary_row(report, &row);
    line = row_to_line(&row);
    cli_row_clear(&row);
    return line;
}

char *cli_summary_preview(json_t *report)
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

/* A path as printable text; it may be an object (json_bytes.h). */
static char *printable_path(json_t *path)
{
    g_autofree char *bytes = json_bytes_get_path(path);
    g_autofree char *text = g_utf8_make_valid(bytes ? bytes : "", -1);
    GString *line = g_string_new(NULL);

    for (const char *p = text; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);

        g_string_append_unichar(line, g_unichar_isprint(c) ? c : '?');
    }
    if (line->len == 0)
        g_string_append_c(line, '.'); /* the folder itself */
    return g_string_free(line, FALSE);
}

static void append_who(GString *line, json_t *barrier)
{
    const char *process = json_string_value(
        json_object_get(barrier, "process"));
    gint64 pid = member(barrier, "pid");

    if (pid > 0 && process)
        g_string_append_printf(line, " (by %s, process %" G_GINT64_FORMAT ")",
                               process, pid);
    else if (pid > 0)
        g_string_append_printf(line, " (by process %" G_GINT64_FORMAT ")", pid);
    else if (json_is_false(json_object_get(barrier, "watched")))
        g_string_append(line, " (while no file server ran)");
}

char *cli_summary_barrier(json_t *barrier)
{
    g_autofree char *time = local_time(barrier, "timestamp");
    json_t *paths = json_object_get(barrier, "paths"), *path;
    gint64 more = member(barrier, "more");
    GString *line = g_string_new(NULL);
    size_t i;

    g_string_printf(line, "   --  %s  changed from outside: ", time);
    json_array_foreach(paths, i, path)
    {
        g_autofree char *text = printable_path(path);

        if (i == BARRIER_PATHS) {
            more += (gint64)(json_array_size(paths) - i);
            break;
        }
        g_string_append_printf(line, "%s%s", i ? ", " : "", text);
    }
    if (json_array_size(paths) == 0)
        g_string_append(line, "unknown paths");
    if (more > 0)
        g_string_append_printf(line, " and %" G_GINT64_FORMAT " more", more);
    append_who(line, barrier);
    return g_string_free(line, FALSE);
}

static void append_change(GString *text, json_t *change)
{
    g_autofree char *path = json_bytes_get(change, "path", NULL);
    g_autofree char *from = json_bytes_get(change, "from", NULL);
    g_autofree char *shown = g_strescape(path ? path : "?", NULL);
    g_autofree char *shown_from = from ? g_strescape(from, NULL) : NULL;

    g_string_append_printf(text, "    %-8s %s%s%s\n",
                           json_string_value(json_object_get(change, "change")),
                           shown, from ? ", from " : "",
                           from ? shown_from : "");
}

char *cli_summary_changes(json_t *report)
{
    GString *text = g_string_new(NULL);
    json_t *change;
    gint64 more;
    size_t i = 0;

    json_array_foreach(json_object_get(report, "changes"), i, change)
        append_change(text, change);
    if (!json_is_true(json_object_get(report, "truncated")))
        return g_string_free(text, FALSE);
    more = member(report, "affected") - (gint64)i;
    if (more > 0)
        g_string_append_printf(text, "    and %" G_GINT64_FORMAT " more\n",
                               more);
    else
        g_string_append(text, "    and more\n");
    return g_string_free(text, FALSE);
}
