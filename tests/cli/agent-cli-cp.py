#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cp: files between the host and a running sandbox, over the real shim without
a machine."""
import fcntl
import io
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (PROGRAM, Skip, contains, equal,  # noqa: E402
                          eventually, main, snapshot, test)


class Box:
    def __init__(self, place):
        place.mounting()
        self.env = place.environment(HOME=place.root, STEPBACK_FAKE_QEMU="shim")
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
    path, file = place.root + "/there", place.root + "/file"
    open(file, "w").close()
    try:
        for words, code, says in (
                (("share:/no/such", place.root), 1, "share:/no/such: No such file or "
                 "directory; a path there begins at the root directory; 'stepback exec "
                 "share -- ls -a /' lists it"),
                (("/no/such", "share:" + place.root), 1,
                 "/no/such: No such file"),
                (("share:/etc/passwd", "/no/such/x"), 1,
                 "/no/such: No such file or directory; make it with: mkdir -p /no/such\n"),
                (("share:/etc/passwd", "/no/it's/"), 1,
                 "; make it with: mkdir -p '/no/it'\\''s/'\n"),
                ((place.share, "share:/no/such/x"), 1, "share:/no/such: No such file or "
                 "directory; make it with: stepback exec share -- mkdir -p /no/such\n"),
                (("share:/etc", file), 1, "; copy to another name, or remove the file"),
                (("-r", "share:/a", "b"), 2, "-r: unknown option; leave it out"),
                ((".", "share:"), 2, "share:: no path after ':'; write one, such as "),
                ((place.share, "share:/mnt/working"), 1, "shared folder"),
                (("a", "b"), 2, "NAME:PATH, a path in a sandbox; 'stepback ps' lists"),
                (("nobody:/a", "b"), 1, "nobody"),
                (("share:/a",), 2, "one of them as NAME:PATH; for example: ")):
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


@test
def special_files_stay(place):
    """cp never puts a file in the place of a device, a FIFO or a socket, whose
    name a user may have given by mistake (cp box:/log /dev/null)"""
    box = Box(place)
    there, tree = place.root + "/there", place.root + "/tree"
    os.mkdir(there)
    os.mkdir(tree)
    os.mkfifo(there + "/fifo")
    os.mknod(there + "/null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(there + "/socket")
    names = sorted(os.listdir(there))
    before = [os.lstat(there + "/" + name) for name in names]
    for name in names:
        with open(tree + "/" + name, "w") as file:
            file.write("content")
    try:
        for name in names:
            for words in ((tree + "/" + name, "share:" + there + "/" + name),
                          ("share:" + tree + "/" + name, there + "/" + name),
                          ("share:" + tree + "/" + name, there),
                          ("share:" + tree + "/.", there)):
                done = box.cp(*words)
                equal((words, done[0]), (words, 1))
                contains(done[1], "a device, a FIFO or a socket is there")
        equal([(st.st_ino, st.st_mode) for st in before],
              [(st.st_ino, st.st_mode) for st in
               (os.lstat(there + "/" + name) for name in names)])
        equal(sorted(os.listdir(there)), names)
        # A FIFO of the tree takes the place of the one from the last copy.
        os.mkdir(tree + "/again")
        os.mkfifo(tree + "/again/fifo")
        for _ in range(2):
            equal(box.cp("share:" + tree + "/again", there)[:2], (0, ""))
    finally:
        box.run("kill", "share")


@test
def links_of_a_guest_lead_nowhere(place):
    """a symbolic link in a shared folder, which a guest can make where the user
    expects a directory, leads no copy out of the folder; one within it does"""
    box = Box(place)
    victim, got = place.root + "/victim", place.root + "/got"
    for folder in (victim, got, place.share + "/real"):
        os.mkdir(folder)
    for path in (victim + "/id", place.share + "/real/file", place.root + "/new"):
        with open(path, "w") as file:
            file.write(path)
    os.symlink(victim, place.share + "/build")
    os.symlink(victim + "/id", place.share + "/key")
    os.symlink("real", place.share + "/inside")
    before = snapshot(victim)
    new = "share:" + place.root + "/new"
    try:
        for words in ((new, "build"), (new, "build/"), (new, "build/id"), (new, "key"),
                      ("share:" + place.share + "/real/.", "build"),
                      ("build/", "share:" + got), ("build/.", "share:" + got),
                      ("build/id", "share:" + got), ("-L", "key", "share:" + got),
                      (new, place.share + "/inside/../build")):
            done = box.cp(*words)
            equal((words, done[0]), (words, 1))
            contains(done[1], "leads out of %s" % place.share)
        equal((snapshot(victim), os.listdir(got)), (before, []))
        for words in ((new, "inside"), ("inside/", "share:" + got),
                      ("inside", "share:" + got + "/link"), ("real/file", new),
                      ("-L", "inside/file", "share:" + got + "/followed"),
                      (new, "inside/other")):
            equal((words, box.cp(*words)[:2]), (words, (0, "")))
        equal(sorted(os.listdir(got)), ["followed", "inside", "link"])
        equal((os.readlink(got + "/link"), sorted(os.listdir(got + "/inside"))),
              ("real", ["file", "new"]))
        equal((sorted(os.listdir(place.share + "/real")), snapshot(victim)),
              (["file", "new", "other"], before))
    finally:
        box.run("kill", "share")


def processes(place, name):
    """The pids of the place with this name."""
    found = []
    for pid in place.processes():
        try:
            with open("/proc/%d/comm" % pid) as file:
                if file.read() == name + "\n":
                    found.append(pid)
        except OSError:
            pass
    return found


def temporary(path):
    return sorted(name for name in os.listdir(path)
                  if name.startswith(".stepback-cp-"))


def big_file(path):
    with open(path, "wb") as file:
        for _ in range(64):
            file.write(os.urandom(1 << 20))


@test
def killed_in_the_guest(place):
    """after a kill of the guest's processes for copies the copy that runs says
    so, and the next one works, with not a byte of the torn stream"""
    box = Box(place)
    big = place.root + "/big"
    big_file(big)
    try:
        for name in ("stepback-bulk", "stepback-cp", "stepback-bulk"):
            for words in (("share:" + big, "-"), (big, "share:%s.in" % big)):
                client = subprocess.Popen(
                    [PROGRAM, "cp", *words], env=box.env, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                if words[1] == "-":
                    client.stdout.read(3 << 20)
                assert eventually(lambda: processes(place, name), 20)
                for pid in processes(place, name):
                    os.kill(pid, signal.SIGKILL)
                error = client.communicate(timeout=60)[1].decode()
                # A copy in may have been complete before the kill.
                equal((words, client.returncode or not error), (words, 1))
                contains(error or "guest's", "guest's")
            assert eventually(lambda: not processes(place, "stepback-cp"), 20)
            equal(box.cp("share:" + big, place.root + "/out"), (0, "", b""))
            equal(box.cp(big, "share:%s/in" % place.root), (0, "", b""))
            for copy in ("/out", "/in"):
                subprocess.run(["cmp", big, place.root + copy], check=True)
        equal(temporary(place.root), [])
    finally:
        box.run("kill", "share")


@test
def a_killed_copy_leaves_nothing(place):
    """a cp that is killed leaves no temporary file on either side"""
    box = Box(place)
    there, here = place.root + "/there", place.root + "/here"
    for path in (there, here):
        os.mkdir(path)
    big_file(place.root + "/big")

    def writes_to(pid, path):
        """Has this process a file open below the path?"""
        try:
            return any(os.readlink("/proc/%d/fd/%s" % (pid, fd))
                       .startswith(path + "/")
                       for fd in os.listdir("/proc/%d/fd" % pid))
        except OSError:
            return False

    try:
        client = subprocess.Popen([PROGRAM, "cp", "share:%s/big" % place.root,
                                   here], env=box.env)
        assert eventually(lambda: writes_to(client.pid, here), 20)
        client.kill()
        client.wait()
        stream = subprocess.Popen([PROGRAM, "cp", "-", "share:" + there],
                                  env=box.env, stdin=subprocess.PIPE)
        member = tarfile.TarInfo("half")
        member.size = 64 << 20
        stream.stdin.write(member.tobuf() + b"x" * (2 << 20))
        stream.stdin.flush()
        assert eventually(lambda: any(writes_to(pid, there) for pid in
                                      processes(place, "stepback-cp")), 20)
        stream.kill()
        stream.communicate()
        assert eventually(lambda: not processes(place, "stepback-cp"), 20)
        equal((os.listdir(here), os.listdir(there)), ([], []))
    finally:
        box.run("kill", "share")


@test
def stale_files(place):
    """a copy removes temporary files of copies that were killed, but not those
    of one that runs"""
    box = Box(place)
    source, target = place.root + "/tree", place.root + "/target"
    stale = ".stepback-cp-0123456789abcdef"
    os.makedirs(source + "/sub")
    with open(source + "/sub/f", "w") as file:
        file.write("new")

    def fill():
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target + "/tree/sub")
        open(target + "/" + stale, "w").close()
        os.symlink("nowhere", target + "/tree/sub/" + stale)
        open(target + "/.stepback-cp-mine", "w").close()

    try:
        for words in ((source, "share:" + target), ("share:" + source, target)):
            fill()
            fd = os.open(target, os.O_RDONLY)
            fcntl.flock(fd, fcntl.LOCK_SH)
            equal(box.cp(*words), (0, "", b""))
            equal(temporary(target), [stale, ".stepback-cp-mine"])
            equal(temporary(target + "/tree/sub"), [])
            os.close(fd)
            equal(box.cp(*words), (0, "", b""))
            equal(temporary(target), [".stepback-cp-mine"])
            with open(target + "/tree/sub/f") as file:
                equal(file.read(), "new")
    finally:
        box.run("kill", "share")


@test
def errors_name_the_file(place):
    """an error in the middle of a tree names the file, and the sandbox if the
    file is there; what cannot be copied is no success"""
    if os.getuid():
        raise Skip("not root")
    box = Box(place)
    root, small = place.root, place.root + "/small"
    os.makedirs(root + "/tree/sub")
    with open(root + "/tree/sub/big", "wb") as file:
        file.write(os.urandom(4 << 20))
    os.mknod(root + "/null", 0o20666, os.makedev(1, 3))
    os.mkdir(small)
    full = "%s/tree/sub/big: No space left on device" % small
    try:
        for words, says in (
                (("share:%s/tree" % root, small), " " + full),
                ((root + "/tree", "share:" + small), "share:" + full)):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs",
                            small], check=True)
            code, error, _ = box.cp(*words)
            subprocess.run(["umount", small], check=True)
            equal(code, 1)
            contains(error, says)
        code, error, _ = box.cp("share:%s/null" % root, root + "/out")
        equal((code, os.path.exists(root + "/out")), (1, False))
        contains(error, "%s/null: a device node" % root)
        # It ends before the client can connect.
        for _ in range(10):
            code, error, _ = box.cp("share:/sys/bus/pci/rescan", root + "/out")
            equal(code, 1)
            contains(error, "share:/sys/bus/pci/rescan: ")
    finally:
        box.run("kill", "share")


main(mounts=True)
