/* SPDX-License-Identifier: Apache-2.0
 *
 * net_effect - see net_effect.h.
 */
#include "interceptor/report/net_effect.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/fd.h"
#include "interceptor/log/pack.h"
#include "interceptor/sys/sys.h"

enum { MOST_BYTES = 64 << 20, MOST_OPEN = 64, CHUNK = 64 << 10 };

struct comparison {
    struct step *step;
    const struct survey *survey;
    int blobs, root;
    struct walker walker;
    int64_t room;      /* bytes that may still be compared */
    GHashTable *files; /* &step_inode.data_number -> owned fd (int *), for
                        * content in the pack */
};

static void free_fd(gpointer data)
{
    int *fd = data;

    fd_close(fd);
    g_free(fd);
}

/* ---- bytes --------------------------------------------------------------- */

/* Return whether the file has these bytes at this offset. data: NULL: zeros. */
static bool has_bytes(int fd, off_t offset, const char *data, size_t len)
{
    static const char zeros[CHUNK];
    char found[CHUNK];

    while (len > 0) {
        size_t part = MIN(len, sizeof(found));
        ssize_t n = pread(fd, found, part, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || memcmp(found, data ? data : zeros, (size_t)n) != 0)
            return false;
        offset += n;
        len -= (size_t)n;
        if (data)
            data += n;
    }
    return true;
}

static bool take_room(struct comparison *c, int64_t bytes)
{
    c->room -= bytes;
    return c->room >= 0;
}

static bool are_equal_files(struct comparison *c, int a, int b, int64_t size)
{
    char bytes[CHUNK];
    off_t at = 0;

    if (!take_room(c, size))
        return false;
    while (at < size) {
        ssize_t n = pread(a, bytes, sizeof(bytes), at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || !has_bytes(b, at, bytes, (size_t)n))
            return false;
        at += n;
    }
    return true;
}

/* Returns -ECANCELED if the file differs. */
static int compare_entry(const struct pack_entry *entry, void *opaque)
{
    struct comparison *c = opaque;
    const int *fd = g_hash_table_lookup(c->files, &entry->number);

    if (!fd)
        return 0;
    return take_room(c, entry->length) &&
                   has_bytes(*fd, entry->offset, entry->data,
                             (size_t)entry->length)
               ? 0
               : -ECANCELED;
}

/* Return whether the file now has the content that the step saved of this
 * inode. Content in the pack is queued for one comparison at the end. */
static bool keeps_content(struct comparison *c, const struct step_inode *inode,
                          int now)
{
    fd_auto int fd = -1, clone = -1;

    if (inode->data_size == 0)
        return true;
    fd = sys_reopen(now, O_RDONLY | O_NONBLOCK);
    if (fd < 0 || g_hash_table_size(c->files) >= MOST_OPEN)
        return false;
    if (inode->flags & STEP_CLONE) {
        clone = sys_openat(c->blobs, step_clone_blob(inode->data_number).text,
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        return clone >= 0 && are_equal_files(c, clone, fd, inode->data_size);
    }
    g_hash_table_insert(c->files, (gpointer)&inode->data_number,
                        g_memdup2(&(int){ fd_steal(&fd) }, sizeof(int)));
    return true;
}

/* ---- a file that was replaced -------------------------------------------- */

/* The log has the inode itself. */
static bool equals_moved(struct comparison *c, const struct step_inode *before,
                         int now, const struct stat *st)
{
    fd_auto int old = sys_openat(c->blobs, step_inode_blob(before->ino).text,
                                 O_PATH | O_NOFOLLOW, 0);
    fd_auto int a = -1, b = -1;
    g_autoptr(meta_auto) was = NULL, is = NULL;
    struct stat old_st;

    if (old < 0 || sys_stat_fd(old, &old_st) < 0 || old_st.st_nlink != 1 ||
        old_st.st_size != st->st_size || before->flags & STEP_DATA ||
        meta_read(now, &is) < 0 ||
        (!before->meta && meta_read(old, &was) < 0) ||
        !meta_equal(before->meta ? before->meta : was, is, false))
        return false;
    if (!S_ISREG(st->st_mode))
        return true;
    a = sys_reopen(old, O_RDONLY | O_NONBLOCK);
    b = sys_reopen(now, O_RDONLY | O_NONBLOCK);
    return a >= 0 && b >= 0 && are_equal_files(c, a, b, st->st_size);
}

/* The log has a copy of the inode. */
static bool equals_copied(struct comparison *c, const struct step_inode *before,
                          int now, const struct stat *st)
{
    g_autoptr(meta_auto) is = NULL;

    if (!before->meta || meta_read(now, &is) < 0 ||
        !meta_equal(before->meta, is, false))
        return false;
    return !S_ISREG(st->st_mode) ||
           (before->flags & STEP_DATA && before->data_size == st->st_size &&
            keeps_content(c, before, now));
}

/* Return whether the name's former inode is gone from the tree, had no other
 * name, and equals the new one. */
static bool is_replaced_by_same(struct comparison *c,
                                const struct step_inode *before,
                                const struct survey_entry *entry)
{
    const struct step_inode *known = step_find_inode(c->step, entry->st.st_ino);
    const struct stat *st = &entry->st;
    fd_auto int now = -1;

    if ((known && !(known->flags & STEP_CREATED)) || before->names->len != 1 ||
        g_hash_table_contains(c->survey->inodes, before) || st->st_nlink != 1 ||
        !(S_ISREG(st->st_mode) || S_ISLNK(st->st_mode)))
        return false;
    now = survey_open(&c->walker, c->root, entry);
    if (now < 0)
        return false;
    return before->flags & STEP_RETIRED ? equals_copied(c, before, now, st)
                                        : equals_moved(c, before, now, st);
}

/* ---- all records of the step --------------------------------------------- */

static bool is_same_binding(struct comparison *c,
                            const struct step_binding *binding)
{
    const struct step_inode *before = binding->before;
    const struct survey_entry *now = g_hash_table_lookup(c->survey->bindings,
                                                         binding);

    if (!before || !now)
        return !before && !now;
    return step_is_now(before, now->st.st_ino) ||
           is_replaced_by_same(c, before, now);
}

static bool are_same_bindings(struct comparison *c)
{
    GHashTableIter iter;
    gpointer key;

    g_hash_table_iter_init(&iter, c->step->bindings);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        if (!is_same_binding(c, key))
            return false;
    }
    return true;
}

/* Return whether written content of a file that is still in the tree is equal.
 */
static bool is_same_content(struct comparison *c,
                            const struct step_inode *inode)
{
    const struct survey_entry *entry = g_hash_table_lookup(c->survey->inodes,
                                                           inode);
    fd_auto int now = -1;

    if (!entry || entry->st.st_size != inode->data_size)
        return false;
    now = survey_open(&c->walker, c->root, entry);
    return now >= 0 && keeps_content(c, inode, now);
}

static bool is_same_inode(struct comparison *c, const struct step_inode *inode)
{
    const struct survey_entry *entry = g_hash_table_lookup(c->survey->inodes,
                                                           inode);
    bool written = inode->flags & STEP_DATA && !(inode->flags & STEP_UNWRITTEN);

    if (entry && inode->flags & STEP_META &&
        (entry->meta_changed ||
         (entry->mtime_changed && !written && !inode->bindings)))
        return false;
    return !written || is_same_content(c, inode);
}

static bool are_same_inodes(struct comparison *c)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, c->step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        if (!is_same_inode(c, value))
            return false;
    }
    return true;
}

/* A retired inode that had no name before the step is in no binding. */
static bool are_retired_named(const struct step *step)
{
    for (guint i = 0; i < step->retired->len; i++) {
        const struct step_inode *inode = g_ptr_array_index(step->retired, i);

        if (!inode->names)
            return false;
    }
    return true;
}

bool net_effect_is_none(struct step *step, const struct survey *survey,
                        int blobs, int root)
{
    g_autoptr(GHashTable) files = g_hash_table_new_full(
        g_int64_hash, g_int64_equal, NULL, free_fd);
    struct comparison c = {
        .step = step,
        .survey = survey,
        .blobs = blobs,
        .root = root,
        .room = MOST_BYTES,
        .files = files,
    };
    bool same;

    if (survey->foreign->len > 0 || !are_retired_named(step))
        return false;
    survey_walker_init(&c.walker, survey, step, root);
    same = are_same_bindings(&c) && are_same_inodes(&c);
    walker_clear(&c.walker);
    return same && (g_hash_table_size(files) == 0 ||
                    pack_read(blobs, false, compare_entry, &c) == 0);
}
