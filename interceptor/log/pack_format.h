/* SPDX-License-Identifier: Apache-2.0
 *
 * pack_format - a pack's layout on disk; see pack.h.
 */
#ifndef INTERCEPTOR_LOG_PACK_FORMAT_H
#define INTERCEPTOR_LOG_PACK_FORMAT_H

#include <stdint.h>

#define PACK_MAGIC "sbpack1\n"

enum { PACK_MAGIC_SIZE = 8 };

/* Window of the compressed form; a reader allocates as much (2 MiB). */
enum { PACK_WINDOW_LOG = 21 };

enum pack_kind { PACK_DATA = 1, PACK_HOLE = 2, PACK_END = 3 };

struct pack_header {
    uint32_t sum;
    uint32_t kind;
    uint64_t number, offset, length;
    uint32_t data_sum;
    uint32_t zero;
};
_Static_assert(sizeof(struct pack_header) == 40, "as it is on disk");

/* The bytes that sum covers. */
#define PACK_SUMMED(header) ((const char *)(header) + 4)
enum { PACK_SUMMED_SIZE = 36 };

#endif
