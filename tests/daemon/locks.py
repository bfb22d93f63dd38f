#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""locks - file locks through a mount, seen from both sides.

The daemon serves a real mount with --posix-lock and --flock; processes lock
files in it, and this one looks at the same files on the host. TAP on standard
output. Skipped where nothing can be mounted.
"""
import fcntl
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

DAEMON = os.path.join(os.getcwd(), "stepback-virtiofsd")
F_OFD_GETLK, F_OFD_SETLK = 36, 37
TIMEOUT = 20

# In a process of its own: how, file, first byte, length; says "locked".
LOCKER = """
import fcntl, sys, time
how, path, start, length = sys.argv[1:]
f = open(path, "r+")
print("waits", flush=True)
if how.startswith("flock"):
    fcntl.flock(f, fcntl.LOCK_SH if how.endswith("sh") else fcntl.LOCK_EX)
else:
    fcntl.lockf(f, fcntl.LOCK_SH if how.endswith("sh") else fcntl.LOCK_EX,
                int(length), int(start))
print("locked", flush=True)
for line in sys.stdin:
    if line == "close\\n":
        open(path).close()          # takes a POSIX lock with it
        print("closed", flush=True)
"""


class Skip(Exception):
    pass


class Daemon:
    def __init__(self, *arguments):
        self.base = tempfile.mkdtemp(prefix="stepback-test-")
        self.share = os.path.join(self.base, "share")
        self.mount = os.path.join(self.base, "mnt")
        for path in (self.share, self.mount):
            os.mkdir(path)
        with open(os.path.join(self.share, "file"), "w") as f:
            f.write("x" * 1000)
        self.process = subprocess.Popen(
            [DAEMON, "--shared-dir", self.share, "--mount", self.mount,
             *arguments], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + TIMEOUT
        while not os.path.ismount(self.mount):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise Skip("the daemon cannot mount here")
            time.sleep(0.02)
        self.file = os.path.join(self.mount, "file")
        self.host_file = os.path.join(self.share, "file")

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def stop(self):
        self.process.terminate()
        status = self.process.wait(TIMEOUT)
        shutil.rmtree(self.base)
        return status


class Locker:
    """Another process that locks, or waits to."""

    def __init__(self, how, path, start=0, length=0):
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOCKER, how, path, str(start), str(length)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.expect("waits")

    def expect(self, word):
        line = self.process.stdout.readline().strip()
        assert line == word, f"{line!r} in place of {word!r}"
        return self

    def has_spoken(self):
        return bool(select.select([self.process.stdout], [], [], 0)[0])

    def locked(self):
        return self.expect("locked")

    def tell(self, word, answer):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        self.expect(answer)

    def end(self, signal_number=signal.SIGKILL):
        self.process.send_signal(signal_number)
        self.process.wait(TIMEOUT)
        self.process.stdin.close()
        self.process.stdout.close()


def host_lock(path, start, length, write=True):
    """Return whether another process has locked the range, on the host."""
    with open(path, "r+") as f:
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK if write else fcntl.F_RDLCK,
                           os.SEEK_SET, start, length, 0)
        lock = fcntl.fcntl(f, F_OFD_GETLK, lock)
        return struct.unpack("hhqqi4x", lock)[0] != fcntl.F_UNLCK


def host_flocked(path):
    with open(path) as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True


def until(condition):
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "it does not come to be"
        time.sleep(0.01)


# ---- cases -------------------------------------------------------------------

def posix_seen(daemon):
    """The host sees a guest's lock, of the range and kind that it has."""
    one = Locker("posix", daemon.file, 10, 20).locked()
    assert host_lock(daemon.host_file, 29, 1)
    assert not host_lock(daemon.host_file, 30, 100)
    assert not host_lock(daemon.host_file, 0, 10)
    one.end()
    until(lambda: not host_lock(daemon.host_file, 0, 0))


def posix_shared(daemon):
    one = Locker("posix-sh", daemon.file, 0, 0).locked()
    two = Locker("posix-sh", daemon.file, 0, 0).locked()
    assert host_lock(daemon.host_file, 0, 0)
    assert not host_lock(daemon.host_file, 0, 0, write=False)
    one.end()
    assert host_lock(daemon.host_file, 0, 0)
    two.end()
    until(lambda: not host_lock(daemon.host_file, 0, 0))


def posix_close(daemon):
    """A process's locks end when it closes the file by any descriptor."""
    one = Locker("posix", daemon.file).locked()
    assert host_lock(daemon.host_file, 0, 0)
    one.tell("close", "closed")
    until(lambda: not host_lock(daemon.host_file, 0, 0))
    one.end()


def host_first(daemon):
    """A guest waits for a lock of the host, and other requests go on."""
    with open(daemon.host_file, "r+") as f:
        fcntl.fcntl(f, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK,
                                                os.SEEK_SET, 0, 0, 0))
        lockers = [Locker("posix", daemon.file, i, 1) for i in range(20)]
        for i in range(100):
            with open(os.path.join(daemon.mount, f"other-{i}"), "w") as other:
                other.write("y")
        assert all(l.process.poll() is None for l in lockers)
    for locker in lockers:
        locker.locked()
        locker.end()
    until(lambda: not host_lock(daemon.host_file, 0, 0))


def killed(daemon):
    """A waiter that is killed leaves no thread and no lock."""
    threads = daemon.threads()
    one = Locker("posix", daemon.file).locked()
    waiters = [Locker("posix", daemon.file) for _ in range(5)]
    until(lambda: daemon.threads() >= threads + 5)
    for waiter in waiters:
        waiter.end()
    until(lambda: daemon.threads() <= threads)
    one.end()
    until(lambda: not host_lock(daemon.host_file, 0, 0))


def handed_on(daemon):
    """One after the other, each gets it once."""
    first = Locker("posix", daemon.file).locked()
    queue = [Locker("posix", daemon.file) for _ in range(5)]
    first.end()
    for _ in range(5):
        until(lambda: any(l.has_spoken() for l in queue))
        ready = [l for l in queue if l.has_spoken()]
        assert len(ready) == 1, f"{len(ready)} have it"
        ready[0].locked().end()
        queue.remove(ready[0])


def flock_seen(daemon):
    one = Locker("flock", daemon.file).locked()
    assert host_flocked(daemon.host_file)
    two = Locker("flock", daemon.file)
    time.sleep(0.1)
    assert two.process.poll() is None
    one.end()
    two.locked()
    assert host_flocked(daemon.host_file)
    two.end()
    until(lambda: not host_flocked(daemon.host_file))


def flock_and_posix(daemon):
    """The two kinds know nothing of each other."""
    one = Locker("flock", daemon.file).locked()
    two = Locker("posix", daemon.file).locked()
    one.end()
    assert host_lock(daemon.host_file, 0, 0)
    two.end()


def many(daemon):
    """Too many waiters get ENOLCK; the daemon lives."""
    one = Locker("posix", daemon.file).locked()
    waiters = [Locker("posix", daemon.file) for _ in range(70)]
    until(lambda: sum(w.process.poll() is not None for w in waiters) >= 6)
    os.stat(daemon.file)
    for waiter in waiters:
        waiter.end()
    one.end()
    Locker("posix", daemon.file).locked().end()


def ends(daemon):
    """The daemon ends while a lock request waits."""
    one = Locker("posix", daemon.file).locked()
    two = Locker("posix", daemon.file)
    time.sleep(0.2)
    two.end()
    one.end()


CASES = [posix_seen, posix_shared, posix_close, host_first, killed, handed_on,
         flock_seen, flock_and_posix, many, ends]


def local(number):
    """Without the options nothing is seen on the host."""
    daemon = Daemon()
    one = Locker("posix", daemon.file).locked()
    two = Locker("flock", daemon.file).locked()
    ok = not host_lock(daemon.host_file, 0, 0) and \
        not host_flocked(daemon.host_file)
    one.end()
    two.end()
    ok = daemon.stop() == 0 and ok
    print(f"{'ok' if ok else 'not ok'} {number} local", flush=True)
    return ok


def main():
    good = True
    try:
        daemon = Daemon("--posix-lock", "--flock")
    except Skip as reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    print(f"1..{len(CASES) + 2}", flush=True)
    for number, case in enumerate(CASES, 1):
        try:
            case(daemon)
            print(f"ok {number} {case.__name__}", flush=True)
        except (AssertionError, OSError) as error:
            print(f"not ok {number} {case.__name__}: {error!r}", flush=True)
            good = False
    status = daemon.stop()
    print(f"{'ok' if status == 0 else 'not ok'} {len(CASES) + 1} end",
          flush=True)
    return 0 if local(len(CASES) + 2) and good and status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
