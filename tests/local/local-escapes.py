#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways out of a local sandbox that must lead nowhere. Each is tried by a program
in it: as root's sandbox has it and, where that differs, as an ordinary user's; and
as root of the sandbox of a user with subordinate ids.
The program prints "escaped" and what it has reached, or nothing."""
import os
import socket
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import (FIRST_ID, NAME, USER, call, give, left_of, need,  # noqa: E402
                        run, user_files)
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import Skip, contains, equal, main  # noqa: E402

CALLS = """
import ctypes, errno, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    result = libc.syscall(number, *[ctypes.c_long(a) if isinstance(a, int) else a
                                    for a in args])
    return result, ctypes.get_errno()
def escaped(*what):
    print("escaped", *what)
def attempt(what, function, *args):
    try:
        found = function(*args)
    except (OSError, ValueError):
        return
    escaped(what, found)
"""


IDS = "subordinate ids"


def try_out(place, program, user=False, options=("--no-network",)):
    need()
    files = ()
    if user:
        give(place)
    if user == IDS:
        line = "%s:%d:65536\n" % (NAME, FIRST_ID)
        files, options = user_files(place, line, line), (*options, "--user=root")
    status, out, err = run(place, "python3", "-c", CALLS + program + "\nprint('tried')",
                           options=options, user=user, files=files)
    equal((status, out), (0, "tried\n"))
    return err


def both(function, inner_root=False):
    """A test, and the same for an ordinary user, and for root of the sandbox of a user
    with subordinate ids."""
    def as_root(place):
        function(place, False)

    def as_user(place):
        function(place, True)

    def as_inner(place):
        if not os.path.exists("/usr/bin/newuidmap") or not os.path.exists("/etc/subuid"):
            raise Skip("uidmap is not installed")
        function(place, IDS)

    for run_it, suffix in ((as_root, "root"), (as_user, "an ordinary user"),
                           (as_inner, "subordinate root"))[:2 + inner_root]:
        run_it.__name__ = function.__name__ + "_" + suffix.split()[-1]
        run_it.__doc__ = function.__doc__ + ": " + suffix
        sandbox_test(run_it)
    return function


def all_users(function):
    return both(function, True)


@all_users
def proc_root(place, user):
    """/proc/PID/root and /proc/PID/cwd lead to no file of the host"""
    try_out(place, """
for pid in filter(str.isdigit, os.listdir("/proc")):
    for link in ("root", "cwd"):
        for name in (%r, "/etc/shadow", "/root/.ssh", "/oldroot/etc"):
            attempt(name, os.stat, "/proc/%%s/%%s/..%%s" %% (pid, link, name)) \
                if name != "/etc/shadow" else \
                attempt(name, open, "/proc/%%s/%%s%%s" %% (pid, link, name))
""" % (place.root + "/cache"), user)


@all_users
def processes(place, user):
    """no process of the host is seen, signalled or traced"""
    try_out(place, """
if len([p for p in os.listdir("/proc") if p.isdigit()]) > 8:
    escaped("processes", os.listdir("/proc"))
for pid in (%d, %d):
    attempt("kill", os.kill, pid, 0)
    if call(101, 16, pid, 0, 0)[0] == 0:  # PTRACE_ATTACH
        escaped("ptrace", pid)
""" % (os.getpid(), os.getppid()), user)


@all_users
def mounts(place, user):
    """nothing can be mounted, unmounted or moved"""
    try_out(place, """
for what, args in (("bind", (165, b"/tmp", b"/run", 0, 4096, 0)),
                   ("tmpfs", (165, b"t", b"/tmp", b"tmpfs", 0, 0)),
                   ("remount", (165, 0, b"/usr", 0, 32 | 4096, 0)),
                   ("umount", (166, %r, 2)), ("pivot", (155, b"/tmp", b"/tmp")),
                   ("chroot", (161, b"/tmp")), ("open_tree", (428, -100, b"/", 1)),
                   ("fsopen", (430, b"tmpfs", 0))):
    if call(*args)[0] >= 0:
        escaped(what)
""" % place.share.encode(), user)


@all_users
def namespaces(place, user):
    """no namespace can be made or joined"""
    try_out(place, """
for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000, 0x4000000,
             0x2000000, 0x80):
    if call(272, flag)[0] == 0:
        escaped("unshare", hex(flag))
    if flag == 0x80:  # not a flag of clone(2)
        continue
    pid = call(56, flag | 17, 0, 0, 0, 0)[0]
    if pid == 0:
        os._exit(0)
    if pid > 0:
        escaped("clone", hex(flag))
result, error = call(435, 0, 0)
if error != errno.ENOSYS:
    escaped("clone3", error)
for name in ("user", "pid"):
    fd = os.open("/proc/self/ns/" + name, os.O_RDONLY)
    if libc.ioctl(fd, 0xb702) >= 0:  # NS_GET_PARENT
        escaped("the parent of", name)
for name in os.listdir("/proc/self/ns"):
    fd = os.open("/proc/1/ns/" + name, os.O_RDONLY) if os.access(
        "/proc/1/ns/" + name, os.R_OK) else -1
    if fd >= 0 and call(308, fd, 0)[0] == 0:
        escaped("setns", name)
""", user)


@both
def keys(place, user):
    """the kernel's keys are out of reach"""
    try_out(place, """
for args in ((250, 0, -3, 0), (248, b"user", b"k", b"v", 1, -3), (249, b"user", b"k", 0, 0)):
    if call(*args)[1] != errno.EPERM:
        escaped("key", args)
""", user)


@both
def kernel_calls(place, user):
    """bpf, perf, userfaultfd, io_uring and kexec are refused"""
    try_out(place, """
buffer = ctypes.create_string_buffer(256)
for number in (321, 298, 323, 425, 246, 320, 175, 313, 169, 304, 103):
    if call(number, 0, buffer, 128, 0, 0)[1] != errno.EPERM:
        escaped("call", number)
""", user)


@all_users
def aio_quota(place, user):
    """no sandbox takes from the host's quota of asynchronous I/O; programs fall back"""
    try_out(place, """
context = ctypes.c_ulong(0)
result, error = call(206, 1000, ctypes.byref(context))
if error != errno.ENOSYS:
    escaped("io_setup", result, error)
""", user)


@both
def other_call_tables(place, user):
    """calls by the numbers of other architectures are refused"""
    need()
    if os.uname().machine != "x86_64":
        raise Skip("only x86-64 runs calls of others")
    try_out(place, r"""
import mmap
# mov eax, edi; mov ebx, esi; mov ecx, edx; xor edx, edx; int 0x80
code = mmap.mmap(-1, 4096, prot=7)
code.write(b"\x53\x89\xf8\x89\xf3\x89\xd1\x31\xd2\xcd\x80\x5b\xc3")
old = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)(
    ctypes.addressof(ctypes.c_char.from_buffer(code)))
for number, argument in ((20, 0), (310, 0x10000000), (288, 0), (57, 0)):
    pid = os.fork()
    if pid == 0:  # a kernel without such calls ends the process
        os._exit(0 if old(number, argument, 0) == -errno.ENOSYS else 1)
    status = os.waitpid(pid, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        escaped("32-bit call", number)
for number in (39, 272, 250):  # x32
    if call(0x40000000 | number, 0x10000000)[0] >= 0:
        escaped("x32 call", number)
""", user)


@both
def terminal_input(place, user):
    """TIOCSTI and TIOCLINUX are refused, by all 32 bits of the request"""
    try_out(place, """
import pty
master, slave = pty.openpty()
os.setsid(); libc.ioctl(slave, 0x540e, 0)
for request in (0x5412, 0x541c, 0x5412 | 1 << 32):
    ctypes.set_errno(0)
    result, error = call(16, slave, request, b"x")
    if error != errno.EPERM:
        escaped(hex(request), error)
""", user)


@all_users
def devices(place, user):
    """device nodes can be neither made nor opened"""
    try_out(place, """
for folder in ("/tmp", ".", "/dev"):
    for kind, device in ((0o60000, os.makedev(8, 0)), (0o20000, os.makedev(1, 1))):
        path = folder + "/node"
        try:
            os.mknod(path, kind | 0o666, device)
            attempt(path, os.open, path, os.O_RDONLY)
        except OSError:
            pass
known = {"null", "zero", "full", "random", "urandom", "tty", "console", "pts", "ptmx",
         "shm", "fd", "stdin", "stdout", "stderr", "core", "mqueue"}
if set(os.listdir("/dev")) - known:
    escaped("/dev", os.listdir("/dev"))
""", user)


@all_users
def setuid(place, user):
    """a setuid program gives no right"""
    need()
    with open(place.share + "/kept", "w") as file:
        file.write("")
    try_out(place, """
import subprocess, shutil
shutil.copy("/usr/bin/id", "./id")
try:
    os.chmod("./id", 0o4755)
except OSError:
    pass
caps = open("/proc/self/status").read().split("CapEff:")[1].split()[0]
for program in ("/usr/bin/passwd", "/usr/bin/su", "/usr/bin/mount"):
    attempt("write " + program, os.open, program, os.O_WRONLY)
out = subprocess.run(["sh", "-c", "grep CapEff /proc/self/status"], capture_output=True,
                     text=True).stdout.split()[1]
if out != caps:
    escaped(out)
if os.getuid():
    attempt("setuid", os.setuid, 0)
""", user)
    equal(os.stat(place.share + "/id").st_mode & 0o6000, 0)


@all_users
def system_files(place, user):
    """/usr, /etc and / cannot be written; root's files in /etc cannot be read"""
    try_out(place, """
for path in ("/usr/new", "/etc/new", "/new", "/usr/local/bin/new", "/bin/new"):
    attempt(path, os.open, path, os.O_CREAT | os.O_WRONLY)
for path in ("/etc/passwd", "/usr/bin/env", "/etc/resolv.conf"):
    attempt(path, os.open, path, os.O_WRONLY)
for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers"):
    attempt(path, os.open, path, os.O_RDONLY)
attempt("chmod", os.chmod, "/usr/bin/env", 0o777)
attempt("chown", os.chown, "/etc/passwd", 0, 0)
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
             "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches"):
    attempt(path, os.open, path, os.O_WRONLY)
""", user)


@both
def home(place, user):
    """the home folder is empty, and what is written there is gone"""
    need()
    folder = place.root + "/home"
    os.makedirs(folder + "/.ssh")
    with open(folder + "/.ssh/id", "w") as file:
        file.write("secret")
    if user:
        give(place)
    status, out, _ = run(place, "sh", "-c", "ls -A %s; echo x >%s/new" % (folder, folder),
                         user=user, HOME=folder)
    assert status == 0 and out in ("", ".gitconfig\n"), out
    equal(os.listdir(folder), [".ssh"])


@both
def sockets(place, user):
    """/run has no socket of the host; abstract sockets are the sandbox's own"""
    need()
    name = "\0stepback-test-%d" % os.getpid()
    server = socket.socket(socket.AF_UNIX)
    try:
        server.bind(name)
        server.listen()
    except OSError:
        pass
    try_out(place, """
if os.listdir("/run") != ["stepback"]:
    escaped(os.listdir("/run"))
for base, _, files in os.walk("/run"):
    if base == "/run/stepback" and set(files) - {"step.sock", "shim", "step", "bashrc"}:
        escaped(files)
s = socket.socket(socket.AF_UNIX)
attempt("abstract", s.connect, %r)
for family in (16, 17, 38, 40, 44):
    if family != 16:
        attempt("family", socket.socket, family, socket.SOCK_RAW if family == 17
                else socket.SOCK_STREAM)
""" % name, user)
    server.close()


@both
def loopback(place, user):
    """a service at the loopback of the host is out of reach, with a network, too"""
    need()
    server = socket.create_server(("127.0.0.1", 0))
    taken = []

    def accept():
        try:
            taken.append(server.accept())
        except OSError:
            pass

    threading.Thread(target=accept, daemon=True).start()
    for options in (("--no-network",), ()):
        try_out(place, """
for address in ("127.0.0.1", "10.0.2.2", "::1"):
    attempt(address, socket.create_connection, (address, %d), 2)
""" % server.getsockname()[1], user, options)
    equal(taken, [])
    server.close()


@all_users
def links_out(place, user):
    """symlinks and hard links do not lead out of the folder"""
    need()
    with open(place.root + "/secret", "w") as file:
        file.write("secret")
    try_out(place, """
os.symlink(%r, "sym")
os.symlink("..", "up")
for path in ("sym", "up/secret", "../secret", "/proc/self/cwd/../secret"):
    attempt(path, os.open, path, os.O_RDONLY)
for source in ("/etc/passwd", "/usr/bin/env", "/tmp"):
    attempt(source, os.link, source, "hard")
""" % (place.root + "/secret"), user)


@both
def mount_parent(place, user):
    """the parents of the folder's mount have nothing of the host's"""
    try_out(place, """
names = set(os.listdir("..")) - {"home"}
if names != {%r}:
    escaped(names)
for name in ("/tmp/folders", "/oldroot", "/newroot"):
    attempt(name, os.listdir, name)
""" % os.path.basename(place.share), user)


@all_users
def descriptors(place, user):
    """no process of the sandbox has a file or folder of the host open"""
    try_out(place, """
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        numbers = os.listdir("/proc/%%s/fd" %% pid)
    except OSError:
        continue
    for number in numbers:
        link = "/proc/%%s/fd/%%s" %% (pid, number)
        try:
            to = os.readlink(link)
        except OSError:
            continue
        if to.startswith(%r) and not to.startswith(%r) or to.startswith("/dev/fuse"):
            escaped(pid, to)
        if os.path.isdir(link):
            for above in ("/..", "/../..", "/../../.."):
                attempt(to, os.stat, link + above + %r)
""" % (place.root, place.share, place.root + "/cache"), user)


@all_users
def memory_of_others(place, user):
    """no process whose memory can be written has more rights"""
    try_out(place, """
def rights(pid):
    lines = dict(line.split(":", 1) for line in open("/proc/%s/status" % pid))
    return ([int(lines[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")],
            lines["Seccomp"].strip(), lines["NoNewPrivs"].strip())
mine, filtered, no_new = rights("self")
if (filtered, no_new) != ("2", "1"):
    escaped("no filter", filtered, no_new)
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        os.close(os.open("/proc/%s/mem" % pid, os.O_WRONLY))
        caps, its_filter, its_no_new = rights(pid)
    except OSError:
        continue
    if any(a & ~b for a, b in zip(caps, mine)) or (its_filter, its_no_new) != ("2", "1"):
        escaped(pid, caps, mine, its_filter, its_no_new)
""", user)


@all_users
def undo_log(place, user):
    """the undo log can be neither read nor reached by a name"""
    try_out(place, """
found = [base for base, names, files in os.walk("/", onerror=None)
         if not base.startswith(("/proc", "/usr", "/etc")) and
         ("steps" in names or "stepback" in base and base != "/run/stepback" and
          not base.startswith("/run/stepback/"))]
if found:
    escaped(found)
attempt("state", os.listdir, %r)
""" % (place.root + "/state"), user)


@all_users
def cgroups(place, user):
    """the cgroups of the host cannot be changed"""
    try_out(place, """
attempt("/sys", os.listdir, "/sys/fs/cgroup")
for kind in (b"cgroup2", b"cgroup"):
    if call(165, b"c", b"/tmp", kind, 0, b"all" if kind == b"cgroup" else 0)[0] == 0:
        escaped("mount", kind)
for pid in ("self", "1"):
    attempt("adj", lambda: os.write(os.open("/proc/%s/oom_score_adj" % pid, os.O_WRONLY),
                                    b"-1000"))
for line in open("/proc/self/cgroup"):
    if line.split(":", 2)[2].strip() not in ("/", ""):
        escaped(line)
""", user)


@both
def supervisor(place, user):
    """no signal reaches the supervisor; killing all that is seen ends the command
    and leaves the sandbox, which then can be stopped"""
    need()
    if user:
        give(place)
    other = subprocess.Popen(["sleep", "600"], user=USER if user else None)
    try:
        status, name, err = call(place, "up", "--isolation=local", "--no-network",
                                 user=user)
        equal((status, err if status else ""), (0, ""))
        name = name.strip()
        call(place, "exec", name, "--", "sh", "-c",
             "kill -9 -1; kill -9 1 2; kill -9 %d %d" % (other.pid, os.getpid()),
             user=user)
        equal(call(place, "exec", name, "--", "echo", "goes on", user=user)[:2],
              (0, "goes on\n"))
        contains(call(place, "ps", "-a", "--json", user=user)[1], '"running"')
        equal(other.poll(), None)
        equal(call(place, "stop", name, user=user)[0], 0)
        equal(run(place, "true", user=user)[0], 0)
        equal(left_of(place), [])
    finally:
        other.kill()
        other.wait()


@all_users
def forged_mount(place, user):
    """FUSE answers only the folder's server: a device of its own is refused"""
    try_out(place, """
attempt("/dev/fuse", os.open, "/dev/fuse", os.O_RDWR)
attempt("/dev/net/tun", os.open, "/dev/net/tun", os.O_RDWR)
""", user)


main()
