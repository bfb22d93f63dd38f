/* SPDX-License-Identifier: Apache-2.0
 *
 * name_table - the addresses that stand for names in the guest.
 *
 * Each name has one address of 198.18.0.0/15 (RFC 2544: benchmarks, not used
 * on the Internet), which it keeps as long as the table. So a connection's
 * target tells the name that the guest asked for, before its first byte. None
 * ends in 0 or 255, which some programs take for a network or broadcast.
 */
#ifndef NET_NAME_TABLE_H
#define NET_NAME_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/network_address.h"

/* As many names as a guest can ask for; about 5 MiB if all are long. */
enum { NAME_TABLE_MAX = 16384 };

struct name_table;

struct name_table *name_table_new(void);
void name_table_free(struct name_table *table);

/* Store the address of a normalized name (network_name.h), which is added if it
 * is new. Return false if the table is full. */
bool name_table_add(struct name_table *table, const char *name,
                    uint8_t ret_address[4]);

/* Return the name of an address, borrowed until the table is freed; NULL if it
 * has none. */
const char *name_table_find(const struct name_table *table,
                            const struct network_address *address);

/* Return whether the address is in 198.18.0.0/15, with or without a name. */
bool name_table_covers(const struct network_address *address);

#endif
