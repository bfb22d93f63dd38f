/* SPDX-License-Identifier: Apache-2.0
 *
 * post_state - see post_state.h.
 */
#include "interceptor/log/post_state.h"

#include <inttypes.h>
#include <string.h>

#include "interceptor/log/step_name.h"

guint post_spot_hash(gconstpointer key)
{
    const struct post_spot *spot = key;

    return g_str_hash(spot->name) ^ (guint)((uintptr_t)spot->dir >> 4);
}

gboolean post_spot_equal(gconstpointer a, gconstpointer b)
{
    const struct post_spot *x = a, *y = b;

    return x->dir == y->dir && strcmp(x->name, y->name) == 0;
}

/* ---- reading ------------------------------------------------------------- */

static void post_free(gpointer data)
{
    struct post_state *post = data;

    g_free(post->name);
    g_free(post);
}

static int64_t number(json_t *record, const char *key)
{
    return json_integer_value(json_object_get(record, key));
}

bool post_state_load(struct step *step, json_t *record)
{
    json_t *dir = json_object_get(record, "d");
    json_t *digest = json_object_get(record, "a");
    struct post_state *post;

    if (!step->post)
        step->post = g_ptr_array_new_with_free_func(post_free);
    /* Only the root line has no directory. A second root line starts over: the
     * first commit failed. */
    if (!dir)
        g_ptr_array_set_size(step->post, 0);
    if (dir && (!json_is_integer(dir) || json_integer_value(dir) < 0 ||
                json_integer_value(dir) >= step->post->len))
        return false;
    post = g_new0(struct post_state, 1);
    post->name = dir ? step_name_from_record(record) : g_strdup("");
    if (!post->name) {
        post_free(post);
        return false;
    }
    if (dir)
        post->dir = g_ptr_array_index(step->post, json_integer_value(dir));
    post->mode = (mode_t)number(record, "o");
    post->has_digest = digest != NULL;
    post->digest = (uint32_t)json_integer_value(digest);
    post->uid = (uint32_t)number(record, "u");
    post->gid = (uint32_t)number(record, "g");
    post->size = number(record, "s");
    post->mtime = number(record, "m");
    post->links = number(record, "l");
    post->state.ino = (uint64_t)number(record, "i");
    post->state.changed = number(record, "c");
    g_ptr_array_add(step->post, post);
    return true;
}

bool post_state_is_complete(const struct step *step)
{
    json_t *count = json_object_get(step->end, "post");

    return step->post && json_is_integer(count) &&
           json_integer_value(count) == step->post->len;
}

/* ---- vacant names ------------------------------------------------------- */

/* Indexes by the inode numbers in the manifest. */
struct marker {
    GHashTable *spots;  /* owned post_spot, whose dir is its number ->
                         * post_state */
    GHashTable *dirs;   /* numbers of the directories that have a line */
    GHashTable *inodes; /* &recorded -> borrowed step_inode */
};

static gconstpointer number_key(uint64_t ino)
{
    return (gconstpointer)(uintptr_t)ino;
}

static void index_inodes(struct marker *m, struct step *step)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct step_inode *inode = value;

        g_hash_table_insert(m->inodes, &inode->recorded, inode);
    }
    for (guint i = 0; i < step->retired->len; i++) {
        struct step_inode *inode = g_ptr_array_index(step->retired, i);

        if (!g_hash_table_contains(m->inodes, &inode->recorded))
            g_hash_table_insert(m->inodes, &inode->recorded, inode);
    }
}

static void index_spots(struct marker *m, const struct step *step)
{
    for (guint i = 0; i < step->post->len; i++) {
        struct post_state *post = g_ptr_array_index(step->post, i);

        if (S_ISDIR(post->mode)) /* a line with i:0 has mode 0 */
            g_hash_table_add(m->dirs, (gpointer)number_key(post->state.ino));
        if (post->dir) {
            struct post_spot spot = { number_key(post->dir->state.ino),
                                      post->name };

            g_hash_table_insert(m->spots, g_memdup2(&spot, sizeof(spot)), post);
        }
    }
}

static bool leaves_nothing(const struct marker *m,
                           const struct step_binding *binding)
{
    struct post_spot spot = { number_key(binding->dir->recorded),
                              binding->name };
    const struct post_state *post;
    const struct step_inode *inode;

    if (binding->before || !g_hash_table_contains(m->dirs, spot.dir))
        return false;
    post = g_hash_table_lookup(m->spots, &spot);
    if (!post)
        return true;
    inode = g_hash_table_lookup(m->inodes, &post->state.ino);
    return inode && inode->flags & STEP_LOST;
}

void post_state_mark_vacant(struct step *step)
{
    struct marker m;
    GHashTableIter iter;
    gpointer key;

    if (!post_state_is_complete(step))
        return;
    m = (struct marker){
        .spots = g_hash_table_new_full(post_spot_hash, post_spot_equal, g_free,
                                       NULL),
        .dirs = g_hash_table_new(NULL, NULL),
        .inodes = g_hash_table_new(g_int64_hash, g_int64_equal),
    };
    index_inodes(&m, step);
    index_spots(&m, step);
    g_hash_table_iter_init(&iter, step->bindings);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        struct step_binding *binding = key;

        binding->vacant = binding->vacant || leaves_nothing(&m, binding);
    }
    g_hash_table_unref(m.spots);
    g_hash_table_unref(m.dirs);
    g_hash_table_unref(m.inodes);
}

const struct post_state *post_state_only_name(const struct step *step,
                                              const struct step_inode *inode)
{
    for (guint i = 0; step->post && i < step->post->len; i++) {
        const struct post_state *post = g_ptr_array_index(step->post, i);

        if (post->state.ino == inode->recorded)
            return post->links <= 1 ? post : NULL;
    }
    return NULL;
}
