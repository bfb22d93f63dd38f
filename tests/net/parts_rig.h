/* SPDX-License-Identifier: Apache-2.0
 *
 * parts_rig - builds fragments, and adds them to a table.
 */
#ifndef TESTS_PARTS_RIG_H
#define TESTS_PARTS_RIG_H

#include <glib.h>

#include "net/part_table.h"

enum { PARTS_RIG_BUFFER = FRAME_WHOLE_MAX + 8 };

struct part {
    bool v6;
    unsigned protocol;
    uint32_t id;
    size_t offset, length;
    bool more;
    int fill; /* each byte; 0: ports of UDP, 1024 to 53, and a pattern */
    unsigned guest;
};

extern struct part_table *parts_rig_table;
extern int64_t parts_rig_now;

/* Empty the table. */
void parts_rig_begin(void);

/* Write the frame of a part to data, PARTS_RIG_BUFFER bytes; total: of the
 * whole packet's payload. Return the frame's length. */
size_t parts_rig_build(const struct part *part, size_t total, uint8_t *data);

/* Add a part, of UDP by default. */
enum part_verdict parts_rig_add_of(struct part part, size_t total,
                                   struct frame *ret_whole);
enum part_verdict parts_rig_add(struct part part);

/* Check that a packet has the bytes of its parts. */
void parts_rig_check_whole(const struct frame *whole, bool v6, size_t total);

#endif
