/* SPDX-License-Identifier: Apache-2.0
 *
 * tree-snapshot - print a tree as the oracle sees it.
 *
 *     tree-snapshot DIR >before; ...; tree-snapshot DIR | diff before -
 */
#include <stdio.h>

#include "tests/lib/oracle.h"

int main(int argc, char **argv)
{
    g_autofree char *trouble = NULL;
    GPtrArray *lines;

    if (argc != 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: tree-snapshot DIR\n");
        return 2;
    }
    lines = oracle_snapshot(argv[1], &trouble);
    if (!lines) {
        fprintf(stderr, "tree-snapshot: %s", trouble);
        return 1;
    }
    for (guint i = 0; i < lines->len; i++)
        puts(g_ptr_array_index(lines, i));
    g_ptr_array_unref(lines);
    return 0;
}
