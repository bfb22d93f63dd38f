/* SPDX-License-Identifier: Apache-2.0
 *
 * oom_count - see oom_count.h.
 */
#include "shim/oom_count.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t oom_count(void)
{
    FILE *file = fopen("/proc/vmstat", "re");
    uint64_t count = 0;
    char line[128];

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "oom_kill %" SCNu64, &count) == 1)
            break;
    }
    if (file)
        fclose(file);
    return count;
}
