#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits of a local sandbox that need no cgroup: it cannot take all that the kernel
grants the user who started it, nor start a handler of core dumps, nor go round the
number of processes by further users; nor has it the keys of that user."""
import ctypes
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import (FIRST_ID, LOCAL, NAME, USER, call, give, need,  # noqa: E402
                        run, user_files)
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import Skip, contains, equal, main  # noqa: E402

# Each id in turn takes what it can, while the others keep theirs.
TAKE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
ids = [0, 1, 2] if os.getuid() == 0 else [os.getuid()]
def watches():
    return libc.inotify_init1(0)
def groups():
    return libc.fanotify_init(0x200, 0)
def timers():
    return libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p()))
def queues():
    name = b"/%d" % os.getpid()
    fd = libc.mq_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600, None)
    libc.mq_unlink(name)
    return fd
for make in (MAKERS):
    total, holders = 0, []
    for id in ids:
        counts, ends = os.pipe(), os.pipe()
        if os.fork() == 0:
            os.close(ends[1])
            if id:
                os.setresuid(id, id, id)
            count = 0
            while count < 1000 and make() >= 0:
                count += 1
            os.write(counts[1], b"%d" % count)
            os.read(ends[0], 1)
            os._exit(0)
        os.close(ends[0])
        holders.append(ends[1])
        total += int(os.read(counts[0], 10))
    print(total)
    for end in holders:
        os.close(end)
    for id in ids:
        os.wait()
"""

RESOURCES = """
import resource
print(*resource.getrlimit(resource.RLIMIT_CORE),
      resource.getrlimit(resource.RLIMIT_NOFILE)[1] <= 4096)
for name in ("CORE", "NOFILE", "NPROC", "SIGPENDING", "MSGQUEUE"):
    kind = getattr(resource, "RLIMIT_" + name)
    try:
        more = resource.getrlimit(kind)[1] + 1
        resource.setrlimit(kind, (more, more))
        print("raised", name)
    except ValueError:
        pass
"""

# add_key(2) in the keyring of the user, keyctl(2) to clear it. 0 if there is none.
KEYS = """
import ctypes
call = ctypes.CDLL(None).syscall
print(max(call(%s), 0))
"""
ADD_KEY = KEYS % '248, b"user", b"stepback-test", b"secret", 6, -4'
CLEAR_KEYS = KEYS % "250, 7, -4"

PROCESSES = """
import os, time
pipe = os.pipe()
started = 1
for id in (0, 1, 2):
    if os.fork() == 0:
        if id:
            os.setresuid(id, id, id)
        count = 0
        try:
            while count < 60:
                if os.fork() == 0:
                    os.close(pipe[1])
                    time.sleep(1000)
                count += 1
        except BlockingIOError:
            pass
        os.write(pipe[1], b"%d\\n" % (count + 1))
        time.sleep(1000)
text = b""
while text.count(b"\\n") < 3:
    text += os.read(pipe[0], 100)
print(sum(map(int, text.split())))
"""


def half(name):
    try:
        with open("/proc/sys/fs/" + name) as file:
            return int(file.read()) // 2
    except FileNotFoundError:
        raise Skip("this kernel has no " + name)


def output(place, program, options=("--no-network",), **more):
    need()
    status, out, err = run(place, "python3", "-c", program, options=options, **more)
    equal((status, err if status else ""), (0, ""))
    return out


def inner_root(place):
    """The arguments of a sandbox with subordinate ids, as its root: for one run."""
    if not os.path.exists("/usr/bin/newuidmap") or not os.path.exists("/etc/subuid"):
        raise Skip("uidmap is not installed")
    line = "%s:%d:65536\n" % (NAME, FIRST_ID)
    return {"user": True, "files": user_files(place, line, line),
            "options": ("--no-network", "--user=root")}


def taken(place, makers, **more):
    return [int(word) for word in
            output(place, TAKE.replace("MAKERS", makers), **more).split()]


def check_limits(place, more):
    """Of the host user's timers and queues, which have a limit of resources."""
    words = ("prlimit", "--sigpending=400:400", "--msgqueue=819200:819200")
    timers, queues = taken(place, "timers, queues", wrapper=words, **more)
    assert 0 < timers <= 200, timers
    assert 0 < queues * 81920 <= 409600, queues


def check(place, choose=lambda place: {}):
    most = half("inotify/max_user_instances"), half("fanotify/max_user_groups")
    counts = taken(place, "watches, groups", **choose(place))
    # Not exactly: other processes of the host's user may have some.
    assert all(count <= limit for count, limit in zip(counts, most)), (counts, most)
    check_limits(place, choose(place))
    words = output(place, RESOURCES, **choose(place)).split()
    assert words in (["1", "1", "True"], ["0", "0", "True"]), words


@sandbox_test
def roots_sandbox_leaves_half_to_the_host(place):
    """root's sandbox takes at most half of the host user's quotas, by all its users"""
    check(place)


@sandbox_test
def a_users_sandbox_leaves_half_to_the_host(place):
    """so does an ordinary user's with one id"""
    give(place)
    check(place, lambda place: {"user": True})


@sandbox_test
def a_sandbox_with_subordinate_ids_leaves_half_to_the_host(place):
    """so does one with subordinate ids"""
    need()
    give(place)
    check(place, inner_root)


@sandbox_test
def users_share_the_number_of_processes(place):
    """all users of root's sandbox share one limit of processes"""
    words = ("prlimit", "--nproc=40:40")
    assert int(output(place, PROCESSES, wrapper=words)) < 40


def as_user(*line):
    return subprocess.run(("setpriv", "--reuid", str(USER), "--clear-groups", *line),
                          check=True, capture_output=True, text=True).stdout


def need_keys():
    need()
    if ctypes.sizeof(ctypes.c_long) != 8 or os.uname().machine != "x86_64":
        raise Skip("the test has the numbers of x86-64's calls")
    if not int(as_user("/usr/bin/python3", "-c", ADD_KEY)):
        raise Skip("there are no keys here")


@sandbox_test
def no_list_of_keys(place):
    """a sandbox sees no key of the host's user"""
    give(place)
    need_keys()
    try:
        contains(as_user("cat", "/proc/keys"), "stepback-test")
        for more in ({}, {"user": True}, inner_root(place)):
            equal(output(place, "print(open('/proc/keys').read(), "
                         "open('/proc/key-users').read())", **more), " \n")
    finally:
        as_user("/usr/bin/python3", "-c", CLEAR_KEYS)


@sandbox_test
def session_keyring(place):
    """a sandbox has a session keyring of its own, so that the kernel uses no key of the
    host's user for it"""
    def keyrings():
        return {line.split()[0] for line in as_user("cat", "/proc/keys").splitlines()
                if " _ses:" in line}
    give(place)
    need_keys()
    as_user("/usr/bin/python3", "-c", CLEAR_KEYS)
    before = keyrings()
    equal(call(place, "up", *LOCAL, "--no-network", user=True)[0], 0)
    # The kernel removes those of sandboxes that have ended when it likes.
    assert keyrings() - before, before
    equal(call(place, "stop", user=True)[0], 0)


if __name__ == "__main__":
    main()
