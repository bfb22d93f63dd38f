/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_owners - see lock_owners.h.
 */
#include "p9/server/lock_owners.h"

#include <errno.h>
#include <string.h>

enum { MAX_CLIENTS = 16 };

void p9_lock_owners_init(struct p9_lock_owners *owners, uint32_t conn)
{
    pthread_mutex_init(&owners->lock, NULL);
    owners->conn = conn;
    owners->clients = g_ptr_array_new_with_free_func(g_free);
}

void p9_lock_owners_clear(struct p9_lock_owners *owners)
{
    g_ptr_array_unref(owners->clients);
    pthread_mutex_destroy(&owners->lock);
}

void p9_lock_owners_forget(struct p9_lock_owners *owners)
{
    pthread_mutex_lock(&owners->lock);
    g_ptr_array_set_size(owners->clients, 0);
    pthread_mutex_unlock(&owners->lock);
}

static int client_index(struct p9_lock_owners *owners,
                        const struct p9_string *client)
{
    guint n = owners->clients->len;

    for (guint i = 0; i < n; i++) {
        const char *known = g_ptr_array_index(owners->clients, i);

        if (strlen(known) == client->len &&
            memcmp(known, client->at, client->len) == 0)
            return (int)i;
    }
    if (n >= MAX_CLIENTS)
        return -ENOLCK;
    g_ptr_array_add(owners->clients, g_strndup(client->at, client->len));
    return (int)n;
}

int p9_lock_owners_find(struct p9_lock_owners *owners,
                        const struct p9_string *client, uint32_t process,
                        uint64_t *ret_owner)
{
    int index = -EINVAL;

    if (client->len <= 1024 && !memchr(client->at, '\0', client->len)) {
        pthread_mutex_lock(&owners->lock);
        index = client_index(owners, client);
        pthread_mutex_unlock(&owners->lock);
    }
    if (index < 0)
        return index;
    *ret_owner = (uint64_t)owners->conn << 36 | (uint64_t)index << 32 | process;
    return 0;
}
