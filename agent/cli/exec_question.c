/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_question - see exec_question.h.
 */
#include "agent/cli/exec_question.h"

#include <glib.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_approval.h"
#include "agent/cli/cli_fit.h"

enum {
    REASON_MAX = 100,    /* bytes */
    ANSWER_COLUMNS = 80, /* of the last line, with the answer */
    COLUMNS_MIN = 20,
    SCROLL_MAX = 1000, /* rows */
};

#define SUBJECT_INDENT "    "
#define CONTINUED      "  > "

/* ---- the terminal -------------------------------------------------------- */

/* In the order in which they work: end a sequence and a string (CAN, ST), leave
 * the modes of Tektronix and VT52, end output to a printer (MC), take the main
 * display (DECSASD) and show its page (DECPCCM), reset attributes (SGR), the
 * character set and colours (OSC 104, 110 and 111 of xterm), show the cursor,
 * end synchronized output; wrap lines (DECAWM), address the whole screen
 * (DECOM), replace (IRM), no margins (DECLRMM, DECSTBM).
 *
 * A soft reset (DECSTR) would end the program's modes of keys, too. */
static const char plain[] = "\030\033\\\033\003\033<\033[4i\033[0$}\033[?64h"
                            "\033[0m\033(B\017\033]104\007\033]110\007"
                            "\033]111\007\033[?25h\033[?2026l"
                            "\033[?7h\033[?6l\033[4l\033[?69l\033[r";

/* DECSTBM has moved the cursor; DECSC would overwrite what the program saved.
 * Rows that scroll in at the bottom have the usual size (DECDHL). Images can
 * lie over text: ED removes them from the empty screen. */
char *exec_question_begin(unsigned rows)
{
    g_autoptr(GString) begin = g_string_new(plain);

    g_string_append(begin, "\033[9999;1H\r\n");
    if (rows > 0) {
        for (unsigned i = 0; i < MIN(rows, SCROLL_MAX); i++)
            g_string_append_c(begin, '\n');
        g_string_append(begin, "\033[2J");
    }
    return g_string_free(g_steal_pointer(&begin), FALSE);
}

/* One column is left: a terminal that wraps late, or takes a character for a
 * wider one, does not wrap by itself. */
char *exec_question_rows(const char *text, unsigned rows, unsigned columns)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) all = g_string_new(NULL);
    unsigned taken;

    if (columns < COLUMNS_MIN)
        return NULL;
    taken = (ANSWER_COLUMNS + columns - 1) / columns;
    for (char **line = lines; *line && **line; line++) {
        g_autofree char *wrapped = cli_fit_wrap(*line, columns - 1, CONTINUED);
        g_auto(GStrv) parts = g_strsplit(wrapped, "\n", -1);

        taken += g_strv_length(parts);
        for (char **part = parts; *part; part++)
            g_string_append_printf(all, "%s\r\n", *part);
    }
    return taken > rows ? NULL : g_string_free(g_steal_pointer(&all), FALSE);
}

/* ---- the text ------------------------------------------------------------ */

static void append_quoted(GString *text, const char *reason)
{
    g_string_append_c(text, '"');
    for (const char *p = reason; *p; p++) {
        if (*p == '"' || *p == '\\')
            g_string_append_c(text, '\\');
        g_string_append_c(text, *p);
    }
    g_string_append_c(text, '"');
}

/* Return the asker's reason, short, in one line and quoted; or "". */
static char *quoted_reason(json_t *payload)
{
    g_autofree char *text = cli_approval_text(payload, "reason");
    g_auto(GStrv) words = g_strsplit_set(text, " \t", -1);
    g_autoptr(GString) reason = g_string_new(NULL);
    GString *quoted = g_string_new(NULL);

    for (char **word = words; *word; word++) {
        if (**word)
            g_string_append_printf(reason, "%s%s", reason->len ? " " : "",
                                   *word);
    }
    if (reason->len > REASON_MAX) {
        const char *end = g_utf8_find_prev_char(reason->str,
                                                reason->str + REASON_MAX);

        g_string_truncate(reason, end ? (gsize)(end - reason->str) : 0);
        g_string_append(reason, "...");
    }
    if (reason->len)
        append_quoted(quoted, reason->str);
    return g_string_free(quoted, FALSE);
}

static const char *access_of(json_t *payload)
{
    const char *access = cli_approval_word(payload, "access");

    return strcmp(access, "read_write") == 0 ? "read and change" : "read";
}

static char *message_of(json_t *payload)
{
    g_autofree char *message = cli_approval_text(payload, "message");

    return g_strdup(*message ? message
                             : "the command is about to destroy much");
}

static char *connection_text(json_t *payload, const char *id)
{
    g_autofree char *host = cli_approval_host(payload);
    g_autofree char *unicode = cli_approval_text(payload, "unicode");

    return g_strdup_printf(
        CLI_PROGRAM ": %s: %s asks to connect to:\n" SUBJECT_INDENT "%s\n"
                    "%s%s%s",
        id, cli_approval_word(payload, "origin"), host,
        *unicode ? "  In Unicode: " : "", unicode, *unicode ? "\n" : "");
}

static char *grant_text(json_t *payload, const char *id)
{
    g_autofree char *path = cli_approval_path(payload, "path");
    g_autofree char *problem = cli_approval_text(payload, "problem");
    g_autofree char *reason = quoted_reason(payload);

    return g_strdup_printf(
        CLI_PROGRAM ": %s: %s asks to %s the folder:\n" SUBJECT_INDENT "%s\n"
                    "%s%s%s%s%s%s",
        id, cli_approval_word(payload, "origin"), access_of(payload), path,
        *problem ? "  Problem: " : "", problem, *problem ? "\n" : "",
        *reason ? "  Reason given: " : "", reason, *reason ? "\n" : "");
}

char *exec_question_text(json_t *payload, const char *id, bool safeguard)
{
    g_autofree char *message = NULL;

    if (!safeguard)
        return cli_approval_is_network(payload) ? connection_text(payload, id)
                                                : grant_text(payload, id);
    message = message_of(payload);
    return g_strdup_printf(CLI_PROGRAM
                           ": %s: a safeguard asks:\n" SUBJECT_INDENT "%s\n",
                           id, message);
}

char *exec_question_line(json_t *payload, const char *id, bool safeguard)
{
    g_autofree char *subject = safeguard ? message_of(payload)
                                         : cli_approval_describe(payload);
    g_autofree char *reason = quoted_reason(payload);

    if (safeguard)
        return g_strdup_printf("%s: %s", id, subject);
    if (cli_approval_is_network(payload))
        return g_strdup_printf("%s: %s asks to connect to %s", id,
                               cli_approval_word(payload, "origin"), subject);
    return g_strdup_printf(
        "%s: %s asks to %s %s%s%s", id, cli_approval_word(payload, "origin"),
        access_of(payload), subject, *reason ? "; reason given: " : "", reason);
}
