/* SPDX-License-Identifier: Apache-2.0
 *
 * past_walk - see past_walk.h.
 */
#include "interceptor/past/past_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/log/pack.h"
#include "interceptor/sys/sys.h"

enum { CHUNK = 1 << 20 };

/* A step and the targets that need its pack. */
struct layer {
    past_put *put;
    void *opaque;
    GHashTable *wanted; /* data_number -> GPtrArray of borrowed past_target */
};

int past_next_data(int fd, off_t *offset, off_t end, off_t *ret_length)
{
    off_t data = *offset < end ? lseek(fd, *offset, SEEK_DATA) : end, hole;

    if (data < 0 && errno != ENXIO)
        return -errno;
    if (data < 0 || data >= end)
        return 0;
    hole = lseek(fd, data, SEEK_HOLE);
    if (hole < 0 && errno != ENXIO)
        return -errno;
    *offset = data;
    *ret_length = (hole < 0 ? end : MIN(hole, end)) - data;
    return 1;
}

static void want(GHashTable *wanted, const struct step_inode *record,
                 struct past_target *target)
{
    GPtrArray *targets = g_hash_table_lookup(wanted, &record->data_number);

    if (!targets) {
        targets = g_ptr_array_new();
        g_hash_table_insert(wanted, (gpointer)&record->data_number, targets);
    }
    g_ptr_array_add(targets, target);
}

static int put(const struct layer *layer, struct past_target *target,
               const void *data, int64_t offset, int64_t length)
{
    length = MIN(length, target->size - offset);
    return length <= 0
               ? 0
               : layer->put(target, data, offset, length, layer->opaque);
}

static int put_extent(const struct layer *layer, struct past_target *target,
                      int file, off_t offset, off_t length)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    int rc = 0;

    while (rc == 0 && length > 0) {
        ssize_t n = pread(file, chunk, (size_t)MIN(length, (off_t)CHUNK),
                          offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        rc = put(layer, target, chunk, offset, n);
        offset += n;
        length -= n;
    }
    return rc;
}

/* Put the file's content before end, with all holes up to the target's end, or
 * only the data. */
static int put_file(const struct layer *layer, struct past_target *target,
                    int file, off_t end, bool holes)
{
    off_t at = 0, data = 0, length;
    int rc;

    while ((rc = past_next_data(file, &data, end, &length)) > 0) {
        rc = holes ? put(layer, target, NULL, at, data - at) : 0;
        if (rc == 0)
            rc = put_extent(layer, target, file, data, length);
        if (rc < 0)
            return rc;
        at = data = data + length;
    }
    return rc < 0 || !holes ? rc
                            : put(layer, target, NULL, at, target->size - at);
}

int past_walk_start(struct past_target *target, past_put *put_target,
                    void *opaque)
{
    const struct layer layer = { .put = put_target, .opaque = opaque };
    fd_auto int file = -1;

    if (target->node.fd < 0)
        return 0;
    file = sys_reopen(target->node.fd, O_RDONLY | O_NONBLOCK);
    return file < 0 ? file
                    : put_file(&layer, target, file, target->size, false);
}

static int put_clone(const struct layer *layer, int blobs,
                     const struct step_inode *record,
                     struct past_target *target)
{
    fd_auto int clone = sys_openat(blobs,
                                   step_clone_blob(record->data_number).text,
                                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    struct stat st;
    int rc = clone < 0 ? clone : sys_stat_fd(clone, &st);

    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = -EBADMSG;
    return rc < 0 ? rc
                  : put_file(layer, target, clone,
                             MIN(target->size, record->data_size), true);
}

static int put_entry(const struct pack_entry *entry, void *opaque)
{
    const struct layer *layer = opaque;
    GPtrArray *targets = g_hash_table_lookup(layer->wanted, &entry->number);
    int rc = 0;

    for (guint i = 0; rc == 0 && targets && i < targets->len; i++)
        rc = put(layer, g_ptr_array_index(targets, i), entry->data,
                 entry->offset, entry->length);
    return rc;
}

/* Collect the targets that need the step's pack; handle sizes and clones at
 * once. */
static int prepare(const struct past *past, const struct layer *layer,
                   GPtrArray *targets, unsigned index, int blobs)
{
    int rc = 0;

    for (guint i = 0; rc == 0 && i < targets->len; i++) {
        struct past_target *target = g_ptr_array_index(targets, i);
        const struct step_inode *record = past_content_record(
            past, &target->node, index);

        if (!record || index < target->level)
            continue;
        if (record->flags & STEP_CLONE) {
            rc = put_clone(layer, blobs, record, target);
            continue;
        }
        rc = put(layer, target, NULL, record->data_size,
                 target->size - record->data_size);
        want(layer->wanted, record, target);
    }
    return rc;
}

static void free_list(gpointer list)
{
    g_ptr_array_unref(list);
}

static int go_back(const struct past *past, struct layer *layer,
                   GPtrArray *targets, unsigned index)
{
    g_autoptr(GHashTable) wanted = g_hash_table_new_full(
        g_int64_hash, g_int64_equal, NULL, free_list);
    const struct step *step = g_ptr_array_index(past->steps, index);
    fd_auto int blobs = past_open_blobs(past, index);
    int rc = blobs;

    layer->wanted = wanted;
    if (rc >= 0)
        rc = prepare(past, layer, targets, index, blobs);
    if (rc < 0 || g_hash_table_size(wanted) == 0)
        return rc;
    return pack_read(blobs, step->end != NULL, put_entry, layer);
}

int past_walk_back(const struct past *past, GPtrArray *targets,
                   past_put *put_target, void *opaque)
{
    struct layer layer = { .put = put_target, .opaque = opaque };
    int rc = 0;

    for (unsigned i = past->steps->len; rc == 0 && targets->len > 0 && i > 0;
         i--)
        rc = go_back(past, &layer, targets, i - 1);
    return rc;
}
