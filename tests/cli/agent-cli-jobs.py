#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""job kill of an execution whose end does not come. Over a fake QEMU."""
import glob
import json
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from sandbox_case import (Client, call, good,  # noqa: E402
                          sandbox_test, up)
from stdio_client import PROGRAM, contains, equal, eventually, main  # noqa: E402


def question(place):
    """The safeguard that is asked for: wait for it."""
    found = []

    def look():
        found[:] = json.loads(good(place, "approve", "--json"))
        return found
    assert eventually(look, 20)
    return found[0]["id"]


@sandbox_test
def kill_beside_a_question(place):
    """job kill names the safeguard that holds the machine, and the command that
    answers it; a job ends after the answer"""
    place.mounting()
    for number in range(8):
        open("%s/f%d" % (place.share, number), "w").close()
    up(place, STEPBACK_FAKE_QEMU="shim")
    client = Client(place, "share")
    equal(client.ask("safeguard.configure", delete_threshold=3,
                     timeout_seconds=600)["status"], "ok")
    good(place, "exec", "-d", "--step=none", "--", "sleep", "1000")
    good(place, "exec", "-d", "--", "sh", "-c", "rm f*")
    asked = question(place)
    equal(call(place, "job", "kill", "1"),
          (1, "", "stepback: execution 1: ends after the decision on %s, for which "
           "the machine of sandbox share is paused; decide it with: stepback "
           "approve share %s\n" % (asked, asked)))
    equal([job["state"] for job in json.loads(good(place, "jobs", "--json"))],
          ["running"] * 2)
    good(place, "approve", "share", asked, "--deny")
    good(place, "job", "kill", "1")
    # A question of the job itself ends with it.
    good(place, "exec", "-d", "--", "sh", "-c", "rm f*; sleep 1000")
    question(place)
    good(place, "job", "kill", "3")
    equal(len(os.listdir(place.share)), 8)


@sandbox_test
def kill_of_a_lost_machine(place):
    """job kill fails if the machine is lost before the execution has ended"""
    place.mounting()
    up(place, STEPBACK_FAKE_QEMU="shim")
    # It stops the shim, which gets to send no SIGKILL then.
    good(place, "exec", "-d", "--step=none", "--", "sh", "-c",
         "trap 'kill -STOP $PPID; touch stopped' TERM; touch ready; "
         "while :; do sleep 0.1; done")
    assert eventually(lambda: os.path.exists(place.share + "/ready"), 20)
    machine, = glob.glob(place.root + "/guest-*.root")
    with subprocess.Popen([PROGRAM, "job", "kill", "1"], cwd=place.share,
                          env=place.environment(), stderr=subprocess.PIPE,
                          text=True) as killer:
        assert eventually(lambda: os.path.exists(place.share + "/stopped"), 20)
        os.kill(int(re.search(r"guest-(\d+)", machine)[1]), signal.SIGKILL)
        err = killer.communicate(timeout=60)[1]
    equal(killer.returncode, 1)
    contains(err, "stepback: execution 1: sandbox share was lost before the "
             "execution had ended; start the sandbox again with 'stepback up "
             "share'\n  The cause: ")


main(mounts=True)
