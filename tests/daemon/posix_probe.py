# SPDX-License-Identifier: Apache-2.0
"""The calls of the cases of posix-compare.py, and what they answer."""
import ctypes
import errno
import os
import stat
import struct
import time

USER = (1001, 1001, [1001, 2002])
OTHER = 1005       # another user, and their group
NO_MEMBER = 3003   # a group that USER is not in
# A file's permitted capability to bind low ports (linux/capability.h).
CAPABILITY = struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0)
TICK = 0.02        # more than the file system's clock
LIBC = ctypes.CDLL(None, use_errno=True)


def raw(name, *arguments):
    """A call of libc that Python does not have."""
    result = getattr(LIBC, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def renameat2(old, new, flags):
    raw("renameat2", -100, old.encode(), -100, new.encode(), flags)


class Probe:
    """What a case sees: a list of labels and results."""

    def __init__(self):
        self.seen = []

    def note(self, label, value):
        self.seen.append([label, value])

    def do(self, label, call, *arguments, **named):
        try:
            value = call(*arguments, **named)
        except OSError as e:
            value = errno.errorcode.get(e.errno, str(e.errno))
        except ValueError as e:
            value = str(e)
        if isinstance(value, bytes):
            value = value.decode("latin-1")
        if not isinstance(value, (str, int, list, type(None))):
            value = repr(value)
        self.note(label, value)
        return value

    def open(self, label, path, flags, mode=0o666):
        """An fd, or None."""
        try:
            fd = os.open(path, flags, mode)
            self.note(label, "opened")
            return fd
        except OSError as e:
            self.note(label, errno.errorcode[e.errno])
            return None

    def stat(self, path):
        try:
            st = os.lstat(path)
            size = 0 if stat.S_ISDIR(st.st_mode) else st.st_size
            self.note("stat " + path, [oct(st.st_mode), st.st_nlink, st.st_uid,
                                       st.st_gid, size, st.st_rdev])
        except OSError as e:
            self.note("stat " + path, errno.errorcode[e.errno])

    def times(self, label, paths, call, *arguments):
        """Which times of which files does it change?"""
        def read():
            found = {}
            for path in paths:
                try:
                    st = os.lstat(path)
                    found[path] = (st.st_mtime_ns, st.st_ctime_ns)
                except OSError:
                    found[path] = None
            return found
        before = read()
        time.sleep(TICK)
        self.do(label, call, *arguments)
        after = read()
        for path in paths:
            if before[path] and after[path]:
                self.note(f"{label}: times of {path}",
                          [before[path][i] != after[path][i] for i in (0, 1)])


def put(path, text="content", mode=0o644, owner=None):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    if owner:
        os.chown(path, *owner)
        os.chmod(path, mode)


def make_dir(path, mode=0o755, owner=None):
    os.mkdir(path)
    if owner:
        os.chown(path, *owner)
    os.chmod(path, mode)


def write_to(path, text="new", flags=os.O_WRONLY):
    fd = os.open(path, flags)
    try:
        return os.write(fd, text.encode())
    finally:
        os.close(fd)


def truncated(path, size):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.ftruncate(fd, size)
    finally:
        os.close(fd)
