/* SPDX-License-Identifier: Apache-2.0
 *
 * step_load - read a step back from its manifest (step.h).
 *
 * The log is not trusted: a name must be valid in a directory, a number only
 * becomes a key, and a malformed record marks the step as damaged and is
 * skipped.
 */
#include "interceptor/log/step.h"

#include <errno.h>
#include <string.h>

#include "common/json_bytes.h"
#include "interceptor/log/post_state.h"
#include "interceptor/log/step_name.h"

struct loader {
    struct step *step;
};

static bool get_integer(json_t *record, const char *key, int64_t *ret_value)
{
    json_t *member = json_object_get(record, key);

    if (!json_is_integer(member))
        return false;
    *ret_value = json_integer_value(member);
    return true;
}

static struct step_inode *get_member(struct loader *loader, json_t *record,
                                     const char *key)
{
    int64_t value;

    if (!get_integer(record, key, &value) || value == 0)
        return NULL;
    return step_get_inode(loader->step, (uint64_t)value);
}

static bool load_header(struct loader *loader, json_t *record)
{
    const char *type = json_string_value(json_object_get(record, "type"));
    json_t *command = json_object_get(record, "command");
    int64_t version, id, seq, started, root;
    g_autofree char *text = NULL;
    enum ic_step_type step_type;

    if (g_strcmp0(json_string_value(json_object_get(record, "t")), "step") ||
        !get_integer(record, "v", &version) || version != STEP_FORMAT ||
        !get_integer(record, "id", &id) || !get_integer(record, "seq", &seq) ||
        id < -STEP_MAX_NUMBER || id > STEP_MAX_NUMBER || seq < 0 ||
        seq > STEP_MAX_NUMBER || !get_integer(record, "us", &started) ||
        !get_integer(record, "root", &root) ||
        !step_type_parse(type, &step_type))
        return false;
    if (command)
        text = json_bytes_get(command, "v", NULL);
    loader->step = step_new(id, seq, step_type, text, (uint64_t)root);
    loader->step->started_us = started;
    folder_mark_read(&loader->step->folder, record);
    loader->step->inverse = json_is_true(json_object_get(record, "inverse"));
    return true;
}

static void load_seen(json_t *record, struct step_inode *inode)
{
    int64_t changed;

    if (inode && get_integer(record, "ct", &changed))
        step_note_seen(inode, inode->ino, changed);
}

static bool load_name(struct loader *loader, json_t *record, bool is_home)
{
    struct step *step = loader->step;
    struct step_inode *dir = get_member(loader, record, "p");
    struct step_inode *inode = get_member(loader, record, "i");
    g_autofree char *name = step_name_from_record(record);

    if (!dir || !name || (is_home && (!inode || inode == step->root)))
        return false;
    load_seen(record, inode);
    if (is_home)
        step_note_home(inode, dir, name);
    else if (!step_find_binding(step, dir, name))
        step_note_binding(step, dir, name, inode);
    return true;
}

static bool load_data(struct step_inode *inode, json_t *record)
{
    int64_t size, number;

    if (!get_integer(record, "size", &size) || size < 0 ||
        !get_integer(record, "c", &number) || number <= 0)
        return false;
    if (inode->flags & STEP_DATA && number != inode->data_number)
        return false;
    inode->flags |= STEP_DATA;
    inode->flags &= ~(unsigned)STEP_UNWRITTEN;
    if (json_is_true(json_object_get(record, "clone")))
        inode->flags |= STEP_CLONE;
    inode->data_size = size;
    inode->data_number = number;
    return true;
}

static bool load_state(struct loader *loader, json_t *record, char type)
{
    struct step_inode *inode = get_member(loader, record, "i");
    struct meta *meta;
    int64_t stand_in;

    if (!inode)
        return false;
    load_seen(record, inode);
    switch (type) {
    case 'a':
        inode->flags |= STEP_ALL;
        if (json_is_true(json_object_get(record, "unwritten")))
            inode->flags |= STEP_UNWRITTEN;
        return true;
    case 'c':
        return true;
    case 'g':
        if (inode == loader->step->root ||
            !get_integer(record, "to", &stand_in) || stand_in <= 0)
            return false;
        inode->stand_in = (uint64_t)stand_in;
        return true;
    case 'l':
        if (inode == loader->step->root)
            return false; /* the root always exists */
        inode->flags |= STEP_LOST;
        return true;
    case 'm':
        meta = meta_from_record(record);
        if (!meta)
            return false;
        if (inode->flags & STEP_META) {
            meta_free(meta);
            return true;
        }
        inode->meta = meta;
        inode->flags |= STEP_META;
        return true;
    case 'd':
        return load_data(inode, record);
    default:
        if (inode == loader->step->root)
            return false;
        if (!get_integer(record, "bt", &inode->born))
            inode->born = 0;
        step_note_retired(loader->step, inode);
        return true;
    }
}

static int load_record(json_t *record, void *opaque)
{
    struct loader *loader = opaque;
    const char *type = json_string_value(json_object_get(record, "t"));
    bool ok = false;

    if (!loader->step)
        return load_header(loader, record) ? 0 : -EBADMSG;
    if (g_strcmp0(type, "b") == 0 || g_strcmp0(type, "h") == 0)
        ok = load_name(loader, record, type[0] == 'h');
    else if (type && strlen(type) == 1 && strchr("acdglmr", type[0]))
        ok = load_state(loader, record, type[0]);
    else if (g_strcmp0(type, "p") == 0)
        ok = post_state_load(loader->step, record);
    else if (g_strcmp0(type, "s") == 0) {
        g_free(loader->step->staging);
        loader->step->staging = step_name_from_record(record);
        ok = loader->step->staging != NULL;
    } else if (g_strcmp0(type, "u") == 0) {
        ok = loader->step->unprotected = true;
        get_integer(record, "at", &loader->step->unprotected_ns);
    } else if (g_strcmp0(type, "end") == 0) {
        if (json_is_true(json_object_get(record, "unprotected")))
            loader->step->unprotected = true;
        json_decref(loader->step->end);
        loader->step->end = json_incref(record);
        return 0;
    }
    if (!ok)
        loader->step->damaged = true;
    loader->step->records++;
    return 0;
}

/* Another process removed the inode; its number now means another one. */
static void lose(struct step *step, struct step_inode *inode)
{
    inode->ino = 0;
    inode->flags |= STEP_LOST;
    g_ptr_array_add(step->retired, inode);
    if (!post_state_is_complete(step))
        step->damaged = true; /* no other record reports the loss */
}

/* Enter the inodes whose number has changed, or those whose has not. If two
 * have the same number, it was reused without a record; the second counts as
 * lost. */
static void enter_inodes(struct step *step, GHashTable *inodes, bool changed)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct step_inode *inode = value;

        if ((inode->ino != inode->recorded) != changed)
            continue;
        g_hash_table_iter_steal(&iter);
        if (inode->ino == 0 || g_hash_table_contains(inodes, &inode->ino))
            lose(step, inode);
        else
            g_hash_table_insert(inodes, &inode->ino, inode);
    }
}

/* Give each inode its current number. Retired inodes are skipped: they died in
 * this step, and a later use of their number is another inode. */
static void apply_aliases(struct step *step, step_alias *alias, void *opaque)
{
    GHashTable *inodes = g_hash_table_new_full(g_int64_hash, g_int64_equal,
                                               NULL, step_inode_free);
    GHashTable *numbers = g_hash_table_new(NULL, NULL);
    GHashTableIter iter;
    gpointer value;

    /* A set of pointers, since the numbers change. The root keeps its number.
     */
    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        g_hash_table_add(numbers, value);
    g_hash_table_steal_all(step->inodes);
    g_hash_table_unref(step->inodes);
    step->inodes = numbers;
    g_hash_table_iter_init(&iter, numbers);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct step_inode *inode = value;
        struct ctime_state then = { inode->ino, inode->flags & STEP_SEEN
                                                    ? inode->seen.changed
                                                    : 0 };

        if (inode != step->root)
            inode->ino = alias(&then, step->seq, &inode->born, opaque);
    }
    g_hash_table_steal(numbers, step->root);
    g_hash_table_insert(inodes, &step->root->ino, step->root);
    enter_inodes(step, inodes, true);
    enter_inodes(step, inodes, false);
    g_hash_table_unref(step->inodes);
    step->inodes = inodes;
}

/* Runs after the aliases, which decide what is lost. */
static void apply_stand_ins(struct step *step)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct step_inode *inode = value;

        if (inode->stand_in &&
            !g_hash_table_contains(step->inodes, &inode->stand_in))
            g_ptr_array_add(found, value);
    }
    for (guint i = 0; i < found->len; i++) {
        struct step_inode *inode = g_ptr_array_index(found, i);

        if (!g_hash_table_contains(step->inodes, &inode->stand_in))
            step_note_stand_in(step, inode);
    }
}

int step_load(int dirfd, step_alias *alias, void *opaque,
              struct step **ret_step)
{
    struct loader loader = { 0 };
    bool damaged = false;
    int rc = journal_read(dirfd, STEP_MANIFEST, load_record, &loader, &damaged);

    if (rc == 0 && !loader.step)
        rc = -EBADMSG;
    if (rc < 0) {
        step_free(loader.step);
        return rc;
    }
    if (alias)
        apply_aliases(loader.step, alias, opaque);
    apply_stand_ins(loader.step);
    loader.step->damaged |= damaged;
    *ret_step = loader.step;
    return 0;
}

int step_load_summary(int dirfd, struct step **ret_step)
{
    struct loader loader = { 0 };
    int rc = journal_read_ends(dirfd, STEP_MANIFEST, load_record, &loader);

    if (rc < 0) {
        step_free(loader.step);
        return rc;
    }
    *ret_step = loader.step;
    return 0;
}
