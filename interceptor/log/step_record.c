/* SPDX-License-Identifier: Apache-2.0
 *
 * step_record - write a step's records (step.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/json_bytes.h"
#include "interceptor/log/step.h"
#include "interceptor/log/step_name.h"
#include "interceptor/sys/clock.h"

static int append(struct step *step, const char *text, size_t len)
{
    int rc;

    if (step->dry)
        return 0;
    rc = step->journal ? journal_make_room(step->journal, len) : -EROFS;
    if (rc == 0)
        rc = journal_append_text(step->journal, text, len);
    if (rc == 0)
        step->records++;
    return rc;
}

/* Append {"t":"b","p":P,"n":"...","i":I without the closing brace. These lines
 * are the most frequent, so they are written without a JSON object. */
static int append_name(struct step *step, char type, uint64_t dir,
                       const char *name, const struct step_inode *inode)
{
    uint64_t ino = inode ? inode->recorded : 0;
    char changed[32] = "";
    const bool plain = step_name_is_plain(name);
    const char *key = "n", *quote = plain ? "\"" : "";
    g_autofree char *quoted = plain ? NULL : step_name_quote(name, &key);
    char line[6 * NAME_MAX + 128]; /* JSON escapes one byte to at most six */
    int len;

    if (inode && inode->flags & STEP_SEEN)
        snprintf(changed, sizeof(changed), ",\"ct\":%" PRId64,
                 inode->seen.changed);
    len = snprintf(line, sizeof(line),
                   "{\"t\":\"%c\",\"p\":%" PRId64
                   ",\"%s\":%s%s%s,\"i\":%" PRId64 "%s",
                   type, (int64_t)dir, key, quote, plain ? name : quoted, quote,
                   (int64_t)ino, changed);
    if ((size_t)len >= sizeof(line))
        return -ENAMETOOLONG;
    return append(step, line, (size_t)len);
}

int step_record_binding(struct step *step, struct step_inode *dir,
                        const char *name, struct step_inode *before)
{
    int rc = append_name(step, 'b', dir->recorded, name, before);

    if (rc == 0)
        step_note_binding(step, dir, name, before);
    return rc;
}

int step_record_home(struct step *step, struct step_inode *inode,
                     struct step_inode *dir, const char *name)
{
    int rc = append_name(step, 'h', dir->recorded, name, inode);

    if (rc == 0)
        step_note_home(inode, dir, name);
    return rc;
}

static int append_object(struct step *step, json_t *record)
{
    char *text = json_dumps(record, JSON_COMPACT);
    int rc = text ? append(step, text, strlen(text) - 1) : -EINVAL;

    free(text);
    json_decref(record);
    return rc;
}

int step_record_meta(struct step *step, struct step_inode *inode,
                     struct meta *meta)
{
    json_t *record = json_pack("{s:s, s:I}", "t", "m", "i",
                               (json_int_t)inode->recorded);
    int rc;

    meta_to_record(meta, record);
    step_note_seen(inode, inode->ino, meta->changed);
    rc = append_object(step, record);
    if (rc < 0) {
        meta_free(meta);
        return rc;
    }
    meta_free(inode->meta);
    inode->meta = meta;
    inode->flags |= STEP_META;
    return 0;
}

int step_record_data(struct step *step, struct step_inode *inode, int64_t size,
                     int64_t number, bool cloned)
{
    json_t *record = json_pack("{s:s, s:I, s:I, s:I}", "t", "d", "i",
                               (json_int_t)inode->recorded, "size",
                               (json_int_t)size, "c", (json_int_t)number);
    int rc;

    if (cloned)
        json_object_set_new(record, "clone", json_true());
    rc = append_object(step, record);
    if (rc == 0) {
        inode->flags |= cloned ? STEP_DATA | STEP_CLONE : STEP_DATA;
        inode->flags &= ~(unsigned)STEP_UNWRITTEN;
        inode->data_size = size;
        inode->data_number = number;
    }
    return rc;
}

int step_record_seen(struct step *step, struct step_inode *inode,
                     const struct stat *now)
{
    if (inode->flags & (STEP_SEEN | STEP_CREATED))
        return 0;
    step_note_seen(inode, inode->ino, clock_ns(&now->st_ctim));
    return append_object(step, json_pack("{s:s, s:I, s:I}", "t", "c", "i",
                                         (json_int_t)inode->recorded, "ct",
                                         (json_int_t)inode->seen.changed));
}

static int append_inode(struct step *step, const char *type,
                        const struct step_inode *inode)
{
    return append_object(step, json_pack("{s:s, s:I}", "t", type, "i",
                                         (json_int_t)inode->recorded));
}

int step_record_all(struct step *step, struct step_inode *inode, bool unwritten)
{
    json_t *record = json_pack("{s:s, s:I}", "t", "a", "i",
                               (json_int_t)inode->recorded);
    int rc;

    if (unwritten)
        json_object_set_new(record, "unwritten", json_true());
    rc = append_object(step, record);
    if (rc == 0)
        inode->flags |= unwritten ? STEP_ALL | STEP_UNWRITTEN : STEP_ALL;
    return rc;
}

int step_record_lost(struct step *step, struct step_inode *inode)
{
    int rc = append_inode(step, "l", inode);

    if (rc == 0)
        inode->flags |= STEP_LOST;
    return rc;
}

int step_record_stand_in(struct step *step, struct step_inode *inode,
                         uint64_t ino)
{
    json_t *record = json_pack("{s:s, s:I, s:I}", "t", "g", "i",
                               (json_int_t)inode->recorded, "to",
                               (json_int_t)ino);
    int rc;

    if (g_hash_table_contains(step->inodes, &ino)) {
        json_decref(record);
        return -EEXIST;
    }
    rc = append_object(step, record);
    if (rc == 0) {
        inode->stand_in = ino;
        step_note_stand_in(step, inode);
    }
    return rc;
}

int step_record_retiring(struct step *step, struct step_inode *inode)
{
    json_t *record;
    int rc;

    if (inode->flags & (STEP_RETIRING | STEP_CREATED))
        return 0;
    record = json_pack("{s:s, s:I}", "t", "r", "i",
                       (json_int_t)inode->recorded);
    if (inode->born)
        json_object_set_new(record, "bt", json_integer(inode->born));
    rc = append_object(step, record);
    if (rc == 0)
        inode->flags |= STEP_RETIRING;
    return rc;
}

int step_record_staging(struct step *step, const char *name)
{
    int rc = append_object(step, json_pack("{s:s, s:s}", "t", "s", "n", name));

    if (rc == 0) {
        g_free(step->staging);
        step->staging = g_strdup(name);
    }
    return rc;
}

int step_record_unprotected(struct step *step, int64_t bytes)
{
    struct timespec now;
    int rc;

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    rc = append_object(step, json_pack("{s:s, s:I, s:I}", "t", "u", "bytes",
                                       (json_int_t)bytes, "at",
                                       (json_int_t)clock_ns(&now)));
    if (rc == 0) {
        step->unprotected = true;
        step->unprotected_ns = clock_ns(&now);
    }
    return rc;
}

int step_create_manifest(struct step *step, int dirfd)
{
    json_t *record = json_pack(
        "{s:s, s:i, s:I, s:I, s:s, s:I, s:I}", "t", "step", "v", STEP_FORMAT,
        "id", (json_int_t)step->id, "seq", (json_int_t)step->seq, "type",
        step_type_name(step->type), "us", (json_int_t)step->started_us, "root",
        (json_int_t)step->root->ino);
    int rc = journal_open(dirfd, STEP_MANIFEST, &step->journal);

    folder_mark_write(&step->folder, record);
    if (step->inverse)
        json_object_set_new(record, "inverse", json_true());
    if (step->command) {
        json_t *command = json_object();

        json_bytes_set(command, "v", step->command, strlen(step->command));
        json_object_set_new(record, "command", command);
    }
    if (rc < 0) {
        json_decref(record);
        return rc;
    }
    rc = journal_append(step->journal, record);
    return rc < 0 ? rc : journal_reserve(step->journal);
}
