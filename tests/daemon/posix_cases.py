# SPDX-License-Identifier: Apache-2.0
"""The cases of posix-compare.py: prepared by root, run as each user."""
import ctypes
import os
import shutil
import socket
import stat
import subprocess
import time

from posix_probe import (CAPABILITY, NO_MEMBER, OTHER, USER, make_dir, put, raw,
                         renameat2, truncated, write_to)


def sticky_before():
    make_dir("sticky", 0o1777, (OTHER, OTHER))
    make_dir("mine", 0o1777, USER[:2])
    for base in ("sticky", "mine"):
        put(f"{base}/others", owner=(OTHER, OTHER))
        put(f"{base}/own", owner=USER[:2])
        make_dir(f"{base}/dir", 0o777, (OTHER, OTHER))
        put(f"{base}/open", mode=0o666, owner=(OTHER, OTHER))


def sticky(p):
    for base in ("sticky", "mine"):
        p.do("rename others", os.rename, f"{base}/others", f"{base}/x")
        p.do("rename over others", os.rename, f"{base}/own", f"{base}/open")
        p.do("rmdir others", os.rmdir, f"{base}/dir")
        p.do("unlink others", os.unlink, f"{base}/others")
        p.do("unlink own", os.unlink, f"{base}/own")
        p.do("create in it", put, f"{base}/new")
        p.do("write others", write_to, f"{base}/open")
        p.do("create on others", write_to, f"{base}/open", "x",
             os.O_WRONLY | os.O_CREAT)
        p.do("list", lambda b=base: sorted(os.listdir(b)))


SUID_MODES = (0o4755, 0o2755, 0o6777, 0o2745, 0o2644, 0o6666)


def suid_before():
    for mode in SUID_MODES:
        for how in ("write", "trunc", "otrunc", "chown", "chgrp", "same",
                    "alloc", "append"):
            put(f"{how}-{mode:o}", mode=mode, owner=USER[:2])


def capabilities_before():
    for how in ("write", "append", "trunc", "otrunc", "copy", "chown"):
        put(how, mode=0o777, owner=USER[:2])
        os.setxattr(how, "security.capability", CAPABILITY)
    put("source")


def capabilities(p):
    p.do("write", write_to, "write", "x")
    p.do("append", write_to, "append", "x", os.O_WRONLY | os.O_APPEND)
    p.do("truncate", os.truncate, "trunc", 3)
    p.do("O_TRUNC", write_to, "otrunc", "", os.O_WRONLY | os.O_TRUNC)
    p.do("chown", os.chown, "chown", -1, 2002)
    source, copy = os.open("source", os.O_RDONLY), os.open("copy", os.O_WRONLY)
    p.do("copy", os.copy_file_range, source, copy, 3)
    os.close(source), os.close(copy)
    for how in ("write", "append", "trunc", "otrunc", "copy", "chown"):
        p.do(how, os.listxattr, how)


def suid(p):
    for mode in SUID_MODES:
        name = f"-{mode:o}"
        p.do("write", write_to, "write" + name)
        p.do("append", write_to, "append" + name, "x",
             os.O_WRONLY | os.O_APPEND)
        p.do("truncate", truncated, "trunc" + name, 3)
        p.do("O_TRUNC", write_to, "otrunc" + name, "",
             os.O_WRONLY | os.O_TRUNC)
        p.do("chown", os.chown, "chown" + name, OTHER, -1)
        p.do("chgrp", os.chown, "chgrp" + name, -1, 2002)
        p.do("chown to nobody new", os.chown, "same" + name, -1, -1)
        fd = os.open("alloc" + name, os.O_WRONLY)
        p.do("fallocate", os.posix_fallocate, fd, 0, 100)
        os.close(fd)
        for how in ("write", "append", "trunc", "otrunc", "chown", "chgrp",
                    "same", "alloc"):
            p.stat(how + name)


def chmod_before():
    put("others", owner=(OTHER, OTHER))
    put("in-group", owner=(USER[0], 2002))
    put("not-in-group", owner=(USER[0], NO_MEMBER))
    make_dir("dir", 0o755, (USER[0], NO_MEMBER))


def chmod(p):
    for name in ("others", "in-group", "not-in-group", "dir"):
        for mode in (0o2755, 0o7777, 0o1644, 0):
            p.do(f"chmod {mode:o}", os.chmod, name, mode)
            p.stat(name)
        p.do("chgrp to one's own", os.chown, name, -1, 2002)
        p.do("chgrp to another", os.chown, name, -1, NO_MEMBER)
        p.do("chown", os.chown, name, 0, -1)
        p.stat(name)


def creating_before():
    make_dir("plain", 0o777)
    make_dir("setgid", 0o2777, (0, 2002))
    make_dir("setgid-others", 0o2777, (0, NO_MEMBER))


def creating(p):
    for mask in (0, 0o022, 0o077, 0o777):
        os.umask(mask)
        for base in ("plain", "setgid", "setgid-others"):
            for mode in (0o777, 0o666, 0o2775, 0o7777):
                name = f"{base}/{mask:o}-{mode:o}-"
                fd = p.open("create", name + "f", os.O_CREAT | os.O_RDWR |
                            os.O_EXCL, mode)
                if fd is not None:
                    os.close(fd)
                p.do("mkdir", os.mkdir, name + "d", mode)
                p.do("fifo", os.mkfifo, name + "p", mode)
                p.do("node", os.mknod, name + "n", stat.S_IFCHR | mode,
                     os.makedev(1, 3))
                p.do("symlink", os.symlink, "target", name + "l")
                for kind in "fdpnl":
                    p.stat(name + kind)
    os.umask(0)


def links(p):
    make_dir("d")
    put("a")
    p.do("link", os.link, "a", "b")
    p.do("link again", os.link, "a", "b")
    p.do("link a folder", os.link, "d", "e")
    p.do("link nothing", os.link, "none", "e")
    p.do("link below a file", os.link, "a", "b/c")
    p.do("link a symlink", lambda: (os.symlink("a", "s"), os.link(
        "s", "t", follow_symlinks=False)) and None)
    p.stat("a"), p.stat("s"), p.stat("t")
    p.do("rename to another link", os.rename, "a", "b")
    p.stat("a"), p.stat("b")
    p.do("unlink", os.unlink, "b")
    p.stat("a")
    for i in range(3):
        os.mkdir(f"d/{i}")
    p.stat("d")
    p.do("move one out", os.rename, "d/0", "moved")
    p.stat("d")
    fd = os.open("a", os.O_RDWR)
    os.unlink("a")
    p.note("links of one unlinked", os.fstat(fd).st_nlink)
    p.do("write to it", os.write, fd, b"alive")
    p.do("read it", os.pread, fd, 10, 0)
    p.do("link it again", os.link, f"/proc/self/fd/{fd}", "back",
         follow_symlinks=True)
    os.close(fd)


def names(p):
    for length in (254, 255, 256, 1023, 1024, 4095, 4096):
        name = "n" * length
        p.do(f"create {length}", put, name)
        p.do(f"stat {length}", lambda n=name: os.stat(n).st_size)
        p.do(f"mkdir {length}", os.mkdir, "d" + name[1:])
        p.do(f"rename {length}", os.rename, name, "r" + name[1:])
        p.do(f"link {length}", os.link, "r" + name[1:], "l" + name[1:])
        p.do(f"symlink {length}", os.symlink, name, f"s{length}")
        p.do(f"readlink {length}", lambda i=length: len(os.readlink(f"s{i}")))
        p.do(f"unlink {length}", os.unlink, "r" + name[1:])
        p.do(f"rmdir {length}", os.rmdir, "d" + name[1:])
    p.do("empty target", os.symlink, "", "empty")
    for name in (".", "..", "x/.", "x/..", "", "/", "x/", "f/", "f/."):
        for call in (os.mkdir, os.rmdir, os.unlink, os.listdir):
            put("f")
            p.do(f"{call.__name__} {name}",
                 lambda c=call, n=name: c(n) and None)
            if os.path.isdir("x"):
                os.rmdir("x")
        if name != "/":   # another file system than the mount
            p.do(f"rename to {name}", os.rename, "f", name or "./")
    p.do("odd bytes", put, b"\xff\xfe\n\x01".decode("latin-1"))
    p.do("list", lambda: len(os.listdir(".")))


def loops(p):
    os.symlink("self", "self")
    os.symlink("b", "a")
    os.symlink("a", "b")
    os.symlink("none", "dangling")
    put("end")
    before = "end"
    for i in range(42):
        os.symlink(before, f"chain-{i}")
        before = f"chain-{i}"
    for name in ("self", "a", "self/x", "dangling", "chain-38", "chain-39",
                 "chain-40", "chain-41"):
        p.do(f"stat {name}", lambda n=name: os.stat(n).st_size)
        p.do(f"write {name}", write_to, name)
        p.do(f"create {name}", write_to, name, "x", os.O_WRONLY | os.O_CREAT)
        p.do(f"exclusively {name}", write_to, name, "x",
             os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        p.do(f"no follow {name}", write_to, name, "x",
             os.O_WRONLY | os.O_NOFOLLOW)
        p.do(f"mkdir {name}", os.mkdir, name)
        p.do(f"chmod {name}", os.chmod, name, 0o600)
        p.do(f"unlink {name}", os.unlink, name)
    p.do("list", lambda: sorted(os.listdir(".")))


def renames(p):
    def fresh():
        for name in os.listdir("."):
            shutil.rmtree(name) if os.path.isdir(name) and not \
                os.path.islink(name) else os.unlink(name)
        put("f", "f"), put("g", "g"), os.symlink("f", "s")
        os.makedirs("d/below"), os.mkdir("e")
        put("d/in")
    kinds = ("f", "g", "s", "d", "e", "none", "d/below", "f/x", "d/")
    for old in kinds:
        for new in kinds:
            for flags in (0, 1, 2):
                fresh()
                p.do(f"rename {old} {new} {flags}", renameat2, old, new, flags)
                p.note("list", sorted(os.path.join(top, name) for top, dirs,
                                      files in os.walk(".")
                                      for name in dirs + files))


def opening_before():
    put("f", mode=0o644), put("readonly", mode=0o444), put("none", mode=0)
    put("writeonly", mode=0o222)
    make_dir("d", 0o755), make_dir("closed", 0o700), put("closed/x")
    os.mkfifo("fifo")
    os.chmod("fifo", 0o666)
    os.symlink("f", "s")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("sock")
    put("mine", owner=USER[:2])
    put("group", mode=0o060, owner=(OTHER, 2002))


def opening(p):
    flag_sets = {
        "r": os.O_RDONLY, "w": os.O_WRONLY, "rw": os.O_RDWR, "both": 3,
        "rt": os.O_RDONLY | os.O_TRUNC, "wt": os.O_WRONLY | os.O_TRUNC,
        "c": os.O_RDWR | os.O_CREAT, "cx": os.O_RDWR | os.O_CREAT | os.O_EXCL,
        "dir": os.O_RDONLY | os.O_DIRECTORY, "path": os.O_PATH,
        "cdir": os.O_RDONLY | os.O_DIRECTORY | os.O_CREAT,
        "tmp": os.O_TMPFILE | os.O_RDWR, "tmpr": os.O_TMPFILE,
        "nofollow": os.O_RDONLY | os.O_NOFOLLOW,
        "noatime": os.O_RDONLY | os.O_NOATIME,
        "append": os.O_WRONLY | os.O_APPEND,
    }
    for name in ("f", "readonly", "none", "writeonly", "d", "closed/x", "fifo",
                 "s", "sock", "mine", "group", "missing/x", "f/x", "new"):
        for label, flags in flag_sets.items():
            fd = p.open(f"open {name} {label}", name,
                        flags | os.O_NONBLOCK, 0o640)
            if fd is not None:
                p.note("kind", oct(os.fstat(fd).st_mode))
                os.close(fd)
        for mode in (os.R_OK, os.W_OK, os.X_OK, os.F_OK):
            p.do(f"access {name} {mode}", lambda n=name, m=mode:
                 int(os.access(n, m)))
        p.stat(name)


def times(p):
    make_dir("d"), make_dir("e")
    put("d/f")
    p.times("create", ["d", "d/f"], put, "d/g")
    p.times("mkdir", ["d"], os.mkdir, "d/sub")
    p.times("link", ["d", "e", "d/f"], os.link, "d/f", "e/l")
    p.times("rename", ["d", "e", "d/g"], os.rename, "d/g", "e/g")
    p.times("rename a folder", ["d", "e", "e/sub"], os.rename, "d/sub",
            "e/sub")
    p.times("rename over", ["d", "e", "d/f", "e/l"], os.rename, "e/g", "e/l")
    p.times("unlink", ["e", "d/f"], os.unlink, "e/l")
    p.times("rmdir", ["e"], os.rmdir, "e/sub")
    p.times("symlink", ["d"], os.symlink, "x", "d/s")
    p.times("write", ["d", "d/f"], write_to, "d/f")
    p.times("write nothing", ["d/f"], write_to, "d/f", "")
    p.times("truncate", ["d/f"], os.truncate, "d/f", 2)
    p.times("truncate to the same", ["d/f"], os.truncate, "d/f", 2)
    p.times("ftruncate to the same", ["d/f"], truncated, "d/f", 2)
    p.times("O_TRUNC", ["d/f"], write_to, "d/f", "",
            os.O_WRONLY | os.O_TRUNC)
    p.times("O_TRUNC of nothing", ["d/f"], write_to, "d/f", "",
            os.O_WRONLY | os.O_TRUNC)
    p.times("O_CREAT of what is", ["d", "d/f"], write_to, "d/f", "",
            os.O_WRONLY | os.O_CREAT)
    p.times("chmod", ["d", "d/f"], os.chmod, "d/f", 0o600)
    p.times("chmod to the same", ["d/f"], os.chmod, "d/f", 0o600)
    p.times("chown to the same", ["d/f"], os.chown, "d/f", -1, -1)
    p.times("read", ["d/f"], lambda: len(open("d/f").read()))
    p.times("list", ["d"], lambda: len(os.listdir("d")))
    p.times("setxattr", ["d/f"], os.setxattr, "d/f", "user.a", b"v")
    p.times("removexattr", ["d/f"], os.removexattr, "d/f", "user.a")
    p.times("utime", ["d/f"], os.utime, "d/f", None)
    p.times("failed unlink", ["d"], os.unlink, "d/none")
    p.times("failed mkdir", ["d"], os.mkdir, "d/f")
    for ns in (0, 1, 999999999, 1500000000123456789, 2**31 * 10**9,
               -1 * 10**9):
        p.do(f"utime {ns}", os.utime, "d/f", ns=(ns, ns))
        p.do("is", lambda: [os.stat("d/f").st_mtime_ns,
                            os.stat("d/f").st_atime_ns])


def utimes_before():
    put("mine", owner=USER[:2])
    put("writable", mode=0o666, owner=(OTHER, OTHER))
    put("readable", mode=0o644, owner=(OTHER, OTHER))


def utimes(p):
    for name in ("mine", "writable", "readable", "none"):
        p.do(f"now {name}", os.utime, name, None)
        p.do(f"then {name}", os.utime, name, (1000, 2000))
        p.do(f"chmod {name}", os.chmod, name, 0o600)


def sizes(p):
    put("f")
    os.mkdir("d")
    for size in (0, 5, 100000, -1, 2**40, 2**62, 2**63 - 1):
        p.do(f"truncate {size}", os.truncate, "f", size)
        p.do("size", lambda: os.stat("f").st_size)
    p.do("truncate a folder", os.truncate, "d", 0)
    os.truncate("f", 0)
    fd = os.open("f", os.O_RDWR)
    for at in (-1, 0, 2**40, 2**63 - 2, 2**63 - 1):
        p.do(f"pwrite {at}", os.pwrite, fd, b"abc", at)
        p.do(f"pread {at}", os.pread, fd, 3, at)
    os.ftruncate(fd, 1 << 20)
    os.pwrite(fd, b"x" * 4096, 512 << 10)
    for at in (0, 512 << 10, (512 << 10) + 4096, (1 << 20) - 1, 1 << 20,
               2 << 20):
        for how in (os.SEEK_DATA, os.SEEK_HOLE):
            p.do(f"lseek {at} {how}", os.lseek, fd, at, how)
    # Not to collapse or insert: FUSE does not support that.
    for mode in (0, 1, 2, 3, 0x10, 0x11, 0x40):
        p.do(f"fallocate {mode}", raw, "fallocate64", fd, mode,
             ctypes.c_int64(4096), ctypes.c_int64(8192))
        p.do("size", lambda: os.fstat(fd).st_size)
    p.do("fallocate nothing", raw, "fallocate64", fd, 0, ctypes.c_int64(0),
         ctypes.c_int64(0))
    other = os.open("g", os.O_RDWR | os.O_CREAT)
    p.do("copy", os.copy_file_range, fd, other, 4096, 512 << 10, 3)
    p.do("copied", os.pread, other, 5, 0)
    append = os.open("f", os.O_WRONLY | os.O_APPEND)
    p.do("append", os.write, append, b"end")
    p.do("pwrite appends", os.pwrite, append, b"end", 0)
    p.do("size", lambda: os.fstat(fd).st_size)
    p.do("write what is read", os.write, os.open("f", os.O_RDONLY), b"x")
    p.do("read what is written", os.read, append, 1)


def xattrs(p):
    put("f")
    os.mkdir("d"), os.symlink("f", "s"), os.mkfifo("p")
    for path in ("f", "d", "s", "p"):
        for name in ("user.a", "trusted.a", "security.a", "system.a", "a",
                     "user.", "user." + "n" * 250, "user." + "n" * 251):
            p.do(f"set {path} {name}", os.setxattr, path, name, b"value", 0,
                 follow_symlinks=False)
            p.do(f"get {path} {name}", os.getxattr, path, name,
                 follow_symlinks=False)
        p.do(f"list {path}", lambda n=path: sorted(
            os.listxattr(n, follow_symlinks=False)))
    p.do("create what is", os.setxattr, "f", "user.a", b"", os.XATTR_CREATE)
    p.do("replace what is not", os.setxattr, "f", "user.b", b"",
         os.XATTR_REPLACE)
    p.do("empty", os.setxattr, "f", "user.a", b"")
    p.do("get empty", os.getxattr, "f", "user.a")
    p.do("too long", os.setxattr, "f", "user.c", b"x" * 65537)
    p.do("remove", os.removexattr, "f", "user.a")
    p.do("remove again", os.removexattr, "f", "user.a")


def busy(p):
    shutil.copy("/bin/sleep", "program")
    os.chmod("program", 0o755)
    child = subprocess.Popen(["./program", "60"])
    time.sleep(0.1)
    p.do("write", write_to, "program")
    p.do("truncate", os.truncate, "program", 0)
    p.do("O_TRUNC", write_to, "program", "", os.O_WRONLY | os.O_TRUNC)
    p.do("rename", os.rename, "program", "moved")
    p.do("chmod", os.chmod, "moved", 0o700)
    child.kill()
    child.wait()
    p.do("write then", write_to, "moved", "")
    fd = os.open("moved", os.O_WRONLY)
    p.do("run what is open", lambda: subprocess.call(["./moved", "0"]))
    os.close(fd)
    p.do("run", lambda: subprocess.call(["./moved", "0"]))
    os.chmod("moved", 0o644)
    p.do("run without x", lambda: subprocess.call(["./moved", "0"]))
    child = subprocess.Popen(["sleep", "60"], cwd=".")
    os.mkdir("d")
    inside = subprocess.Popen(["sleep", "60"], cwd="d")
    p.do("rmdir of a process's folder", os.rmdir, "d")
    child.kill(), inside.kill(), child.wait(), inside.wait()


def groups_before():
    make_dir("of-group", 0o070, (OTHER, 2002))
    make_dir("not-group", 0o707, (OTHER, 2002))
    make_dir("none", 0, USER[:2])
    for name in ("of-group", "not-group", "none"):
        put(f"{name}/f", mode=0o060, owner=(OTHER, 2002))


def groups(p):
    for name in ("of-group", "not-group", "none"):
        p.do(f"list {name}", lambda n=name: sorted(os.listdir(n)))
        p.do(f"read in {name}", lambda n=name: open(f"{n}/f").read())
        p.do(f"create in {name}", put, f"{name}/new")
        p.do(f"unlink in {name}", os.unlink, f"{name}/f")
        p.do(f"chdir {name}", lambda n=name: (os.chdir(n), os.chdir("..")) and
             None)
        p.stat(name)


def listing(p):
    os.mkdir("d")
    for i in range(500):
        put(f"d/{i}", "")
    with os.scandir("d") as entries:
        found = sorted((e.name, e.is_file(), e.inode() == os.lstat(
            e.path).st_ino) for e in entries)
    p.note("entries", [list(entry) for entry in found])
    with os.scandir("d") as entries:
        for entry in entries:
            os.unlink(entry.path)
    p.do("emptied", os.rmdir, "d")
    vfs = os.statvfs(".")
    p.note("statvfs", [vfs.f_namemax, vfs.f_bsize, vfs.f_frsize, vfs.f_blocks])


CASES = [
    ("sticky folders", sticky, sticky_before),
    ("suid and sgid are cleared", suid, suid_before),
    ("capabilities are cleared", capabilities, capabilities_before),
    ("chmod and chown", chmod, chmod_before),
    ("umask and setgid folders", creating, creating_before),
    ("link counts", links, None),
    ("names", names, None),
    ("symlinks that loop", loops, None),
    ("renames", renames, None),
    ("opening", opening, opening_before),
    ("times", times, None),
    ("who may set times", utimes, utimes_before),
    ("sizes, holes, copies", sizes, None),
    ("extended attributes", xattrs, None),
    ("programs that run", busy, None),
    ("groups of the caller", groups, groups_before),
    ("listing", listing, None),
]
