/* SPDX-License-Identifier: Apache-2.0
 *
 * inverse_content - see inverse_parts.h.
 *
 * The source's pack is read once: each range that it has of a file is one that
 * the rollback will overwrite, so the present bytes of that range are kept, and
 * with them those beyond the size to which the file will be cut.
 */
#include <errno.h>

#include "common/fd.h"
#include "interceptor/restore/inverse_parts.h"
#include "interceptor/sys/sys.h"

/* A file whose content will change. */
struct kept {
    const struct step_inode *inode;   /* of the source */
    const struct survey_entry *entry; /* NULL: found by a link in the log */
    struct content *content;
};

struct keeper {
    struct inverter *v;
    GHashTable *files; /* &number in the source's pack -> owned kept */
    const struct kept *last;
    int last_fd; /* the number of the file in last */
};

static void kept_free(gpointer data)
{
    struct kept *kept = data;

    content_free(kept->content);
    g_free(kept);
}

static int need_pack(struct inverter *v)
{
    int64_t max = v->source->max_bytes;
    int rc = v->pack ? 0 : pack_create(v->store.blobs, &v->pack);

    if (rc < 0)
        return rc;
    v->store.pack = v->pack;
    v->store.room = max > 0 ? MAX(max - pack_size(v->pack), 0) : INT64_MAX;
    return 0;
}

/* ---- whole files --------------------------------------------------------- */

int inverse_keep_file(struct inverter *v, struct step_inode *inode, int fd,
                      const struct stat *st)
{
    struct content *content = content_new(v->last_content + 1, st);
    int rc = content ? need_pack(v) : -ENOMEM;

    if (rc == 0)
        rc = content_keep(content, &v->store, fd, 0, INT64_MAX);
    if (rc == 0) {
        v->last_content++;
        rc = step_record_data(v->step, inode, content->size, content->number,
                              content_is_cloned(content));
    }
    content_free(content);
    return rc;
}

/* ---- parts --------------------------------------------------------------- */

static int keep(struct keeper *k, const struct kept *kept, off_t offset,
                off_t length)
{
    struct inverter *v = k->v;
    int rc = need_pack(v);

    if (rc < 0)
        return rc;
    if (k->last != kept) {
        fd_close(&k->last_fd);
        k->last = NULL;
        k->last_fd = kept->entry ? inverse_open_entry(v, kept->entry)
                                 : inverse_open_linked(v, kept->inode->ino);
        if (k->last_fd < 0)
            return k->last_fd;
        k->last = kept;
    }
    return content_keep(kept->content, &v->store, k->last_fd, offset, length);
}

static int keep_entry(const struct pack_entry *entry, void *opaque)
{
    struct keeper *k = opaque;
    const struct kept *kept = g_hash_table_lookup(k->files, &entry->number);

    if (!kept || kept->inode->flags & STEP_CLONE)
        return 0;
    return keep(k, kept, entry->offset, entry->length);
}

/* Keep all of a file that the rollback restores from a clone, since that
 * replaces all of its content. */
static int keep_rest(struct keeper *k, const struct kept *kept)
{
    off_t from = kept->inode->flags & STEP_CLONE ? 0 : kept->inode->data_size;

    return keep(k, kept, from, INT64_MAX);
}

static int add_kept(struct keeper *k, const struct step_inode *inode)
{
    struct inverter *v = k->v;
    const struct survey_entry *entry = g_hash_table_lookup(
        v->source->survey->inodes, inode);
    struct kept *kept;
    struct stat st;

    if (!(inode->flags & STEP_DATA))
        return 0;
    if (entry)
        st = entry->st;
    else if (sys_stat_name(v->store.blobs, step_inode_blob(inode->ino).text,
                           &st) < 0)
        return 0; /* not in the tree */
    if (!S_ISREG(st.st_mode))
        return 0;
    kept = g_new0(struct kept, 1);
    kept->inode = inode;
    kept->entry = entry;
    kept->content = content_new(++v->last_content, &st);
    g_hash_table_insert(k->files, (gpointer)&inode->data_number, kept);
    return kept->content ? 0 : -ENOMEM;
}

static int record_kept(struct inverter *v, const struct kept *kept)
{
    struct step_inode *inode = step_get_inode(v->step, kept->inode->ino);
    int rc = kept->entry ? inverse_add_homes(v, kept->entry, &inode) : 0;

    return rc < 0 ? rc
                  : step_record_data(v->step, inode, kept->content->size,
                                     kept->content->number,
                                     content_is_cloned(kept->content));
}

static int keep_all(struct keeper *k)
{
    GHashTableIter iter;
    gpointer value;
    int rc = pack_read(k->v->source->blobs, true, keep_entry, k);

    if (rc == -ENOENT)
        rc = 0; /* no pack: all content is in clones */
    g_hash_table_iter_init(&iter, k->files);
    while (rc == 0 && g_hash_table_iter_next(&iter, NULL, &value)) {
        rc = keep_rest(k, value);
        if (rc == 0)
            rc = record_kept(k->v, value);
    }
    return rc;
}

int inverse_add_content(struct inverter *v)
{
    struct keeper k = {
        .v = v,
        .files = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
                                       kept_free),
        .last_fd = -1,
    };
    GHashTableIter iter;
    gpointer value;
    int rc = 0;

    g_hash_table_iter_init(&iter, v->source->step->inodes);
    while (rc == 0 && g_hash_table_iter_next(&iter, NULL, &value))
        rc = add_kept(&k, value);
    if (rc == 0 && g_hash_table_size(k.files) > 0)
        rc = keep_all(&k);
    fd_close(&k.last_fd);
    g_hash_table_unref(k.files);
    return rc;
}
