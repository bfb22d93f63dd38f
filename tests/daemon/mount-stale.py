#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernel learns what undo, redo and other processes changed below a mount,
so that no write goes to a file that is not there any more."""
import contextlib
import errno
import json
import mmap
import os
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import Daemon  # noqa: E402
from stdio_client import equal, eventually, main, test  # noqa: E402

# Of undo and redo beside work; each takes a second of all processors.
ROUNDS = int(os.environ.get("STEPBACK_STALE_ROUNDS", "8"))
NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text, flags=NEW):
    fd = os.open(path, flags, 0o644)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def errno_of(call, *args):
    try:
        call(*args)
    except OSError as error:
        return error.errno
    return 0


@contextlib.contextmanager
def serving(place, setup="true", *options):
    subprocess.run(["sh", "-c", setup], cwd=place.share, check=True)
    with Daemon(place, *options) as daemon:
        daemon.share = place.share
        yield daemon


def undo(daemon):
    daemon.ask("rollback", steps=1)


def redo(daemon):
    daemon.ask("redo", steps=1)


@test
def write_after_undo(place):
    """a write to a name that undo removed makes the file anew"""
    for flags in (NEW, NEW | os.O_APPEND):
        with serving(place) as daemon:
            daemon.step(1, "echo old > f")
            undo(daemon)
            write(daemon.seen + "/f", "new", flags)
            equal(read(place.share + "/f"), "new")
            os.unlink(place.share + "/f")
        subprocess.run(["rm", "-rf", place.root + "/.stepback"], check=True)


@test
def no_file_after_undo(place):
    """a name that undo removed is missing unless it is created"""
    with serving(place) as daemon:
        daemon.step(1, "echo old > f; mkdir d; echo old > d/f")
        undo(daemon)
        for name in ("f", "d/f"):
            path = daemon.seen + "/" + name
            equal(errno_of(write, path, "new", os.O_WRONLY), errno.ENOENT)
        equal(errno_of(write, daemon.seen + "/d/g", "new"), errno.ENOENT)
        equal(errno_of(os.mkdir, daemon.seen + "/d/g"), errno.ENOENT)
        equal(os.listdir(place.share), [])


@test
def write_after_undone_rename(place):
    """a write to a name whose rename was undone leaves the old name alone"""
    with serving(place, "echo a > a; mkdir d; echo d > d/f") as daemon:
        daemon.step(1, "mv a b; mv d e; cat b e/f >&2 2>/dev/null")
        undo(daemon)
        write(daemon.seen + "/b", "new")
        for name in ("e/f", "e/g"):
            equal(errno_of(write, daemon.seen + "/" + name, "new"),
                  errno.ENOENT)
        equal([read(place.share + "/" + name) for name in ("a", "b", "d/f")],
              ["a\n", "new", "d\n"])


@test
def write_after_redo(place):
    """a write to a name that redo removed, or moved, makes the file anew"""
    with serving(place, "echo a > a; echo b > b") as daemon:
        daemon.step(1, "rm a; mv b c")
        undo(daemon)
        equal([read(daemon.seen + "/" + name) for name in "ab"], ["a\n", "b\n"])
        redo(daemon)
        for name in "ab":
            write(daemon.seen + "/" + name, "new")
        equal([read(place.share + "/" + name) for name in "abc"],
              ["new", "new", "b\n"])


@test
def open_file_of_undone_step(place):
    """a write to an open file that undo removed fails, and redo is exact"""
    with serving(place) as daemon:
        daemon.step(1, "echo old > f; mkdir d; echo old > d/f")
        fds = [os.open(daemon.seen + name, os.O_RDWR) for name in ("/f", "/d/f")]
        undo(daemon)
        for fd in fds:
            equal(errno_of(os.write, fd, b"late"), errno.ESTALE)
            equal(errno_of(os.ftruncate, fd, 0), errno.ESTALE)
            equal(errno_of(os.posix_fallocate, fd, 0, 9), errno.ESTALE)
            equal(os.pread(fd, 9, 0), b"old\n")
        redo(daemon)
        equal([read(place.share + name) for name in ("/f", "/d/f")],
              ["old\n", "old\n"])
        for fd in fds:  # it is there again
            equal(os.pwrite(fd, b"new", 0), 3)
            os.close(fd)
        equal([read(place.share + name) for name in ("/f", "/d/f")],
              ["new\n", "new\n"])


@test
def open_file_without_a_name(place):
    """a file that its own client removed can be written to, also after a redo"""
    with serving(place) as daemon:
        daemon.step(1, "echo old > f")
        undo(daemon)
        redo(daemon)
        fd = os.open(daemon.seen + "/f", os.O_RDWR)
        os.unlink(daemon.seen + "/f")
        equal(os.write(fd, b"new"), 3)
        again = os.open("/proc/self/fd/%d" % fd, os.O_WRONLY)
        equal(os.pwrite(again, b"x", 0), 1)
        equal(os.pread(fd, 9, 0), b"xew\n")
        os.close(again)
        os.close(fd)


@test
def folder_of_undone_step(place):
    """in a folder that undo removed nothing is made, and redo opens it again"""
    with serving(place) as daemon:
        daemon.step(1, "mkdir d; echo old > d/f")
        folder = os.open(daemon.seen + "/d", os.O_RDONLY | os.O_DIRECTORY)

        def make(name):
            os.close(os.open(name, NEW, 0o644, dir_fd=folder))

        undo(daemon)
        assert errno_of(make, "g") in (errno.ESTALE, errno.ENOENT)
        equal(os.listdir(place.share), [])
        redo(daemon)
        equal(os.listdir(daemon.seen + "/d"), ["f"])
        write(daemon.seen + "/d/g", "new")
        make("h")
        equal(sorted(os.listdir(place.share + "/d")), ["f", "g", "h"])
        os.close(folder)


@test
def working_folder_stays(place):
    """a folder that undo moved back is still the working folder of a shell"""
    with serving(place, "mkdir d; echo d > d/f") as daemon:
        daemon.step(1, "mv d e")
        shell = subprocess.Popen(
            ["sh", "-c", "read x; echo new > g; ls"], cwd=daemon.seen + "/e",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        undo(daemon)
        out, _ = shell.communicate("\n", timeout=20)
        equal(out.split(), ["f", "g"])
        equal(sorted(os.listdir(place.share + "/d")), ["f", "g"])


@test
def content_after_undo(place):
    """what a mapping and stat(2) show is the restored file at once"""
    with serving(place, "echo old > f") as daemon:
        daemon.step(1, "echo longer > f; chmod 600 f")
        fd = os.open(daemon.seen + "/f", os.O_RDWR)
        view = mmap.mmap(fd, 4)
        equal(view[:4], b"long")
        undo(daemon)
        equal(view[:4], b"old\n")
        equal(os.fstat(fd).st_size, 4)
        equal(os.fstat(fd).st_mode & 0o777, 0o644)
        equal(os.lseek(fd, 0, os.SEEK_END), 4)
        redo(daemon)
        equal(view[:4], b"long")
        view.close()
        os.close(fd)


@test
def write_after_outside_edit(place):
    """a write to a name that another process removed or replaced is kept"""
    for edit in ("rm f", "echo host > t; mv t f"):
        write(place.share + "/f", "old")
        with serving(place) as daemon:
            equal(read(daemon.seen + "/f"), "old")
            subprocess.run(["sh", "-c", edit], cwd=place.share, check=True)
            write(daemon.seen + "/f", "new")
            equal(read(place.share + "/f"), "new")
        subprocess.run(["rm", "-rf", place.root + "/.stepback"], check=True)


@test
def outside_edit_is_told(place):
    """a mapping and a name show soon what another process changed"""
    write(place.share + "/f", "old")
    write(place.share + "/g", "old")
    with serving(place, "true", "-o", "timeout=1") as daemon:
        fd = os.open(daemon.seen + "/f", os.O_RDONLY)
        view = mmap.mmap(fd, 3, access=mmap.ACCESS_READ)
        equal(view[:3], b"old")
        os.stat(daemon.seen + "/g")
        write(place.share + "/f", "new", os.O_WRONLY)
        os.rename(place.share + "/g", place.share + "/h")
        since = time.monotonic()
        # The mapping sends no request: only the daemon can notify the kernel.
        eventually(lambda: view[:3] == b"new", 10)
        equal(view[:3], b"new")
        eventually(lambda: not os.path.exists(daemon.seen + "/g"), 10)
        assert time.monotonic() - since < 0.9, time.monotonic() - since
        view.close()
        os.close(fd)


@test
def edits_before_a_step(place):
    """a step sees at once which names the host made and removed before it"""
    with serving(place) as daemon:
        for i in range(1, 21, 2):
            seen, name = [], "/%d" % i
            equal(os.path.exists(daemon.seen + name), False)
            for number, edit in ((i, write), (i + 1, lambda path, _: os.unlink(path))):
                edit(place.share + name, "x")
                daemon.ask("step.open", step_id=number, type="command", command="")
                seen.append(os.path.exists(daemon.seen + name))
                daemon.ask("step.close", step_id=number, exit_code=0)
            equal(seen, [True, False])


@test
def undo_of_a_dirty_mapping(place):
    """undo ends while a program maps, and has written to, what it restores"""
    with serving(place, "head -c 1000000 /dev/zero > f") as daemon:
        daemon.step(1, "echo changed > f")
        fd = os.open(daemon.seen + "/f", os.O_RDWR)
        view = mmap.mmap(fd, 8)
        view[:3] = b"new"  # nothing has asked for it to be written
        daemon.control.settimeout(20)
        since = time.monotonic()
        daemon.ask("rollback", steps=1, force=True)
        assert time.monotonic() - since < 5
        equal(os.stat(place.share + "/f").st_size, 1000000)
        equal(os.fstat(fd).st_size, 1000000)
        view.close()
        os.close(fd)


@test
def denial_beside_held_requests(place):
    """a denied step is rolled back at once, though its requests are held"""
    with serving(place, "mkdir d; touch d/1 d/2 d/3") as daemon:
        daemon.ask("safeguard.configure", delete_threshold=2,
                   timeout_seconds=60)
        daemon.ask("step.open", step_id=1, type="command")
        os.unlink(daemon.seen + "/d/1")
        # Both wait with the folder locked, the second for the first.
        held = [subprocess.Popen(["sh", "-c", command], cwd=daemon.seen,
                                 stderr=subprocess.DEVNULL)
                for command in ("rm d/2", "echo new > d/4")]
        daemon.control.settimeout(20)
        while True:
            event = json.loads(daemon.answers.readline())
            if event["type"] == "event.safeguard_triggered":
                break
        since = time.monotonic()
        daemon.ask("safeguard.confirm", action="deny",
                   safeguard_id=event["payload"]["safeguard_id"])
        assert time.monotonic() - since < 5
        for process in held:
            process.wait(20)
        daemon.ask("step.close", step_id=1, exit_code=1)
        equal(sorted(os.listdir(daemon.seen + "/d")), ["1", "2", "3"])
        write(daemon.seen + "/d/4", "new")
        equal(read(place.share + "/d/4"), "new")


@test
def undo_beside_work(place):
    """undo and redo end while many processes work in the same folders"""
    with serving(place, "mkdir d") as daemon:
        stop = threading.Event()
        failed = []

        def work(number):
            name = daemon.seen + "/d/own-%d" % number
            while not stop.is_set():
                try:
                    write(name, "x")
                    os.rename(name, name + "-2")
                    os.mkdir(name)
                    os.rmdir(name)
                    os.unlink(name + "-2")
                except OSError as error:
                    # Undo takes what these have made, too.
                    if error.errno not in (errno.ENOENT, errno.ESTALE,
                                           errno.EEXIST, errno.EISDIR,
                                           errno.ENOTDIR):
                        failed.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        daemon.control.settimeout(60)
        try:
            for i in range(1, ROUNDS + 1):
                daemon.step(i, "echo a > d/f; mkdir -p d/e; echo b > d/e/f")
                daemon.ask("rollback", steps=1, force=True)
                try:
                    daemon.ask("redo", steps=1, force=True)
                    daemon.ask("rollback", steps=1, force=True)
                except AssertionError:
                    pass  # what was made in between leaves no redo
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
        equal(failed, [])
        equal([thread.is_alive() for thread in threads], [False] * 6)


@test
def undo_of_many_names(place):
    """undo tells of thousands of names, and none of them is written to"""
    with serving(place) as daemon:
        daemon.step(1, "mkdir d; for i in $(seq 3000); do echo $i > d/$i; done;"
                       " for i in $(seq 500); do echo $i > $i; done")
        undo(daemon)
        for i in range(1, 501):
            write(daemon.seen + "/%d" % i, "new")
        equal(len(os.listdir(place.share)), 500)
        equal({read(place.share + "/%d" % i) for i in range(1, 501)}, {"new"})


main()
