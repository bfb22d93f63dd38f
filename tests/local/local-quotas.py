#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits of a local sandbox that need no cgroup."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import need, run  # noqa: E402
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import equal, main  # noqa: E402

PROCESSES = """
import os, time
pipe = os.pipe()
started = 1
for id in (0, 1, 2):
    if os.fork() == 0:
        if id:
            os.setresuid(id, id, id)
        count = 0
        try:
            while count < 60:
                if os.fork() == 0:
                    os.close(pipe[1])
                    time.sleep(1000)
                count += 1
        except BlockingIOError:
            pass
        os.write(pipe[1], b"%d\\n" % (count + 1))
        time.sleep(1000)
text = b""
while text.count(b"\\n") < 3:
    text += os.read(pipe[0], 100)
print(sum(map(int, text.split())))
"""


def output(place, program, options=("--no-network",), **more):
    need()
    status, out, err = run(place, "python3", "-c", program, options=options, **more)
    equal((status, err if status else ""), (0, ""))
    return out


@sandbox_test
def users_share_the_number_of_processes(place):
    """all users of root's sandbox share one limit of processes"""
    words = ("prlimit", "--nproc=40:40")
    assert int(output(place, PROCESSES, wrapper=words)) < 40


if __name__ == "__main__":
    main()
