/* SPDX-License-Identifier: Apache-2.0
 *
 * step - see step.h.
 */
#include "interceptor/step.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/json_bytes.h"

static const char *const type_names[] = {
    [IC_STEP_COMMAND] = "command",
    [IC_STEP_API] = "api",
    [IC_STEP_AMBIENT] = "ambient",
};

const char *step_type_name(enum ic_step_type type)
{
    return type_names[type];
}

bool step_type_parse(const char *name, enum ic_step_type *ret_type)
{
    for (size_t i = 0; i < G_N_ELEMENTS(type_names); i++) {
        if (g_strcmp0(name, type_names[i]) == 0) {
            *ret_type = (enum ic_step_type)i;
            return true;
        }
    }
    return false;
}

struct step_name step_inode_blob(uint64_t ino)
{
    struct step_name name;

    snprintf(name.text, sizeof(name.text), "i%" PRIu64, ino);
    return name;
}

struct step_name step_clone_blob(int64_t number)
{
    struct step_name name;

    snprintf(name.text, sizeof(name.text), "f%" PRId64, number);
    return name;
}

/* ---- tables -------------------------------------------------------------- */

static guint binding_hash(gconstpointer key)
{
    const struct step_binding *b = key;

    return g_str_hash(b->name) ^ (guint)((uintptr_t)b->dir >> 4);
}

static gboolean binding_equal(gconstpointer a, gconstpointer b)
{
    const struct step_binding *x = a, *y = b;

    return x->dir == y->dir && strcmp(x->name, y->name) == 0;
}

static void binding_free(gpointer data)
{
    struct step_binding *binding = data;

    g_free(binding->name);
    g_free(binding);
}

void step_inode_free(gpointer data)
{
    struct step_inode *inode = data;

    meta_free(inode->meta);
    g_free(inode->home_name);
    g_clear_pointer(&inode->bindings, g_ptr_array_unref);
    g_clear_pointer(&inode->children, g_ptr_array_unref);
    g_clear_pointer(&inode->names, g_ptr_array_unref);
    g_free(inode);
}

static void list_add(GPtrArray **list, gpointer item)
{
    if (!*list)
        *list = g_ptr_array_new();
    g_ptr_array_add(*list, item);
}

struct step *step_new(int64_t id, int64_t seq, enum ic_step_type type,
                      const char *command, uint64_t root_ino)
{
    struct step *step = g_new0(struct step, 1);

    step->id = id;
    step->seq = seq;
    step->type = type;
    step->command = g_strdup(command);
    step->started_us = g_get_real_time();
    step->inodes = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
                                         step_inode_free);
    step->bindings = g_hash_table_new_full(binding_hash, binding_equal, NULL,
                                           binding_free);
    step->retired = g_ptr_array_new_with_free_func(step_inode_free);
    step->root = step_get_inode(step, root_ino);
    return step;
}

void step_free(struct step *step)
{
    if (!step)
        return;
    journal_close(step->journal);
    g_hash_table_unref(step->bindings);
    g_hash_table_unref(step->inodes);
    g_ptr_array_unref(step->retired);
    json_decref(step->end);
    g_clear_pointer(&step->post, g_ptr_array_unref);
    g_free(step->command);
    g_free(step->staging);
    g_free(step);
}

struct step_inode *step_find_inode(struct step *step, uint64_t ino)
{
    return g_hash_table_lookup(step->inodes, &ino);
}

struct step_inode *step_get_inode(struct step *step, uint64_t ino)
{
    struct step_inode *inode = step_find_inode(step, ino);

    if (!inode) {
        inode = g_new0(struct step_inode, 1);
        inode->ino = ino;
        g_hash_table_insert(step->inodes, &inode->ino, inode);
    }
    return inode;
}

void step_drop_created(struct step *step, uint64_t ino)
{
    struct step_inode *inode = step_find_inode(step, ino);

    /* A created directory may be a created inode's home or hold bindings only
     * if it was recorded, and created inodes are not (S2). */
    if (inode && inode->flags & STEP_CREATED)
        g_hash_table_remove(step->inodes, &ino);
}

struct step_binding *step_find_binding(struct step *step,
                                       struct step_inode *dir, const char *name)
{
    struct step_binding key = { .dir = dir, .name = (char *)name };

    return g_hash_table_lookup(step->bindings, &key);
}

bool step_is_now(const struct step_inode *inode, uint64_t ino)
{
    return (inode->flags & STEP_RETIRED ? inode->now : inode->ino) == ino &&
           ino != 0;
}

bool step_has_home(const struct step *step, const struct step_inode *inode)
{
    return inode == step->root || inode->home;
}

void step_note_home(struct step_inode *inode, struct step_inode *dir,
                    const char *name)
{
    if (inode->home)
        return;
    inode->home = dir;
    inode->home_name = g_strdup(name);
    list_add(&dir->children, inode);
}

void step_note_seen(struct step_inode *inode, uint64_t ino, int64_t changed)
{
    if (inode->flags & STEP_SEEN)
        return;
    inode->flags |= STEP_SEEN;
    inode->seen = (struct own_state){ ino, changed };
}

void step_note_binding(struct step *step, struct step_inode *dir,
                       const char *name, struct step_inode *before)
{
    struct step_binding *binding = g_new0(struct step_binding, 1);

    binding->dir = dir;
    binding->before = before;
    binding->name = g_strdup(name);
    g_hash_table_add(step->bindings, binding);
    list_add(&dir->bindings, binding);
    if (before) {
        list_add(&before->names, binding);
        if (before != step->root)
            step_note_home(before, dir, name);
    }
}

void step_note_retired(struct step *step, struct step_inode *inode)
{
    g_hash_table_steal(step->inodes, &inode->ino);
    inode->flags |= STEP_RETIRED;
    g_ptr_array_add(step->retired, inode);
}

/* ---- recording ----------------------------------------------------------- */

static int append(struct step *step, const char *text, size_t len)
{
    int rc = step->journal ? journal_append_text(step->journal, text, len)
                           : -EROFS;

    if (rc == 0)
        step->records++;
    return rc;
}

/* Can the name stand in quotes as it is? Nearly all can. */
static bool is_plain(const char *name)
{
    for (; *name; name++) {
        if (*name < ' ' || *name > '~' || *name == '"' || *name == '\\')
            return false;
    }
    return true;
}

/* The name as a JSON string with its quotes; *ret_key: "n" or "n64". */
static char *quote_name(const char *name, const char **ret_key)
{
    size_t len = strlen(name);
    bool text = json_bytes_is_text(name, len);
    g_autofree char *encoded = text
                                   ? NULL
                                   : g_base64_encode((const guchar *)name, len);
    json_t *value = json_string(text ? name : encoded);
    char *dumped = json_dumps(value, JSON_ENCODE_ANY);
    char *quoted = g_strdup(dumped);

    free(dumped);
    json_decref(value);
    *ret_key = text ? "n" : "n64";
    return quoted;
}

void step_append_name(GString *text, const char *name)
{
    const char *key = "n";
    g_autofree char *quoted = NULL;

    if (is_plain(name)) {
        g_string_append_printf(text, ",\"n\":\"%s\"", name);
        return;
    }
    quoted = quote_name(name, &key);
    g_string_append_printf(text, ",\"%s\":%s", key, quoted);
}

/* {"t":"b","p":P,"n":"...","i":I without the brace: the most frequent lines,
 * so not by way of a JSON object. */
static int append_name(struct step *step, char type, uint64_t dir,
                       const char *name, const struct step_inode *inode)
{
    uint64_t ino = inode ? inode->ino : 0;
    char changed[32] = "";
    const bool plain = is_plain(name);
    const char *key = "n", *quote = plain ? "\"" : "";
    g_autofree char *quoted = plain ? NULL : quote_name(name, &key);
    char line[6 * NAME_MAX + 128]; /* JSON makes six bytes of one, at worst */
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
    int rc = append_name(step, 'b', dir->ino, name, before);

    if (rc == 0)
        step_note_binding(step, dir, name, before);
    return rc;
}

int step_record_home(struct step *step, struct step_inode *inode,
                     struct step_inode *dir, const char *name)
{
    int rc = append_name(step, 'h', dir->ino, name, inode);

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
                               (json_int_t)inode->ino);
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
                               (json_int_t)inode->ino, "size", (json_int_t)size,
                               "c", (json_int_t)number);
    int rc;

    if (cloned)
        json_object_set_new(record, "clone", json_true());
    rc = append_object(step, record);
    if (rc == 0) {
        inode->flags |= cloned ? STEP_DATA | STEP_CLONE : STEP_DATA;
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
    step_note_seen(inode, inode->ino, meta_time(&now->st_ctim));
    return append_object(step, json_pack("{s:s, s:I, s:I}", "t", "c", "i",
                                         (json_int_t)inode->ino, "ct",
                                         (json_int_t)inode->seen.changed));
}

static int append_inode(struct step *step, const char *type,
                        const struct step_inode *inode)
{
    return append_object(
        step, json_pack("{s:s, s:I}", "t", type, "i", (json_int_t)inode->ino));
}

int step_record_all(struct step *step, struct step_inode *inode)
{
    int rc = append_inode(step, "a", inode);

    if (rc == 0)
        inode->flags |= STEP_ALL;
    return rc;
}

int step_record_lost(struct step *step, struct step_inode *inode)
{
    int rc = append_inode(step, "l", inode);

    if (rc == 0)
        inode->flags |= STEP_LOST;
    return rc;
}

int step_record_retired(struct step *step, struct step_inode *inode)
{
    int rc = append_inode(step, "r", inode);

    if (rc == 0)
        step_note_retired(step, inode);
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
    int rc = append_object(
        step, json_pack("{s:s, s:I}", "t", "u", "bytes", (json_int_t)bytes));

    if (rc == 0)
        step->unprotected = true;
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

/* ---- paths --------------------------------------------------------------- */

/* Prepend to the text that starts at buffer[*at]; false if it is too long. */
static bool prepend(char *buffer, size_t *at, const char *text)
{
    size_t len = strlen(text);

    if (len > *at)
        return false;
    *at -= len;
    memcpy(buffer + *at, text, len);
    return true;
}

char *step_path_before(const struct step *step, const struct step_inode *inode,
                       const char *name)
{
    char buffer[PATH_MAX] = "";
    size_t at = sizeof(buffer) - 1;
    bool ok = prepend(buffer, &at, name ? name : "");

    /* A damaged log may lead in a circle; that is too long as well. */
    for (; ok && inode != step->root; inode = inode->home) {
        if (!inode->home)
            return NULL;
        ok = (buffer[at] == '\0' || prepend(buffer, &at, "/")) &&
             prepend(buffer, &at, inode->home_name);
    }
    return ok ? g_strdup(buffer + at) : NULL;
}

/* ---- order --------------------------------------------------------------- */

void step_sort(struct step *step)
{
    g_autoptr(GPtrArray) stack = g_ptr_array_new();
    unsigned order = 0;

    /* By the children's lists each inode is met once, and those in a circle
     * never: the root has no home. */
    g_ptr_array_add(stack, step->root);
    while (stack->len > 0) {
        struct step_inode *inode = g_ptr_array_steal_index_fast(stack,
                                                                stack->len - 1);

        inode->order = ++order;
        inode->depth = inode->home ? inode->home->depth + 1 : 0;
        for (guint i = 0; inode->children && i < inode->children->len; i++)
            g_ptr_array_add(stack, g_ptr_array_index(inode->children, i));
    }
}
