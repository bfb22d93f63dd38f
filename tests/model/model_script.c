/* SPDX-License-Identifier: Apache-2.0
 *
 * model_script - see model_script.h.
 */
#include "tests/model/model_script.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    guint names, numbers;
} kinds[MODEL_KINDS] = {
    [MODEL_STEP] = { "step", 0, 0 },
    [MODEL_CLOSE] = { "close", 0, 0 },
    [MODEL_ABORT] = { "abort", 0, 0 },
    [MODEL_CRASH] = { "crash", 0, 0 },
    [MODEL_RESTART] = { "restart", 0, 0 },
    [MODEL_UNDO] = { "undo", 0, 2 },
    [MODEL_REDO] = { "redo", 0, 1 },
    [MODEL_LIMITS] = { "limits", 0, 3 },
    [MODEL_DISCARD] = { "discard", 0, 0 },
    [MODEL_WRITE_FILE] = { "write-file", 1, 3 },
    [MODEL_EDIT_NEW] = { "edit-new", 1, 2 },
    [MODEL_EDIT_STEP] = { "edit-step", 0, 3 },
    [MODEL_EDIT_ANY] = { "edit-any", 2, 2 },
    [MODEL_PUT] = { "put", 1, 4 },
    [MODEL_PUT_USER] = { "put-user", 1, 2 },
    [MODEL_MKDIR] = { "mkdir", 1, 1 },
    [MODEL_DEEP] = { "deep", 1, 1 },
    [MODEL_MKNOD] = { "mknod", 1, 2 },
    [MODEL_SYMLINK] = { "symlink", 2, 0 },
    [MODEL_LINK] = { "link", 2, 0 },
    [MODEL_REMOVE] = { "remove", 1, 0 },
    [MODEL_RMTREE] = { "rmtree", 1, 0 },
    [MODEL_RENAME] = { "rename", 2, 1 },
    [MODEL_CHMOD] = { "chmod", 1, 1 },
    [MODEL_CHOWN] = { "chown", 1, 2 },
    [MODEL_UTIMES] = { "utimes", 1, 2 },
    [MODEL_TRUNCATE] = { "truncate", 1, 1 },
    [MODEL_SETXATTR] = { "setxattr", 2, 2 },
    [MODEL_ACL] = { "acl", 2, 1 },
    [MODEL_RMXATTR] = { "rmxattr", 2, 0 },
    [MODEL_ALLOCATE] = { "allocate", 1, 3 },
    [MODEL_COPY] = { "copy", 2, 3 },
    [MODEL_OPEN] = { "open", 1, 2 },
    [MODEL_TMPFILE] = { "tmpfile", 1, 1 },
    [MODEL_HWRITE] = { "hwrite", 0, 4 },
    [MODEL_HTRUNC] = { "htrunc", 0, 2 },
    [MODEL_HLINK] = { "hlink", 1, 1 },
    [MODEL_HCLOSE] = { "hclose", 0, 1 },
};

void model_op_free(gpointer data)
{
    struct model_op *op = data;

    for (guint i = 0; i < MODEL_NAMES; i++)
        g_free(op->names[i]);
    g_free(op);
}

gboolean model_op_is_frame(const struct model_op *op)
{
    return op->kind < MODEL_PUT;
}

char *model_op_to_text(const struct model_op *op)
{
    GString *line = g_string_new(kinds[op->kind].word);

    for (guint i = 0; i < kinds[op->kind].names; i++) {
        g_autofree char *shown = g_strescape(op->names[i], NULL);

        g_string_append_printf(line, " \"%s\"", shown);
    }
    for (guint i = 0; i < kinds[op->kind].numbers; i++)
        g_string_append_printf(line, " %" G_GINT64_FORMAT, op->numbers[i]);
    return g_string_free(line, FALSE);
}

/* Parse a quoted name at *at and move past it; NULL if there is none. */
static char *parse_name(const char **at)
{
    g_autofree char *quoted = NULL;
    const char *end;

    *at += strspn(*at, " ");
    if (**at != '"')
        return NULL;
    for (end = ++*at; *end && *end != '"'; end++) {
        if (*end == '\\' && end[1])
            end++;
    }
    if (*end != '"')
        return NULL;
    quoted = g_strndup(*at, (gsize)(end - *at));
    *at = end + 1;
    return g_strcompress(quoted);
}

static gboolean parse_rest(struct model_op *op, const char *at)
{
    for (guint i = 0; i < kinds[op->kind].names; i++) {
        op->names[i] = parse_name(&at);
        if (!op->names[i])
            return FALSE;
    }
    for (guint i = 0; i < kinds[op->kind].numbers; i++) {
        char *end;

        op->numbers[i] = g_ascii_strtoll(at, &end, 10);
        if (end == at)
            return FALSE;
        at = end;
    }
    return TRUE;
}

static struct model_op *parse_line(const char *line)
{
    gsize len = strcspn(line, " ");

    for (guint i = 0; i < MODEL_KINDS; i++) {
        struct model_op *op;

        if (strlen(kinds[i].word) != len ||
            strncmp(kinds[i].word, line, len) != 0)
            continue;
        op = g_new0(struct model_op, 1);
        op->kind = (enum model_kind)i;
        if (parse_rest(op, line + len))
            return op;
        model_op_free(op);
    }
    return NULL;
}

GPtrArray *model_script_parse(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    GPtrArray *ops = g_ptr_array_new_with_free_func(model_op_free);

    for (char **line = lines; *line; line++) {
        struct model_op *op = parse_line(*line);

        if (op)
            g_ptr_array_add(ops, op);
    }
    return ops;
}

char *model_script_to_text(GPtrArray *ops)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < ops->len; i++) {
        g_autofree char *line = model_op_to_text(g_ptr_array_index(ops, i));

        g_string_append(text, line);
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}
