/* SPDX-License-Identifier: Apache-2.0
 *
 * spans - see spans.h.
 */
#include "interceptor/log/spans.h"

struct span {
    off_t offset, length;
};

void spans_add(GArray **spans, off_t offset, off_t length)
{
    const struct span span = { offset, length };

    if (!*spans)
        *spans = g_array_new(FALSE, FALSE, sizeof(struct span));
    g_array_append_val(*spans, span);
}

static int compare_spans(gconstpointer a, gconstpointer b)
{
    const struct span *x = a, *y = b;

    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

bool spans_cover(GArray *spans, off_t size)
{
    off_t end = 0;

    if (spans)
        g_array_sort(spans, compare_spans);
    for (guint i = 0; spans && i < spans->len; i++) {
        const struct span *span = &g_array_index(spans, struct span, i);

        if (span->offset > end)
            return false;
        end = MAX(end, span->offset + span->length);
    }
    return end >= size;
}
