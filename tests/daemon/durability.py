#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""durability - in which order the daemon syncs its log and changes the folder.

Runs the daemon on a real mount under strace and reads the order of its system
calls: what a power cut would leave cannot be tried here, but what must be on
disk before what can be read off. TAP on standard output. Skipped without
strace or without a way to mount.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

DAEMON = os.path.join(os.getcwd(), "stepback-virtiofsd")
CALLS = ("fsync,fdatasync,syncfs,write,pwrite64,pwritev,pwritev2,rename,"
         "renameat,renameat2,unlinkat,mkdirat,openat,ftruncate")
START_TIMEOUT = 60
SYNCS = ("fsync", "fdatasync", "syncfs")


class Skip(Exception):
    pass


class Failed(Exception):
    pass


class Daemon:
    """The daemon on a mount of its own, under strace."""

    def __init__(self, durability):
        self.base = tempfile.mkdtemp(prefix="stepback-test-")
        for name in ("share", "mnt"):
            os.mkdir(self.path(name))
        self.mount = self.path("mnt")
        self.durability = durability

    def path(self, *parts):
        return os.path.join(self.base, *parts)

    def start(self):
        self.trace = self.path("trace")
        self.process = subprocess.Popen(
            ["strace", "-f", "-y", "-s", "200", "-o", self.trace,
             "-e", "trace=" + CALLS, DAEMON, "--shared-dir", self.path("share"),
             "--undo-dir", self.path("log"), "--mount", self.mount,
             "--interceptor-socket", self.path("socket"),
             "--durability", self.durability],
            stdout=subprocess.DEVNULL, stderr=open(self.path("err"), "wb"))
        deadline = time.monotonic() + START_TIMEOUT
        while not (os.path.ismount(self.mount) and
                   os.path.exists(self.path("socket"))):
            if self.process.poll() is not None or \
                    time.monotonic() > deadline:
                raise Skip("the daemon cannot be traced or cannot mount here")
            time.sleep(0.05)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(self.path("socket"))
        self.file = self.socket.makefile("rw")

    def request(self, kind, **payload):
        self.file.write(json.dumps({"type": kind, "request_id": "1",
                                    "payload": payload}) + "\n")
        self.file.flush()
        while True:
            message = json.loads(self.file.readline())
            if message["type"] == "response":
                break
        if message["status"] != "ok":
            raise Failed(f"{kind}: {message['error']}")
        return message["payload"]

    def step(self, number, change):
        self.request("step.open", step_id=number, type="command")
        change(self.mount)
        self.request("step.close", step_id=number, exit_code=0, quiet_ms=0)

    def stop(self):
        if hasattr(self, "socket"):
            self.file.close()
            self.socket.close()
        if hasattr(self, "process") and self.process.poll() is None:
            subprocess.run(["umount", "-l", self.mount],
                           stderr=subprocess.DEVNULL)
            self.process.terminate()
            self.process.wait()

    def remove(self):
        self.stop()
        shutil.rmtree(self.base, ignore_errors=True)

    def calls(self):
        """(name, text) of all calls, in the order in which they ended."""
        unfinished, calls = {}, []
        with open(self.trace, errors="replace") as file:
            for line in file:
                match = re.match(r"(\d+) +(.*)", line)
                if not match:
                    continue
                thread, text = match.groups()
                if text.endswith("<unfinished ...>\n") or \
                        "<unfinished ...>" in text:
                    unfinished[thread] = text.split("<unfinished", 1)[0]
                    continue
                resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
                if resumed:
                    text = unfinished.pop(thread, "") + resumed.group(1)
                name = text.split("(", 1)[0]
                if name and " = -1 " not in text:
                    calls.append((name, text.replace(self.base, "")))
        return calls


def find(calls, start, names, *needles):
    for index in range(start, len(calls)):
        name, text = calls[index]
        if name in names and all(needle in text for needle in needles):
            return index
    raise Failed(f"no {names} with {needles} after {start}")


WRITES = ("write", "pwrite64", "pwritev", "pwritev2")
RENAMES = ("rename", "renameat", "renameat2")


def expect_order(calls, start, *wanted):
    """Each of (names, needle, ...) comes after the one before it."""
    for names, *needles in wanted:
        start = find(calls, start, names, *needles) + 1
    return start


def write_file(path, data, mode="r+b"):
    with open(path, mode, buffering=0) as file:
        file.write(data)


def fill(daemon):
    for name in ("victim", "content", "meta"):
        with open(daemon.path("share", name), "wb") as file:
            file.write(name.encode() * 1000)


def change_all(mount):
    os.unlink(os.path.join(mount, "victim"))
    write_file(os.path.join(mount, "content"), b"overwritten")
    os.mkdir(os.path.join(mount, "made"))
    os.rename(os.path.join(mount, "meta"), os.path.join(mount, "renamed"))


def power():
    """D1, D2: the record, then the sync, then the change; and the commit."""
    daemon = Daemon("power")
    try:
        fill(daemon)
        daemon.start()
        daemon.step(1, change_all)
        daemon.request("rollback", steps=1)
        daemon.stop()
        calls = daemon.calls()
        record = ("/log/wal/in_progress/manifest.jsonl",)
        synced = (("fdatasync",), *record)
        # The log's own files and folders, which were made just now.
        expect_order(calls, 0,
                     (RENAMES, '"version.tmp"', '"version"'),
                     (("syncfs",), "/log>"),
                     (RENAMES, '"victim"'))
        at = expect_order(
            calls, 0,
            (WRITES, *record, 'victim'),
            (("fsync",), "/log/wal/in_progress>"),
            (("fsync",), "/log/wal>"),
            synced,
            (RENAMES, '"victim"'))
        at = expect_order(
            calls, at,
            (WRITES, "/log/wal/in_progress/blobs/data", "contentcontent"),
            (("fdatasync",), "/log/wal/in_progress/blobs/data"),
            synced,
            (WRITES, "/share/content", "overwritten"))
        at = expect_order(calls, at, (WRITES, *record, "made"), synced,
                          (("mkdirat",), '"made"'))
        at = expect_order(calls, at, (WRITES, *record, "renamed"), synced,
                          (RENAMES, '"renamed"'))
        at = expect_order(
            calls, at,
            (("syncfs",), "/share"),
            (WRITES, *record, '\\"end\\"'),
            synced,
            (RENAMES, '"in_progress"', "/log/steps"),
            (("fsync",), "/log/steps"))
        # D3: rolled back, synced, and then the step goes.
        expect_order(
            calls, at,
            (RENAMES, "/log/steps", '"in_progress"'),
            (("fsync",), "/log/wal>"),
            (RENAMES, '"renamed"'),
            (("syncfs",), "/share"),
            (RENAMES, '"in_progress"', "/log/wal/trash"))
    finally:
        daemon.remove()


def process():
    """Nobody waits for the disk by default."""
    daemon = Daemon("process")
    try:
        fill(daemon)
        daemon.start()
        daemon.step(1, change_all)
        daemon.request("rollback", steps=1)
        daemon.stop()
        syncs = [text for name, text in daemon.calls() if name in SYNCS]
        if syncs:
            raise Failed(f"{len(syncs)} syncs, as {syncs[0]}")
    finally:
        daemon.remove()


def many():
    """Changes from many threads at once: each after its own record's sync."""
    daemon = Daemon("power")
    count = 24
    try:
        for i in range(count):
            # The kernel changes a folder for one caller at a time.
            os.mkdir(daemon.path("share", f"dir{i}"))
            with open(daemon.path("share", f"dir{i}", f"gone{i}."),
                      "wb") as file:
                file.write(b"x")
        daemon.start()

        def change(mount):
            threads = [threading.Thread(
                target=os.unlink,
                args=(os.path.join(mount, f"dir{i}", f"gone{i}."),))
                for i in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        daemon.step(1, change)
        daemon.stop()
        calls = daemon.calls()
        manifest = "/log/wal/in_progress/manifest.jsonl"
        for i in range(count):
            expect_order(calls, 0, (WRITES, manifest, f"gone{i}."),
                         (("fdatasync",), manifest),
                         (RENAMES, f'"gone{i}."'))
        syncs = sum(1 for name, text in calls
                    if name == "fdatasync" and manifest in text)
        print(f"# {count} changes, {syncs} syncs of the record")
    finally:
        daemon.remove()


def main():
    tests = [power, process, many]
    print(f"1..{len(tests)}")
    if not shutil.which("strace"):
        for number, test in enumerate(tests, 1):
            print(f"ok {number} {test.__name__} # SKIP no strace")
        return 0
    failed = 0
    for number, test in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} {test.__name__}")
        except Skip as reason:
            print(f"ok {number} {test.__name__} # SKIP {reason}")
        except Failed as reason:
            failed += 1
            print(f"# {reason}")
            print(f"not ok {number} {test.__name__}")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
