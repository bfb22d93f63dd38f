/* SPDX-License-Identifier: Apache-2.0
 *
 * bench-engine - one benchmark of the undo engine; see bench/run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

static const char usage[] =
    "usage: bench-engine tree DIR FILES BYTES PER-DIR\n"
    "       bench-engine paths KIND FILES SHARE [UNDO-DIR]\n"
    "       bench-engine remove|rename SHARE [UNDO-DIR]\n"
    "       bench-engine content BYTES SHARE [UNDO-DIR]\n"
    "       bench-engine rewrite WRITES ROUNDS SHARE UNDO-DIR\n"
    "       bench-engine first-write BYTES ROUNDS SHARE [UNDO-DIR]\n"
    "KIND is remove, write, chmod or create.\n";

static uint64_t number(const char *text)
{
    guint64 value;

    if (g_ascii_string_to_unsigned(text, 10, 0, (guint64)1 << 40, &value, NULL))
        return value;
    fprintf(stderr, "bench-engine: '%s' is not a number\n", text);
    exit(2);
}

static unsigned count(const char *text)
{
    return (unsigned)MIN(number(text), 100000000);
}

/* argv starts at the benchmark's own arguments; an omitted last one is NULL. */
static void do_tree(char **argv)
{
    bench_make_tree(argv[0], count(argv[1]), number(argv[2]),
                    MAX(count(argv[3]), 1));
}

static void do_paths(char **argv)
{
    bench_paths(argv[0], count(argv[1]), argv[2], argv[3]);
}

static void do_remove(char **argv)
{
    bench_remove(argv[0], argv[1]);
}

static void do_rename(char **argv)
{
    bench_rename(argv[0], argv[1]);
}

static void do_content(char **argv)
{
    bench_content(number(argv[0]), argv[1], argv[2]);
}

static void do_rewrite(char **argv)
{
    bench_rewrite(count(argv[0]), count(argv[1]), argv[2], argv[3]);
}

static void do_first_write(char **argv)
{
    bench_first_write(number(argv[0]), count(argv[1]), argv[2], argv[3]);
}

static const struct {
    const char *name;
    int least, most; /* number of arguments */
    void (*run)(char **argv);
} measurements[] = {
    { "tree", 4, 4, do_tree },
    { "paths", 3, 4, do_paths },
    { "remove", 1, 2, do_remove },
    { "rename", 1, 2, do_rename },
    { "content", 2, 3, do_content },
    { "rewrite", 4, 4, do_rewrite },
    { "first-write", 3, 4, do_first_write },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < G_N_ELEMENTS(measurements); i++) {
        if (strcmp(argv[1], measurements[i].name) != 0)
            continue;
        if (argc - 2 < measurements[i].least || argc - 2 > measurements[i].most)
            break;
        measurements[i].run(argv + 2);
        return 0;
    }
    fputs(usage, stderr);
    return 2;
}
