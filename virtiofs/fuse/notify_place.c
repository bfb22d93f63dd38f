/* SPDX-License-Identifier: Apache-2.0
 *
 * notify_place - see notify_place.h.
 */
#include "virtiofs/fuse/notify_place.h"

#include <stdbool.h>
#include <string.h>

static void clear_place(gpointer data)
{
    g_free(((struct notify_place *)data)->name);
}

static void free_place(gpointer place)
{
    clear_place(place);
    g_free(place);
}

static guint hash_place(gconstpointer key)
{
    const struct notify_place *place = key;
    uint64_t ids = place->dir * 31 + place->inode;

    return g_int64_hash(&ids) ^ (place->name ? g_str_hash(place->name) : 0);
}

static gboolean equal_places(gconstpointer a, gconstpointer b)
{
    const struct notify_place *x = a, *y = b;

    return x->dir == y->dir && x->inode == y->inode &&
           g_strcmp0(x->name, y->name) == 0;
}

GArray *notify_place_array(void)
{
    GArray *places = g_array_new(FALSE, FALSE, sizeof(struct notify_place));

    g_array_set_clear_func(places, clear_place);
    return places;
}

GHashTable *notify_place_set(void)
{
    return g_hash_table_new_full(hash_place, equal_places, free_place, NULL);
}

gint notify_place_compare(gconstpointer a, gconstpointer b)
{
    const struct notify_place *x = a, *y = b;

    return x->dir < y->dir ? -1 : x->dir > y->dir;
}

json_t *notify_place_pack(const struct notify_place *place)
{
    bool is_text = place->name && g_utf8_validate(place->name, -1, NULL);
    g_autofree char *base64 = NULL;

    if (!place->name)
        return json_pack("[I]", (json_int_t)place->inode);
    if (!is_text)
        base64 = g_base64_encode((const guchar *)place->name,
                                 strlen(place->name));
    return json_pack("[I, s, b, I]", (json_int_t)place->dir,
                     is_text ? place->name : base64, (int)!is_text,
                     (json_int_t)place->inode);
}
