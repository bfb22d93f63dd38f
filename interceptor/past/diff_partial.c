/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_partial - see diff_partial.h.
 */
#include "interceptor/past/diff_partial.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/fd.h"
#include "interceptor/log/pack.h"
#include "interceptor/log/spans.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/sys.h"

struct finder {
    struct step *step;
    int blobs;
    GHashTable *spans; /* data number -> owned GArray (spans.h) */
    GPtrArray *kept;
};

static void kept_free(gpointer data)
{
    struct diff_kept *kept = data;

    past_node_clear(&kept->node);
    g_free(kept->path);
    g_free(kept);
}

static int note_entry(const struct pack_entry *entry, void *opaque)
{
    struct finder *f = opaque;
    GArray *spans = g_hash_table_lookup(f->spans, &entry->number);
    bool is_new = !spans;

    spans_add(&spans, entry->offset, entry->length);
    if (is_new)
        g_hash_table_insert(
            f->spans, g_memdup2(&entry->number, sizeof(entry->number)), spans);
    return 0;
}

static bool has_whole(const struct finder *f, const struct step_inode *inode)
{
    return inode->flags & STEP_DATA && inode->flags & STEP_META &&
           S_ISREG(inode->meta->mode) &&
           (inode->flags & STEP_CLONE ||
            spans_cover(g_hash_table_lookup(f->spans, &inode->data_number),
                        inode->data_size));
}

/* Open the removed file in the log if no other name leads to it and it has not
 * changed since the step stopped capturing. An fd; or -1. */
static int open_untouched(const struct finder *f,
                          const struct step_inode *inode)
{
    fd_auto int fd = -1;
    struct stat st;

    if (inode->flags & (STEP_DATA | STEP_RETIRED))
        return -1;
    fd = sys_openat(f->blobs, step_inode_blob(inode->ino).text,
                    O_PATH | O_NOFOLLOW, 0);
    if (fd < 0 || sys_stat_fd(fd, &st) < 0 || st.st_ino != inode->ino ||
        !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
        clock_ns(&st.st_ctim) >= f->step->unprotected_ns)
        return -1;
    return fd_steal(&fd);
}

/* Return one of the inode's paths. */
static char *find_path(const struct finder *f, const struct step_inode *inode)
{
    const struct step_binding *binding;

    if (inode->home || !inode->names || inode->names->len == 0)
        return step_path_before(f->step, inode, NULL);
    binding = g_ptr_array_index(inode->names, 0);
    return step_path_before(f->step, binding->dir, binding->name);
}

static void look_at(struct finder *f, const struct step_inode *inode)
{
    fd_auto int fd = -1;
    g_autofree char *path = NULL;
    struct diff_kept *kept;

    if (!has_whole(f, inode)) {
        fd = open_untouched(f, inode);
        if (fd < 0)
            return;
    }
    path = find_path(f, inode);
    if (!path)
        return;
    kept = g_new0(struct diff_kept, 1);
    kept->path = g_steal_pointer(&path);
    kept->node = (struct past_node){ inode->ino, fd_steal(&fd), inode, 0 };
    g_ptr_array_add(f->kept, kept);
}

static int compare_paths(gconstpointer a, gconstpointer b)
{
    const struct diff_kept *x = *(struct diff_kept *const *)a;
    const struct diff_kept *y = *(struct diff_kept *const *)b;

    return strcmp(x->path, y->path);
}

static void free_spans(gpointer spans)
{
    g_array_unref(spans);
}

static void look_at_all(struct finder *f)
{
    GHashTableIter iter;
    gpointer inode;

    g_hash_table_iter_init(&iter, f->step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &inode))
        look_at(f, inode);
    for (guint i = 0; i < f->step->retired->len; i++)
        look_at(f, g_ptr_array_index(f->step->retired, i));
    g_ptr_array_sort(f->kept, compare_paths);
}

int diff_partial_find(const struct past *past, GPtrArray **ret_kept)
{
    g_autoptr(GHashTable) spans = g_hash_table_new_full(
        g_int64_hash, g_int64_equal, g_free, free_spans);
    g_autoptr(GPtrArray) kept = g_ptr_array_new_with_free_func(kept_free);
    fd_auto int blobs = past_open_blobs(past, 0);
    struct finder f = { g_ptr_array_index(past->steps, 0), blobs, spans, kept };
    int rc = blobs < 0 ? blobs
                       : pack_read(blobs, f.step->end != NULL, note_entry, &f);

    if (blobs >= 0 && (rc == 0 || rc == -ENOENT))
        look_at_all(&f);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    *ret_kept = g_steal_pointer(&kept);
    return 0;
}
