/* SPDX-License-Identifier: Apache-2.0
 *
 * name_table - see name_table.h.
 */
#include "net/name_table.h"

#include <glib.h>

enum { NET_0 = 198, NET_1 = 18, LAST_BYTES = 254 };

struct name_table {
    GHashTable *numbers; /* name (borrowed from names): its index */
    GPtrArray *names;
};

struct name_table *name_table_new(void)
{
    struct name_table *table = g_new0(struct name_table, 1);

    table->numbers = g_hash_table_new(g_str_hash, g_str_equal);
    table->names = g_ptr_array_new_with_free_func(g_free);
    return table;
}

void name_table_free(struct name_table *table)
{
    if (!table)
        return;
    g_hash_table_unref(table->numbers);
    g_ptr_array_unref(table->names);
    g_free(table);
}

bool name_table_add(struct name_table *table, const char *name,
                    uint8_t ret_address[4])
{
    gpointer value;
    unsigned number;

    if (g_hash_table_lookup_extended(table->numbers, name, NULL, &value)) {
        number = GPOINTER_TO_UINT(value);
    } else {
        char *copy;

        number = table->names->len;
        if (number == NAME_TABLE_MAX)
            return false;
        copy = g_strdup(name);
        g_ptr_array_add(table->names, copy);
        g_hash_table_insert(table->numbers, copy, GUINT_TO_POINTER(number));
    }
    ret_address[0] = NET_0;
    ret_address[1] = NET_1;
    ret_address[2] = (uint8_t)(number / LAST_BYTES);
    ret_address[3] = (uint8_t)(number % LAST_BYTES + 1);
    return true;
}

const char *name_table_find(const struct name_table *table,
                            const struct network_address *address)
{
    const uint8_t *bytes = address->bytes;
    unsigned number;

    if (!name_table_covers(address) || bytes[1] != NET_1 || bytes[3] == 0 ||
        bytes[3] > LAST_BYTES)
        return NULL;
    number = bytes[2] * LAST_BYTES + bytes[3] - 1;
    return number < table->names->len ? g_ptr_array_index(table->names, number)
                                      : NULL;
}

bool name_table_covers(const struct network_address *address)
{
    return !address->v6 && address->bytes[0] == NET_0 &&
           (address->bytes[1] & ~1) == NET_1;
}
