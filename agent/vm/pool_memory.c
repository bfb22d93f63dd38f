/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_memory - see pool_memory.h.
 *
 * A host is short of memory when processes wait for it (pressure stall
 * information, in kernels that have it), or when less than a tenth is
 * available.
 */
#include "agent/vm/pool_memory.h"

#include <string.h>

enum { WAITING_PERCENT = 10 /* of the last 10 s */, AVAILABLE_PART = 10 };

static char *read_text(const char *name)
{
    const char *proc = g_getenv("STEPBACK_TEST_PROC");
    g_autofree char *path = g_build_filename(proc ? proc : "/proc", name, NULL);
    char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

/* Return the number after a word in text, or -1. */
static double number_after(const char *text, const char *word)
{
    const char *at = text ? strstr(text, word) : NULL;

    return at ? g_ascii_strtod(at + strlen(word), NULL) : -1;
}

const char *pool_memory_problem(unsigned more_mb)
{
    g_autofree char *meminfo = read_text("meminfo");
    g_autofree char *pressure = read_text("pressure/memory");
    double total = number_after(meminfo, "MemTotal:");
    double available = number_after(meminfo, "MemAvailable:");

    if (number_after(pressure, "some avg10=") >= WAITING_PERCENT)
        return "programs of the host wait for memory";
    if (total > 0 && available >= 0 &&
        available - more_mb * 1024.0 < total / AVAILABLE_PART)
        return more_mb > 0 ? "the host has too little memory for another"
                           : "the host has little memory left";
    return NULL;
}

guint64 pool_memory_of(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/smaps_rollup", (int)pid);
    g_autofree char *text = NULL;
    double kib;

    if (!g_file_get_contents(path, &text, NULL, NULL))
        return 0;
    kib = number_after(text, "\nPss:");
    return kib > 0 ? (guint64)kib * 1024 : 0;
}
