/* SPDX-License-Identifier: Apache-2.0
 *
 * patch - see patch.h.
 *
 * The format is that of "git diff", described in git-diff(1) under "Generating
 * patch text with -p". git apply refuses a whole patch if it cannot read one
 * part or if one part changes nothing. Changes that the format cannot express
 * therefore become plain text lines between the parts. git apply skips a line
 * that starts like none of its headers.
 */
#include "agent/client/patch.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/base/text_diff.h"
#include "common/json_bytes.h"

/* One side of a change. */
struct side {
    mode_t mode; /* 0: the file did not exist */
    char *data;
    gsize len;
    bool left_out;
};

struct change {
    char *path, *from; /* from: NULL unless renamed */
    struct side before, after;
};

static void side_init(struct side *side, json_t *version)
{
    json_t *mode = json_object_get(version, "mode");

    side->mode = (mode_t)json_integer_value(mode);
    side->data = json_bytes_get(version, "content", &side->len);
    side->left_out = json_is_true(json_object_get(version, "left_out"));
    if (!side->data)
        side->len = 0;
}

static void change_clear(struct change *change)
{
    g_free(change->path);
    g_free(change->from);
    g_free(change->before.data);
    g_free(change->after.data);
}

/* ---- names --------------------------------------------------------------- */

/* Quote a path like git: only if it has special characters. */
static char *quote(const char *prefix, const char *path)
{
    g_autofree char *escaped = g_strescape(path, NULL);

    return strcmp(escaped, path) == 0
               ? g_strconcat(prefix, path, NULL)
               : g_strconcat("\"", prefix, escaped, "\"", NULL);
}

/* For "---" and "+++" lines, where a name that contains a space must end with a
 * tab. */
static char *label(const char *prefix, const char *path)
{
    g_autofree char *quoted = quote(prefix, path);

    return g_strconcat(quoted, strchr(quoted, ' ') ? "\t" : "", NULL);
}

/* git knows only two file modes, executable or not, and no mode for
 * symlinks. */
static mode_t git_mode(mode_t mode)
{
    if (S_ISLNK(mode))
        return S_IFLNK;
    return S_IFREG | (mode & S_IXUSR ? 0755 : 0644);
}

/* git apply refuses paths with a ".git" component in any letter case and in the
 * spellings that Windows maps to it. A backslash counts as a slash. */
static bool is_git_folder(const char *name)
{
    static const char *const own[] = { ".git", "git~1" };

    for (size_t i = 0; i < G_N_ELEMENTS(own); i++) {
        size_t len = strlen(own[i]);

        if (g_ascii_strncasecmp(name, own[i], len) == 0 &&
            strchr(":", name[len + strspn(name + len, " .")]))
            return true;
    }
    return false;
}

static const char *old_name(const struct change *change)
{
    return change->from ? change->from : change->path;
}

/* ---- content ------------------------------------------------------------- */

static bool is_shown(const struct side *side)
{
    return side->mode == 0 || S_ISREG(side->mode) || S_ISLNK(side->mode);
}

static bool is_same(const struct side *a, const struct side *b)
{
    return a->len == b->len &&
           (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static gboolean append_content(GString *text, const struct change *change,
                               GError **error)
{
    const struct side *before = &change->before, *after = &change->after;
    g_autofree char *old = before->mode ? label("a/", old_name(change))
                                        : g_strdup("/dev/null");
    g_autofree char *new = after->mode ? label("b/", change->path)
                                       : g_strdup("/dev/null");
    const struct text_side sides[] = { { old, before->data, before->len },
                                       { new, after->data, after->len } };
    g_autofree char *body = NULL;
    gsize len;

    if (is_same(before, after))
        return TRUE;
    body = text_diff(&sides[0], &sides[1], &len, error);
    if (body)
        g_string_append_len(text, body, (gssize)len);
    return body != NULL;
}

/* ---- headers ------------------------------------------------------------- */

static void append_modes(GString *text, const struct change *change)
{
    mode_t before = change->before.mode, after = change->after.mode;

    if (!before)
        g_string_append_printf(text, "new file mode %06o\n", git_mode(after));
    else if (!after)
        g_string_append_printf(text, "deleted file mode %06o\n",
                               git_mode(before));
    else if (git_mode(before) != git_mode(after))
        g_string_append_printf(text, "old mode %06o\nnew mode %06o\n",
                               git_mode(before), git_mode(after));
}

static void append_header(GString *text, const struct change *change)
{
    g_autofree char *old = quote("a/", old_name(change));
    g_autofree char *new = quote("b/", change->path);
    g_autofree char *from = change->from ? quote("", change->from) : NULL;
    g_autofree char *to = quote("", change->path);

    g_string_append_printf(text, "diff --git %s %s\n", old, new);
    append_modes(text, change);
    if (from)
        g_string_append_printf(text, "rename from %s\nrename to %s\n", from,
                               to);
}

/* ---- changes that the format cannot express ------------------------------ */

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)   ? "Folder"
           : S_ISREG(mode) ? "File"
           : S_ISLNK(mode) ? "Link"
                           : "Special file";
}

static mode_t shown_mode(mode_t mode)
{
    return S_ISLNK(mode) ? git_mode(mode) : mode;
}

static void append_new_mode(GString *text, const struct change *change)
{
    mode_t before = change->before.mode, after = change->after.mode;

    if (before && after && before != after)
        g_string_append_printf(text, " (mode %06o, was %06o)",
                               shown_mode(after), shown_mode(before));
    g_string_append_c(text, '\n');
}

static void append_words(GString *text, const struct change *change,
                         const char *done, const char *why)
{
    mode_t mode = change->before.mode ? change->before.mode
                                      : change->after.mode;
    g_autofree char *path = quote("", change->path);
    g_autofree char *from = change->from ? quote("", change->from) : NULL;

    g_string_append_printf(text, "%s %s: %s%s%s%s", kind_of(mode), done,
                           from ? from : path, from ? " to " : "",
                           from ? path : "", why);
    append_new_mode(text, change);
}

static bool is_left_out(const struct change *change)
{
    const struct side *before = &change->before, *after = &change->after;

    return before->left_out || after->left_out ||
           (!is_same(before, after) &&
            (!text_diff_is_text(before->data, before->len) ||
             !text_diff_is_text(after->data, after->len)));
}

static char *side_name(const struct side *side, const char *prefix,
                       const char *path)
{
    return side->mode || side->left_out ? quote(prefix, path)
                                        : g_strdup("/dev/null");
}

static void append_left_out(GString *text, const struct change *change,
                            const char *why)
{
    g_autofree char *old = side_name(&change->before, "a/", old_name(change));
    g_autofree char *new = side_name(&change->after, "b/", change->path);

    g_string_append(text, "Not in this patch: ");
    if (why)
        g_string_append_printf(text, "Files %s and %s %s", old, new, why);
    else if (change->before.left_out || change->after.left_out)
        g_string_append_printf(text,
                               "Files %s and %s are too long to compare, or "
                               "cannot be found or read",
                               old, new);
    else
        g_string_append_printf(text, "Binary files %s and %s differ", old, new);
    append_new_mode(text, change);
}

/* Report mode bits that git does not record, if they changed. */
static void append_mode_note(GString *text, const struct change *change)
{
    mode_t before = shown_mode(change->before.mode);
    mode_t after = shown_mode(change->after.mode);
    g_autofree char *path = quote("", after ? change->path : old_name(change));

    if (before == after || ((!before || before == git_mode(before)) &&
                            (!after || after == git_mode(after))))
        return;
    g_string_append_printf(text, "Not in this patch: the mode of %s", path);
    if (after)
        g_string_append_printf(text, " is %06o", after);
    if (before)
        g_string_append_printf(text, "%s was %06o", after ? "," : "", before);
    g_string_append_c(text, '\n');
}

/* ---- changes ------------------------------------------------------------- */

/* Return whether git sees a change. */
static bool is_change(const struct change *change)
{
    mode_t before = change->before.mode, after = change->after.mode;

    return change->from || !before || !after ||
           git_mode(before) != git_mode(after) ||
           !is_same(&change->before, &change->after);
}

static gboolean append_change(GString *text, const struct change *change,
                              const char *done, GError **error)
{
    bool metadata = strcmp(done, "metadata") == 0;

    if (!is_shown(&change->before) || !is_shown(&change->after)) {
        append_words(text, change, metadata ? "attributes changed" : done,
                     change->after.left_out ? " (too many files in it: they "
                                              "are not in this patch)"
                                            : "");
    } else if (is_left_out(change)) {
        append_left_out(text, change, NULL);
    } else if (!is_change(change)) {
        append_words(text, change,
                     metadata ? "attributes changed"
                              : "written with the same content",
                     "");
    } else {
        append_mode_note(text, change);
        append_header(text, change);
        return append_content(text, change, error);
    }
    return TRUE;
}

/* Append a removal and a creation. */
static gboolean append_both(GString *text, const struct change *change,
                            GError **error)
{
    const struct change gone = {
        (char *)old_name(change), NULL, change->before, { 0 }
    };
    const struct change made = { change->path, NULL, { 0 }, change->after };

    if (!is_shown(&change->before) || !is_shown(&change->after)) {
        /* Only both parts together apply: a single one would conflict. */
        append_left_out(text, change, "are of different kinds");
        return TRUE;
    }
    if (is_left_out(change)) {
        append_left_out(text, change, NULL);
        return TRUE;
    }
    return append_change(text, &gone, "deleted", error) &&
           append_change(text, &made, "created", error);
}

/* Return whether the change must be split into a removal and a creation: the
 * file type differs, or a symlink was renamed. git apply checks paths beneath a
 * renamed symlink before it moves the symlink out of the way. */
static bool is_split(const struct change *change)
{
    mode_t before = change->before.mode, after = change->after.mode;

    return before && after &&
           ((before & S_IFMT) != (after & S_IFMT) ||
            (change->from && S_ISLNK(after)));
}

/* Return whether git apply refuses this path. */
static bool is_refused(const char *path, bool symlink)
{
    g_auto(GStrv) names = g_strsplit_set(path, "/\\", -1);
    bool refused = false;

    for (size_t i = 0; names[i] && !refused; i++)
        refused = is_git_folder(names[i]) ||
                  (symlink && g_ascii_strcasecmp(names[i], ".gitmodules") == 0);
    return refused;
}

static bool is_change_refused(const struct change *change)
{
    const struct side *before = &change->before, *after = &change->after;

    return is_shown(before) && is_shown(after) &&
           (is_refused(change->path, S_ISLNK(after->mode)) ||
            is_refused(old_name(change), S_ISLNK(before->mode)));
}

static gboolean append_refused(GString *text, const struct change *change,
                               const char *done)
{
    append_words(text, change,
                 strcmp(done, "metadata") == 0 ? "attributes changed" : done,
                 " (git's own: not in this patch)");
    return TRUE;
}

gboolean patch_append(GString *text, json_t *file, GError **error)
{
    const char *done = json_string_value(json_object_get(file, "change"));
    struct change change = { 0 };
    gboolean ok;

    change.path = json_bytes_get(file, "path", NULL);
    change.from = json_bytes_get(file, "from", NULL);
    side_init(&change.before, json_object_get(file, "before"));
    side_init(&change.after, json_object_get(file, "after"));
    if (!change.path || !done)
        ok = TRUE;
    else if (is_change_refused(&change))
        ok = append_refused(text, &change, done);
    else if (is_split(&change))
        ok = append_both(text, &change, error);
    else
        ok = append_change(text, &change, done, error);
    change_clear(&change);
    return ok;
}

/* ---- parts and notes ----------------------------------------------------- */

/* Return whether path equals wanted or lies below it. */
static bool is_below(const char *path, const char *wanted)
{
    size_t len;

    while (wanted[0] == '.' && wanted[1] == '/')
        wanted += 2 + strspn(wanted + 2, "/");
    len = strcmp(wanted, ".") == 0 ? 0 : strlen(wanted);
    while (len > 0 && wanted[len - 1] == '/')
        len--;
    return len == 0 || (strncmp(path, wanted, len) == 0 &&
                        (path[len] == '\0' || path[len] == '/'));
}

bool patch_is_wanted(json_t *file, char *const *paths)
{
    g_autofree char *path = json_bytes_get(file, "path", NULL);
    g_autofree char *from = json_bytes_get(file, "from", NULL);
    bool wanted = !paths || !paths[0];

    for (size_t i = 0; paths && path && paths[i]; i++)
        wanted |= is_below(path, paths[i]) ||
                  (from && is_below(from, paths[i]));
    return wanted;
}

char *patch_note_cut(gint64 step, gint64 cut)
{
    return g_strdup_printf("step %" G_GINT64_FORMAT " has %" G_GINT64_FORMAT
                           " more changes, which are not in this patch",
                           step, cut);
}

char *patch_note_partial(gint64 step)
{
    return g_strdup_printf(
        "step %" G_GINT64_FORMAT
        " exceeded its limit and cannot be undone: this patch has only the "
        "files of which the undo log kept all old content before that",
        step);
}
