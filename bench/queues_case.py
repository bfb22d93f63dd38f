# SPDX-License-Identifier: Apache-2.0
"""Compares two request queues of a guest with one (bench/queues.c).

One guest CPU per queue waits for each reply; numbers are the time per operation of
all CPUs together."""

import os
import subprocess

from measure import Result

OPERATIONS = ["lookup", "getattr", "read4k", "write4k"]


def measure(settings):
    """Return numbers by operation, for one queue and for two."""
    program = os.path.join(settings.build, "bench", "queues")
    done = subprocess.run([program, "0.05" if settings.quick else "2"],
                          check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True,
                          cwd=settings.build)
    found = {1: {}, 2: {}}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] in OPERATIONS:
            found[int(words[1])][words[0]] = float(words[2]) / 1e6
    return found


def case_queues(settings):
    result = Result("queues", "the time for one operation of a guest with one "
                    "thread per queue: " + ", ".join(OPERATIONS))
    for _ in range(settings.rounds):
        found = measure(settings)
        result.row("one queue").add(found[1])
        result.row("two queues").add(found[2])
    for operation in OPERATIONS:
        result.ratio("two queues", operation, "one queue", most=1.0)
    return result
