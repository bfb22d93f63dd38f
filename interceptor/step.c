/* SPDX-License-Identifier: Apache-2.0
 *
 * step - see step.h.
 */
#include "interceptor/step.h"

#include <errno.h>
#include <inttypes.h>
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

struct step_name step_data_blob(int64_t number)
{
    struct step_name name;

    snprintf(name.text, sizeof(name.text), "c%" PRId64, number);
    return name;
}

/* ---- tables ---------------------------------------------------------------- */

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

static void inode_free(gpointer data)
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
                                         inode_free);
    step->bindings = g_hash_table_new_full(binding_hash, binding_equal, NULL,
                                           binding_free);
    step->retired = g_ptr_array_new_with_free_func(inode_free);
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
    g_free(step->command);
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
                                       struct step_inode *dir,
                                       const char *name)
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

static void set_home(struct step_inode *inode, struct step_inode *dir,
                     const char *name)
{
    if (inode->home)
        return;
    inode->home = dir;
    inode->home_name = g_strdup(name);
    list_add(&dir->children, inode);
}

static void add_binding(struct step *step, struct step_inode *dir,
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
            set_home(before, dir, name);
    }
}

static void retire(struct step *step, struct step_inode *inode)
{
    g_hash_table_steal(step->inodes, &inode->ino);
    inode->flags |= STEP_RETIRED;
    g_ptr_array_add(step->retired, inode);
}

/* ---- recording ------------------------------------------------------------- */

static int append(struct step *step, const char *text, size_t len)
{
    int rc = step->journal ? journal_append_text(step->journal, text, len)
                           : -EROFS;

    if (rc == 0)
        step->records++;
    return rc;
}

/* {"t":"b","p":P,"n":"...","i":I without the brace: the most frequent lines,
 * so not by way of a JSON object. */
static int append_name(struct step *step, char type, uint64_t dir,
                       const char *name, uint64_t ino)
{
    size_t len = strlen(name);
    bool text = json_bytes_is_text(name, len);
    g_autofree char *encoded = text ? NULL
                                    : g_base64_encode((const guchar *)name, len);
    json_t *value = json_string(text ? name : encoded);
    char *quoted = json_dumps(value, JSON_ENCODE_ANY);
    g_autofree char *line = g_strdup_printf(
        "{\"t\":\"%c\",\"p\":%" PRId64 ",\"n%s\":%s,\"i\":%" PRId64, type,
        (int64_t)dir, text ? "" : "64", quoted, (int64_t)ino);

    free(quoted);
    json_decref(value);
    return append(step, line, strlen(line));
}

int step_record_binding(struct step *step, struct step_inode *dir,
                        const char *name, struct step_inode *before)
{
    int rc = append_name(step, 'b', dir->ino, name, before ? before->ino : 0);

    if (rc == 0)
        add_binding(step, dir, name, before);
    return rc;
}

int step_record_home(struct step *step, struct step_inode *inode,
                     struct step_inode *dir, const char *name)
{
    int rc = append_name(step, 'h', dir->ino, name, inode->ino);

    if (rc == 0)
        set_home(inode, dir, name);
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
    json_t *record =
        json_pack("{s:s, s:I}", "t", "m", "i", (json_int_t)inode->ino);
    int rc;

    meta_to_record(meta, record);
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
                     int64_t blob)
{
    int rc = append_object(
        step, json_pack("{s:s, s:I, s:I, s:I}", "t", "d", "i",
                        (json_int_t)inode->ino, "size", (json_int_t)size, "c",
                        (json_int_t)blob));

    if (rc == 0) {
        inode->flags |= STEP_DATA;
        inode->data_size = size;
        inode->data_blob = blob;
    }
    return rc;
}

int step_record_retired(struct step *step, struct step_inode *inode)
{
    int rc = append_object(step, json_pack("{s:s, s:I}", "t", "r", "i",
                                           (json_int_t)inode->ino));

    if (rc == 0)
        retire(step, inode);
    return rc;
}

int step_create_manifest(struct step *step, int dirfd)
{
    json_t *record =
        json_pack("{s:s, s:i, s:I, s:I, s:s, s:I, s:I}", "t", "step", "v",
                  STEP_FORMAT, "id", (json_int_t)step->id, "seq",
                  (json_int_t)step->seq, "type", step_type_name(step->type),
                  "us", (json_int_t)step->started_us, "root",
                  (json_int_t)step->root->ino);
    int rc = journal_open(dirfd, STEP_MANIFEST, &step->journal);

    if (step->command) {
        json_t *command = json_object();

        json_bytes_set(command, "v", step->command, strlen(step->command));
        json_object_set_new(record, "command", command);
    }
    if (rc < 0) {
        json_decref(record);
        return rc;
    }
    return journal_append(step->journal, record);
}

/* ---- loading --------------------------------------------------------------- */

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

static bool is_component(const char *name, size_t len)
{
    return len > 0 && len <= 255 && strlen(name) == len &&
           strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* The name of a record; NULL if it is none that a directory can hold. The
 * log is not trusted to stay within the share (I5). */
static char *get_name(json_t *record)
{
    json_t *text = json_object_get(record, "n");
    const char *encoded = json_string_value(json_object_get(record, "n64"));
    g_autofree char *name = NULL;
    gsize len = 0;

    if (text) {
        len = json_string_length(text);
        name = g_strndup(json_is_string(text) ? json_string_value(text) : "",
                         len);
    } else if (encoded) {
        g_autofree guchar *data = g_base64_decode(encoded, &len);

        name = g_strndup((char *)data, len);
    }
    return name && is_component(name, len) ? g_steal_pointer(&name) : NULL;
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
        !get_integer(record, "us", &started) ||
        !get_integer(record, "root", &root) ||
        !step_type_parse(type, &step_type))
        return false;
    if (command)
        text = json_bytes_get(command, "v", NULL);
    loader->step = step_new(id, seq, step_type, text, (uint64_t)root);
    loader->step->started_us = started;
    return true;
}

static bool load_name(struct loader *loader, json_t *record, bool is_home)
{
    struct step *step = loader->step;
    struct step_inode *dir = get_member(loader, record, "p");
    struct step_inode *inode = get_member(loader, record, "i");
    g_autofree char *name = get_name(record);

    if (!dir || !name || (is_home && (!inode || inode == step->root)))
        return false;
    if (is_home)
        set_home(inode, dir, name);
    else if (!step_find_binding(step, dir, name))
        add_binding(step, dir, name, inode);
    return true;
}

static bool load_state(struct loader *loader, json_t *record, char type)
{
    struct step_inode *inode = get_member(loader, record, "i");
    struct meta *meta;

    if (!inode)
        return false;
    switch (type) {
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
        inode->flags |= STEP_DATA;
        return get_integer(record, "size", &inode->data_size) &&
               get_integer(record, "c", &inode->data_blob);
    default:
        retire(loader->step, inode);
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
    else if (g_strcmp0(type, "m") == 0 || g_strcmp0(type, "d") == 0 ||
             g_strcmp0(type, "r") == 0)
        ok = load_state(loader, record, type[0]);
    else if (g_strcmp0(type, "end") == 0) {
        json_decref(loader->step->end);
        loader->step->end = json_incref(record);
        return 0;
    }
    if (!ok)
        loader->step->damaged = true;
    loader->step->records++;
    return 0;
}

/* Give each inode the number that it has now. Not the retired ones: they died
 * in this step, and what else had their number since is another story. */
static void apply_aliases(struct step *step,
                          uint64_t (*alias)(uint64_t ino, int64_t seq,
                                            void *opaque),
                          void *opaque)
{
    GHashTable *renumbered = g_hash_table_new_full(
        g_int64_hash, g_int64_equal, NULL, inode_free);
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct step_inode *inode = value;
        uint64_t now = inode == step->root
                           ? inode->ino
                           : alias(inode->ino, step->seq, opaque);

        g_hash_table_iter_steal(&iter);
        inode->ino = now;
        if (g_hash_table_contains(renumbered, &inode->ino)) {
            step->damaged = true;
            inode->flags |= STEP_RETIRED;
            g_ptr_array_add(step->retired, inode);
        } else {
            g_hash_table_insert(renumbered, &inode->ino, inode);
        }
    }
    g_hash_table_unref(step->inodes);
    step->inodes = renumbered;
}

int step_load(int dirfd,
              uint64_t (*alias)(uint64_t ino, int64_t seq, void *opaque),
              void *opaque, struct step **ret_step)
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

/* ---- paths ----------------------------------------------------------------- */

char *step_path_before(const struct step *step, const struct step_inode *inode,
                       const char *name)
{
    g_autoptr(GString) path = g_string_new(name);
    guint hops = g_hash_table_size(step->inodes) + step->retired->len;

    while (inode != step->root) {
        if (!inode->home || hops-- == 0)
            return NULL;
        if (path->len > 0)
            g_string_prepend_c(path, '/');
        g_string_prepend(path, inode->home_name);
        inode = inode->home;
    }
    return g_string_free(g_steal_pointer(&path), FALSE);
}
