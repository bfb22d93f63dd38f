/* SPDX-License-Identifier: Apache-2.0
 *
 * step - see step.h.
 */
#include "interceptor/log/step.h"

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
    folder_mark_clear(&step->folder);
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
        inode->ino = inode->recorded = ino;
        g_hash_table_insert(step->inodes, &inode->ino, inode);
    }
    return inode;
}

void step_drop_created(struct step *step, uint64_t ino)
{
    struct step_inode *inode = step_find_inode(step, ino);

    /* Dropping it leaves no dangling pointer: a created directory is the home
     * of an inode, or has bindings, only if it was recorded, and created inodes
     * are not recorded (S2). */
    if (inode && inode->flags & STEP_CREATED)
        g_hash_table_remove(step->inodes, &ino);
}

bool step_is_foreign(struct step *step, uint64_t ino)
{
    const struct step_inode *inode = step_find_inode(step, ino);

    if (!step->knows_created || step->unprotected)
        return false;
    /* The step neither made it nor gave it a name, nor met it at a place that
     * it had before the step. An inode with several names may have no known
     * place. */
    return !inode || !(inode->flags & (STEP_CREATED | STEP_LINKED) ||
                       inode->home || inode->names);
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

static void set_home(struct step_inode *inode, struct step_inode *dir,
                     const char *name)
{
    inode->home = dir;
    inode->home_name = g_strdup(name);
    list_add(&dir->children, inode);
}

static bool is_home_bound(const struct step_inode *inode)
{
    for (guint i = 0; inode->names && i < inode->names->len; i++) {
        const struct step_binding *binding = g_ptr_array_index(inode->names, i);

        if (binding->dir == inode->home &&
            strcmp(binding->name, inode->home_name) == 0)
            return true;
    }
    return false;
}

void step_note_home(struct step_inode *inode, struct step_inode *dir,
                    const char *name)
{
    if (inode->home && !is_home_bound(inode))
        return;
    if (inode->home) {
        g_ptr_array_remove(inode->home->children, inode);
        g_free(inode->home_name);
    }
    set_home(inode, dir, name);
}

void step_note_seen(struct step_inode *inode, uint64_t ino, int64_t changed)
{
    if (inode->flags & STEP_SEEN)
        return;
    inode->flags |= STEP_SEEN;
    inode->seen = (struct ctime_state){ ino, changed };
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
        if (before != step->root && !before->home)
            set_home(before, dir, name);
    }
}

void step_note_retired(struct step *step, struct step_inode *inode)
{
    g_hash_table_steal(step->inodes, &inode->ino);
    inode->flags |= STEP_RETIRED;
    g_ptr_array_add(step->retired, inode);
}

void step_note_stand_in(struct step *step, struct step_inode *inode)
{
    g_hash_table_steal(step->inodes, &inode->ino);
    inode->former = inode->ino;
    inode->ino = inode->stand_in;
    g_hash_table_insert(step->inodes, &inode->ino, inode);
}

/* ---- what is lost -------------------------------------------------------- */

bool step_has_name(const struct step_inode *inode)
{
    return inode->names && inode->names->len > 0 && !(inode->flags & STEP_LOST);
}

bool step_is_vacant(const struct step_binding *binding)
{
    return binding->vacant ||
           (binding->before && binding->before->flags & STEP_LOST);
}

/* ---- paths --------------------------------------------------------------- */

/* Prepend to the text that starts at buffer[*at]; false if it gets too long. */
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

    /* A damaged log may contain a circle; it ends as a too long path. */
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

    /* The children's lists reach each inode once, and an inode in a circle
     * never, since the root has no home. */
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

bool step_is_unchanged(const struct step *step)
{
    return json_is_true(json_object_get(step->end, "unchanged"));
}
