/* SPDX-License-Identifier: Apache-2.0
 *
 * spans - ranges of a file, and whether they cover it.
 */
#ifndef INTERCEPTOR_LOG_SPANS_H
#define INTERCEPTOR_LOG_SPANS_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* Add a range, in bytes. *spans: NULL at first; free with g_array_unref(). */
void spans_add(GArray **spans, off_t offset, off_t length);

/* Return whether the ranges (NULL: none) cover a file of this size. Sorts them.
 */
bool spans_cover(GArray *spans, off_t size);

#endif
