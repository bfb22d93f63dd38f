/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_preimages - see restore_preimages.h.
 */
#include "interceptor/restore/restore_preimages.h"

#include <errno.h>
#include <fcntl.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/pack.h"
#include "interceptor/log/spans.h"
#include "interceptor/restore/restore_state.h"
#include "interceptor/sys/sys.h"

/* A file whose content was kept. */
struct preimage {
    struct step_inode *inode;
    GArray *spans; /* the ranges in the pack (spans.h); or NULL */
};

struct preimages {
    struct restore *r;
    GHashTable *files; /* &inode->data_number -> owned struct preimage */
};

static void preimage_free(gpointer data)
{
    struct preimage *file = data;

    g_clear_pointer(&file->spans, g_array_unref);
    g_free(file);
}

static void index_preimages(struct preimages *p)
{
    g_autoptr(GPtrArray) inodes = restore_sorted_inodes(p->r);

    p->files = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
                                     preimage_free);
    for (guint i = 0; i < inodes->len; i++) {
        struct step_inode *inode = g_ptr_array_index(inodes, i);
        struct preimage *file;

        if (!(inode->flags & STEP_DATA))
            continue;
        file = g_new0(struct preimage, 1);
        file->inode = inode;
        g_hash_table_insert(p->files, &inode->data_number, file);
    }
}

static int check_entry(const struct pack_entry *entry, void *opaque)
{
    struct preimages *p = opaque;
    struct preimage *file = g_hash_table_lookup(p->files, &entry->number);

    /* Neither the record nor the change followed: the content is unused. */
    if (!file)
        return 0;
    if (entry->offset + entry->length > file->inode->data_size)
        return -EBADMSG;
    spans_add(&file->spans, entry->offset, entry->length);
    return 0;
}

/* A file of which the log has all content can be made anew
 * (restore_can_find()). */
static void mark_whole(struct preimages *p)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, p->files);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct preimage *file = value;

        if (!(file->inode->flags & STEP_CLONE) &&
            spans_cover(file->spans, file->inode->data_size))
            file->inode->flags |= STEP_ALL;
    }
}

int restore_open_clone(const struct restore *r, const struct step_inode *inode)
{
    fd_auto int fd = sys_openat(r->blobs,
                                step_clone_blob(inode->data_number).text,
                                O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    struct stat st;
    int rc = fd < 0 ? fd : sys_stat_fd(fd, &st);

    if (rc < 0)
        return rc == -ELOOP ? -EBADMSG : rc;
    /* Longer is possible: appending needs no capture. */
    if (!S_ISREG(st.st_mode) || st.st_size < inode->data_size)
        return -EBADMSG;
    return fd_steal(&fd);
}

static int check_all(struct preimages *p)
{
    bool packed = false;
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, p->files);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct step_inode *inode = ((struct preimage *)value)->inode;
        fd_auto int clone = -1;

        if (!(inode->flags & STEP_CLONE)) {
            packed = true;
            continue;
        }
        clone = restore_open_clone(p->r, inode);
        if (clone < 0) {
            restore_note_trouble(p->r, inode);
            return clone;
        }
    }
    return packed
               ? pack_read(p->r->blobs, p->r->step->end != NULL, check_entry, p)
               : 0;
}

gboolean restore_check_preimages(struct restore *r, GError **error)
{
    struct preimages p = { .r = r };
    const char *what;
    int rc;

    index_preimages(&p);
    rc = check_all(&p);
    if (rc == 0)
        mark_whole(&p);
    g_hash_table_unref(p.files);
    if (rc == 0)
        return TRUE;
    what = r->trouble->len > 0 ? r->trouble->str
                               : "content kept in the undo log";
    if ((rc == -ENOENT || rc == -EBADMSG) && r->damaged_too) {
        log_warn(LOG_UNDO,
                 "step %" G_GINT64_FORMAT
                 ": %s: %s; not all content can be restored",
                 r->step->id, what, g_strerror(-rc));
        g_string_truncate(r->trouble, 0);
        return TRUE;
    }
    g_set_error(error, STEPBACK_ERROR,
                rc == -ENOENT    ? ERROR_PREIMAGE_MISSING
                : rc == -EBADMSG ? ERROR_PREIMAGE_CORRUPT
                                 : ERROR_IO_ERROR,
                "undo: %s: %s", what, g_strerror(-rc));
    return FALSE;
}
