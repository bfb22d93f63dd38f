#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cp: files between the host and a running sandbox, over the real shim without
a machine."""
import os
import subprocess
import sys
import tarfile
import io

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (PROGRAM, contains, equal, main,  # noqa: E402
                          snapshot, test)


class Box:
    def __init__(self, place):
        place.mounting()
        self.env = place.environment(HOME=place.root)
        self.place = place
        self.run("up", "--accel=tcg")

    def run(self, *words, **more):
        return subprocess.run([PROGRAM, *words], env=self.env,
                              cwd=self.place.share, capture_output=True,
                              timeout=120, **more)

    def cp(self, *words, **more):
        done = self.run("cp", *words, **more)
        return done.returncode, done.stderr.decode(), done.stdout


@test
def trees_go_both_ways(place):
    """cp copies trees in and out, and streams, as docker cp does"""
    box = Box(place)
    tree, there = place.root + "/tree", place.root + "/guest"
    os.makedirs(tree + "/dir")
    os.mkdir(there)
    with open(tree + "/f", "w") as file:
        file.write("x" * 3000000)
    os.link(tree + "/f", tree + "/dir/hard")
    os.symlink("f", tree + "/link")
    try:
        equal(box.cp("-a", tree, "share:" + there), (0, "", b""))
        equal(snapshot(there + "/tree"), snapshot(tree))
        equal(box.cp("-a", "share:%s/tree/." % there, place.root + "/back"),
              (0, "", b""))
        equal(snapshot(place.root + "/back"), snapshot(tree))
        code, text, data = box.cp("share:%s/tree" % there, "-")
        equal((code, text), (0, ""))
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            equal(len(tar.getmembers()), 5)
        os.mkdir(there + "/streamed")
        equal(box.cp("-", "share:%s/streamed" % there, input=data),
              (0, "", b""))
        equal(snapshot(there + "/streamed/tree"), snapshot(tree))
        os.mkdir(place.root + "/followed")
        equal(box.cp("-L", "share:%s/tree/link" % there,
                     place.root + "/followed")[0], 0)
        assert not os.path.islink(place.root + "/followed/link")
    finally:
        box.run("kill", "share")


@test
def errors_name_the_cause(place):
    """cp says what is wrong, on either side, and leaves no half file"""
    box = Box(place)
    path = place.root + "/there"
    try:
        for words, code, says in (
                (("share:/no/such", place.root), 1, "/no/such: No such file"),
                (("/no/such", "share:" + place.root), 1,
                 "/no/such: No such file"),
                (("share:/etc/passwd", "/no/such/x"), 1, "/no/such"),
                ((place.share, "share:/no/such/x"), 1, "/no/such"),
                ((place.share, "share:/mnt/working"), 1, "shared folder"),
                (("a", "b"), 2, "NAME:PATH"),
                (("nobody:/a", "b"), 1, "nobody"),
                (("share:/a",), 2, "a source and a target")):
            done = box.cp(*words)
            equal((words, done[0]), (words, code))
            contains(done[1], says)
        os.mkdir(path)
        done = box.cp("-", "share:" + path, input=b"garbage" * 100000)
        equal(done[0], 1)
        contains(done[1], "tar stream")
        equal(os.listdir(path), [])
    finally:
        box.run("kill", "share")


main(mounts=True)
