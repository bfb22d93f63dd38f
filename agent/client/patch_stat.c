/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_stat - see patch_stat.h.
 */
#include "agent/client/patch_stat.h"

#include <string.h>
#include <sys/stat.h>

#include "agent/client/patch.h"
#include "agent/base/text_diff.h"
#include "common/json_bytes.h"

void patch_stat_clear(struct patch_stat *stat)
{
    g_free(stat->path);
    g_free(stat->from);
    g_free(stat->note);
}

/* ---- changes of text ----------------------------------------------------- */

/* Headers stand before the first hunk of a file, and would look like lines of
 * it. */
static void count_lines(const char *text, gsize len, struct patch_stat *stat)
{
    const char *end = text + len, *next;
    bool hunk = false;

    for (; text < end; text = next) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));

        next = newline ? newline + 1 : end;
        if (g_str_has_prefix(text, "@@"))
            hunk = true;
        else if (!strchr("+- \\", *text))
            hunk = false;
        stat->lines |= g_str_has_prefix(text, "diff --git ");
        stat->added += hunk && *text == '+';
        stat->removed += hunk && *text == '-';
    }
}

/* ---- others -------------------------------------------------------------- */

struct side {
    mode_t mode; /* 0: did not exist */
    bool left_out, binary;
    gsize size;
};

static struct side read_side(json_t *version)
{
    json_t *mode = json_object_get(version, "mode");
    gsize size = 0;
    g_autofree char *content = json_bytes_get(version, "content", &size);

    return (struct side){
        .mode = (mode_t)json_integer_value(mode),
        .left_out = json_is_true(json_object_get(version, "left_out")),
        .binary = !text_diff_is_text(content, size),
        .size = content ? size : 0,
    };
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)   ? "folder"
           : S_ISREG(mode) ? "file"
           : S_ISLNK(mode) ? "link"
                           : "special file";
}

/* Return what stands in place of a count of lines: a new string. */
static char *describe(json_t *file)
{
    struct side before = read_side(json_object_get(file, "before"));
    struct side after = read_side(json_object_get(file, "after"));
    const char *done = json_string_value(json_object_get(file, "change"));
    bool left_out = before.left_out || after.left_out;
    mode_t mode = after.mode ? after.mode : before.mode;

    if (!left_out && (before.binary || after.binary))
        return g_strdup_printf("Bin %zu -> %zu bytes", before.size, after.size);
    if (strcmp(done, "metadata") == 0)
        done = "attributes changed";
    return g_strdup_printf("%s %s%s", kind_of(mode), done,
                           left_out && !S_ISDIR(mode) ? ", not compared" : "");
}

gboolean patch_stat_file(json_t *file, struct patch_stat *ret_stat,
                         GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    struct patch_stat stat = { 0 };

    if (!patch_append(text, file, error))
        return FALSE;
    count_lines(text->str, text->len, &stat);
    if (!stat.lines && json_object_get(file, "change"))
        stat.note = describe(file);
    stat.path = json_bytes_get(file, "path", NULL);
    stat.from = json_bytes_get(file, "from", NULL);
    *ret_stat = stat;
    return TRUE;
}
