/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_step_text - see guest_step_text.h.
 */
#include "agent/session/guest_step_text.h"

#include <string.h>

#include "shim/wire.h"

enum { COMMAND_CHARS = 200, MORE_BYTES = 100 };

/* Make bytes printable, for a line of a terminal. */
static char *printable(const char *bytes, glong max_chars)
{
    g_autofree char *valid = g_utf8_make_valid(bytes ? bytes : "", -1);
    GString *text = g_string_new(NULL);
    glong count = 0;

    for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);

        if (count++ == max_chars) {
            g_string_append(text, "...");
            break;
        }
        g_string_append_unichar(text, c == '\n'              ? 0x21b5
                                      : g_unichar_isprint(c) ? c
                                                             : 0xfffd);
    }
    return g_string_free(text, FALSE);
}

static char *count_text(gint64 count)
{
    return g_strdup_printf("%" G_GINT64_FORMAT " path%s", count,
                           count == 1 ? "" : "s");
}

/* Append a line unless the answer is full. */
static void add_line(GString *text, const char *line)
{
    static const char more[] = "(more is left out)\n";

    if (text->len + strlen(line) + MORE_BYTES < WIRE_STEP_TEXT)
        g_string_append_printf(text, "%s\n", line);
    else if (!g_str_has_suffix(text->str, more))
        g_string_append(text, more);
}

void guest_step_text_add(GString *text, const struct step_report *report)
{
    g_autofree char *command = printable(report->command, COMMAND_CHARS);
    g_autofree char *paths = count_text(report->affected);
    g_autofree char *line = g_strdup_printf("%6" G_GINT64_FORMAT "  %-10s  %s",
                                            report->step_id, paths, command);

    add_line(text, line);
}

void guest_step_text_add_undone(GString *text, const struct step_report *report)
{
    g_autofree char *command = printable(report->command, COMMAND_CHARS);
    g_autofree char *paths = count_text(report->affected);
    g_autofree char *line = g_strdup_printf("undid step %" G_GINT64_FORMAT
                                            ": %s (%s)",
                                            report->step_id, command, paths);

    add_line(text, line);
}

static char *size_text(const struct step_change *change)
{
    if (change->size_before >= 0 && change->size_after >= 0)
        return g_strdup_printf(" (%" G_GINT64_FORMAT " -> %" G_GINT64_FORMAT
                               " bytes)",
                               change->size_before, change->size_after);
    if (change->size_after >= 0)
        return g_strdup_printf(" (%" G_GINT64_FORMAT " bytes)",
                               change->size_after);
    return g_strdup("");
}

static void add_change(GString *text, const struct step_change *change)
{
    static const char *const names[IC_CHANGE_TYPES] = {
        [IC_CREATED] = "created",   [IC_MODIFIED] = "modified",
        [IC_DELETED] = "deleted",   [IC_RENAMED] = "renamed",
        [IC_METADATA] = "metadata",
    };
    g_autofree char *path = printable(change->path, G_MAXLONG);
    g_autofree char *from = printable(change->from, G_MAXLONG);
    g_autofree char *sizes = size_text(change);
    g_autofree char *line = g_strdup_printf(
        "%-8s  %s%s%s%s", names[change->type], from, change->from ? " -> " : "",
        path, sizes);

    add_line(text, line);
}

void guest_step_text_add_changes(GString *text,
                                 const struct step_report *report)
{
    for (guint i = 0; report->changes && i < report->changes->len; i++)
        add_change(text, g_ptr_array_index(report->changes, i));
    if (report->truncated)
        add_line(text, "(the step has more changes)");
}
