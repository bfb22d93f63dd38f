#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds of guest images at the same time, and what killed ones leave. With
programs in place of apt and the like: no build gets further than its start."""
import os
import signal
import stat
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (SRCDIR, contains, equal, eventually,  # noqa: E402
                          main, test)

# A build waits in here until there is a file "go".
APT_GET = """#!/bin/sh
echo >> "{0}/started"
until [ -e "{0}/go" ]; do sleep 0.05; done
exit 1
"""


class Builds:
    def __init__(self, place):
        self.root = place.root
        self.cache = place.root + "/own/stepback/guest"
        os.makedirs(self.cache)
        os.mkdir(place.root + "/bin")
        self.program("apt-get", APT_GET.format(place.root))
        for name in ("apt-config", "dpkg-deb", "cpio", "depmod", "xz", "zstd"):
            self.program(name, "#!/bin/sh\n")
        self.program("shim", "#!/bin/sh\necho stepback-shim 1\n")

    def program(self, name, text):
        with open("%s/bin/%s" % (self.root, name), "w") as file:
            file.write(text)
        os.chmod(file.name, 0o755)

    def start(self):
        return subprocess.Popen(
            [os.path.join(os.path.abspath(SRCDIR), "contrib/guest/build"),
             "--shim", self.root + "/bin/shim"],
            env={"PATH": self.root + "/bin:/usr/bin:/bin",
                 "XDG_CACHE_HOME": self.root + "/own", "LC_ALL": "C"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True)

    def started(self, count):
        path = self.root + "/started"
        return eventually(lambda: os.path.exists(path) and
                          os.path.getsize(path) == count, 20)

    def left(self):
        return sorted(name for name in os.listdir(self.cache)
                      if name not in ("apt", ".build.lock"))


@test
def one_build_at_a_time(place):
    """a second build says which process it waits for, and removes what the
    first has left if it is killed; an image that was set aside comes back"""
    builds = Builds(place)
    for name in ("minimal.building-AAAAAA", "debian.building-BBBBBB",
                 "minimal.old", "mine"):
        os.makedirs(builds.cache + "/" + name + "/result")
    lock = builds.cache + "/.build.lock"
    open(lock, "w").close()
    os.chmod(lock, 0o644)
    first = builds.start()
    assert builds.started(1), first.communicate()
    # Another user who could read it could lock it.
    equal(stat.S_IMODE(os.stat(lock).st_mode), 0o600)
    own, *rest = [name for name in builds.left() if ".building-" in name]
    equal((rest, own in ("minimal.building-AAAAAA", "debian.building-BBBBBB")),
          ([], False))
    equal(builds.left(), sorted([own, "mine", "minimal"]))
    second = builds.start()
    line = second.stdout.readline()
    contains(line, "waiting for another build: process %d builds %s/minimal\n" %
             (first.pid, builds.cache))
    equal((own in builds.left(), len(builds.left())), (True, 3))
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert builds.started(2), second.communicate()
    equal((own in builds.left(), len(builds.left())), (False, 3))
    open(builds.root + "/go", "w").close()
    out, _ = second.communicate(timeout=60)
    equal((second.returncode, builds.left()), (1, ["mine", "minimal"]))


main()
