/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_approvals - see exec_approvals.h.
 */
#include "agent/cli/exec_approvals.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_approval.h"
#include "agent/cli/exec_question.h"
#include "agent/cli/term_guard.h"
#include "common/fd.h"

enum {
    ANSWER_MAX = 16,
    ROWS = 24, /* of a terminal without a size */
    COLUMNS = 80,
    TERMINAL_MS = 1000, /* for a terminal that takes nothing */
    WAITING_MAX = 32,   /* the supervisor has eight, and a few safeguards */
    INTERRUPT = 'C' - '@',
    CLEAR = 'U' - '@',
    BACKSPACE = 'H' - '@',
    DELETE = 0x7f,
};

struct item {
    char *id, *text;
};

struct exec_approvals {
    char *sandbox;
    int tty; /* -1: no questions */
    const struct exec_approvals_callbacks *callbacks;
    void *opaque;
    GQueue waiting; /* of struct item; the first one is asked */
    bool asking;
    bool muted;      /* the user wants no questions */
    unsigned code;   /* to be typed behind "allow"; 0: nothing allows it */
    GString *answer; /* typed so far */
    bool spoiled;    /* by a byte that is no part of an answer */
};

static void item_free(gpointer data)
{
    struct item *item = data;

    g_free(item->id);
    g_free(item->text);
    g_free(item);
}

struct exec_approvals *
exec_approvals_new(const char *sandbox, bool terminal,
                   const struct exec_approvals_callbacks *callbacks,
                   void *opaque)
{
    struct exec_approvals *approvals = g_new0(struct exec_approvals, 1);
    const char *name = terminal ? ttyname(STDIN_FILENO) : NULL;

    approvals->sandbox = g_strdup(sandbox);
    /* Opened anew: other processes share the flags of stdin. */
    approvals->tty = name ? open(name,
                                 O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
                          : -1;
    approvals->callbacks = callbacks;
    approvals->opaque = opaque;
    g_queue_init(&approvals->waiting);
    approvals->answer = g_string_new(NULL);
    return approvals;
}

/* ---- the terminal -------------------------------------------------------- */

/* A terminal that takes nothing must not stop this process: give up. */
static void print(const struct exec_approvals *approvals, const char *text)
{
    struct pollfd fd = { .fd = approvals->tty, .events = POLLOUT };
    size_t len = strlen(text);

    while (len > 0 && poll(&fd, 1, TERMINAL_MS) > 0) {
        ssize_t n = write(approvals->tty, text, len);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return;
        text += MAX(n, 0);
        len -= (size_t)MAX(n, 0);
    }
}

static void clear_answer(struct exec_approvals *approvals)
{
    g_string_truncate(approvals->answer, 0);
    approvals->spoiled = false;
}

/* Return what asks a question, and set the code that allows it. A question that
 * the user could not see whole cannot be allowed. */
static char *question(struct exec_approvals *approvals, const struct item *item,
                      bool again)
{
    unsigned rows = ROWS, columns = COLUMNS;
    g_autofree char *begin = NULL, *text = NULL;

    term_guard_size(approvals->tty, &rows, &columns);
    begin = exec_question_begin(again ? 0 : rows);
    text = exec_question_rows(item->text, rows, columns);
    approvals->code = text ? (unsigned)g_random_int_range(100, 1000) : 0;
    return text
               ? g_strdup_printf("%s%sType \"allow %u\" to allow it, \"no\" or "
                                 "\"later\", and Enter: ",
                                 begin, text, approvals->code)
               : g_strdup_printf(
                     "%s" CLI_PROGRAM
                     ": %s is too long for this window; " CLI_PROGRAM
                     " approve %s shows it.\r\n"
                     "Enlarge the window, or type \"no\" or \"later\", "
                     "and Enter: ",
                     begin, item->id, approvals->sandbox);
}

/* Ask the first question that waits, or let the program go on. */
static void ask(struct exec_approvals *approvals)
{
    const struct item *item = g_queue_peek_head(&approvals->waiting);
    bool again = approvals->asking;
    g_autofree char *text = NULL;

    clear_answer(approvals);
    if (!item) {
        if (approvals->asking)
            approvals->callbacks->pause(false, approvals->opaque);
        approvals->asking = false;
        return;
    }
    if (!approvals->asking)
        approvals->callbacks->pause(true, approvals->opaque);
    approvals->asking = true;
    text = question(approvals, item, again);
    print(approvals, text);
}

static void end_question(struct exec_approvals *approvals)
{
    print(approvals, "\r\n");
    item_free(g_queue_pop_head(&approvals->waiting));
    ask(approvals);
}

void exec_approvals_free(struct exec_approvals *approvals)
{
    if (!approvals)
        return;
    if (approvals->asking)
        print(approvals, "\r\n");
    if (approvals->tty >= 0)
        fd_close(&approvals->tty);
    g_queue_clear_full(&approvals->waiting, item_free);
    g_string_free(approvals->answer, TRUE);
    g_free(approvals->sandbox);
    g_free(approvals);
}

void exec_approvals_mute(struct exec_approvals *approvals)
{
    g_autofree char *text = g_strdup_printf(
        "\r\n" CLI_PROGRAM ": not asked here any more; what waits is "
        "decided with: " CLI_PROGRAM " approve %s\r\n",
        approvals->sandbox);

    if (!approvals->asking)
        return;
    approvals->muted = true;
    print(approvals, text);
    g_queue_clear_full(&approvals->waiting, item_free);
    ask(approvals);
}

/* ---- requests ------------------------------------------------------------ */

static GList *find(struct exec_approvals *approvals, const char *id)
{
    for (GList *node = approvals->waiting.head; node; node = node->next) {
        if (strcmp(((struct item *)node->data)->id, id) == 0)
            return node;
    }
    return NULL;
}

/* Without a terminal on stdin, stderr may be one. */
static void print_line(const struct exec_approvals *approvals, json_t *payload,
                       const char *id, bool safeguard)
{
    g_autofree char *line = exec_question_line(payload, id, safeguard);
    g_autofree char *begin = isatty(STDERR_FILENO) ? exec_question_begin(0)
                                                   : g_strdup("");

    fprintf(stderr,
            "%s" CLI_PROGRAM ": %s; decide it with: " CLI_PROGRAM
            " approve %s %s\n",
            begin, line, approvals->sandbox, id);
}

static void add(struct exec_approvals *approvals, json_t *payload,
                const char *id, bool safeguard)
{
    struct item *item;

    if (approvals->tty < 0) {
        print_line(approvals, payload, id, safeguard);
        return;
    }
    if (approvals->muted || find(approvals, id) ||
        approvals->waiting.length == WAITING_MAX)
        return;
    item = g_new(struct item, 1);
    *item = (struct item){ g_strdup(id),
                           exec_question_text(payload, id, safeguard) };
    g_queue_push_tail(&approvals->waiting, item);
    if (!approvals->asking)
        ask(approvals);
}

static void drop(struct exec_approvals *approvals, const char *id)
{
    GList *node = find(approvals, id);

    if (node && node == approvals->waiting.head && approvals->asking) {
        print(approvals, "\r\nIt was decided elsewhere, or too late.");
        end_question(approvals);
    } else if (node) {
        item_free(node->data);
        g_queue_delete_link(&approvals->waiting, node);
    }
}

bool exec_approvals_take(struct exec_approvals *approvals, const char *type,
                         json_t *payload)
{
    bool safeguard = g_str_has_prefix(type, "event.safeguard_");
    const char *id = json_string_value(
        json_object_get(payload, safeguard ? "safeguard_id" : "id"));

    if (!safeguard && !g_str_has_prefix(type, "event.approval_"))
        return false;
    if (id && (g_str_has_suffix(type, "_requested") ||
               g_str_has_suffix(type, "_triggered")))
        add(approvals, payload, id, safeguard);
    else if (id)
        drop(approvals, id);
    return true;
}

void exec_approvals_take_list(struct exec_approvals *approvals, json_t *payload)
{
    json_t *approval;
    size_t i;

    json_array_foreach(json_object_get(payload, "approvals"), i, approval)
    {
        const char *id = json_string_value(json_object_get(approval, "id"));

        if (id)
            add(approvals, approval, id,
                !cli_approval_is_grant(approval) &&
                    !cli_approval_is_network(approval));
    }
}

void exec_approvals_refused(struct exec_approvals *approvals,
                            const char *problem)
{
    g_autofree char *text = g_strdup_printf(
        "\r\n" CLI_PROGRAM ": approve: %s\r\n", problem);

    if (approvals->tty >= 0)
        print(approvals, text);
}

/* ---- answers ------------------------------------------------------------- */

static void decide(struct exec_approvals *approvals)
{
    const struct item *item = g_queue_peek_head(&approvals->waiting);
    /* No command: a late answer goes to the shell in the guest. */
    g_autofree char *word = g_strdup_printf("allow %u", approvals->code);
    const char *answer = approvals->spoiled ? "" : approvals->answer->str;
    bool allow = approvals->code && strcmp(answer, word) == 0;

    if (allow || strcmp(answer, "no") == 0)
        approvals->callbacks->decide(item->id, allow, approvals->opaque);
    else if (strcmp(answer, "later") != 0) {
        ask(approvals);
        return;
    }
    end_question(approvals);
}

static void type_key(struct exec_approvals *approvals, char key)
{
    GString *answer = approvals->answer;
    const char echo[] = { key, '\0' };

    if (key == CLEAR || ((key == BACKSPACE || key == DELETE) && answer->len)) {
        gsize left = key == CLEAR ? 0 : answer->len - 1;

        for (gsize i = answer->len; i > left; i--)
            print(approvals, "\b \b");
        g_string_truncate(answer, left);
        approvals->spoiled = approvals->spoiled && key != CLEAR;
    } else if ((g_ascii_isalnum(key) || key == ' ') &&
               answer->len < ANSWER_MAX) {
        g_string_append_c(answer, key);
        print(approvals, echo);
    } else {
        approvals->spoiled = true;
    }
}

size_t exec_approvals_type(struct exec_approvals *approvals, const char *data,
                           size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!approvals->asking)
            return i;
        if (data[i] == INTERRUPT) {
            exec_approvals_mute(approvals);
            return i;
        }
        if (data[i] == '\r' || data[i] == '\n') {
            /* The rest was typed before another question was shown. */
            decide(approvals);
            return len;
        }
        type_key(approvals, data[i]);
    }
    return len;
}
