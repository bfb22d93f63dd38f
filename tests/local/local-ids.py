#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The users of an ordinary user's local sandbox: the subordinate ids that the host
gives the user, or one. Each test makes an account with ranges in a mount namespace of
its own; the host's /etc stays as it is."""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import (FIRST_ID, LOCAL, NAME, USER, call, give, left_of,  # noqa: E402
                        need, run, user_files, user_line)
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import (PROGRAM, Skip, contains, descendants,  # noqa: E402
                          equal, eventually, main, snapshot)

RANGE = "%s:%d:65536\n" % (NAME, FIRST_ID)


def need_ids(place):
    need()
    for path in ("/usr/bin/newuidmap", "/usr/bin/newgidmap", "/etc/subuid", "/etc/subgid"):
        if not os.path.exists(path):
            raise Skip("there is no " + path)
    give(place)


def ranges(place, users=RANGE, groups=RANGE):
    return {"user": True, "files": user_files(place, users, groups)}


def as_user(place, *words, options=("--no-network",), **more):
    status, out, err = run(place, *words, options=options, **{**ranges(place), **more})
    equal((status, err if status else ""), (0, ""))
    return out


@sandbox_test
def maps(place):
    """the own id keeps its number; the subordinate ones have all others"""
    need_ids(place)
    out = as_user(place, "cat", "/proc/self/uid_map", "/proc/self/gid_map")
    lines = [tuple(map(int, line.split())) for line in out.splitlines()]
    # Shown with the outer numbers of a parent that is out of reach: only the first
    # and the last column are the sandbox's.
    equal(sorted((a, c) for a, _, c in lines),
          sorted(2 * [(USER, 1), (0, USER), (USER + 1, 65536 - USER - 1)]))
    equal(as_user(place, "sh", "-c", "id -u; id -g").split(), [str(USER)] * 2)


@sandbox_test
def several_ranges(place):
    """several ranges are used, by name and by number, one after the other, and once"""
    need_ids(place)
    lines = "other:1:5\n%s:800000:10\n%d:900000:10\n%d:800005:10\n" % (NAME, USER, USER)
    status, out, err = run(place, "sh", "-c", "cat /proc/self/uid_map; id -u",
                           options=("--no-network",), **ranges(place, lines, lines))
    equal((status, err if status else ""), (0, ""))
    equal([(a, c) for a, _, c in (line.split() for line in out.splitlines()[:-1])],
          [(str(USER), "1"), ("0", "10"), ("10", "10")])


@sandbox_test
def other_users(place):
    """root and other users own files of the sandbox, and become others"""
    need_ids(place)
    options = ("--no-network", "--user=root")
    out = as_user(place, "python3", "-c", """
import os
os.setgroups([0, 4, 27])
print(os.getuid(), sorted(os.getgroups()))
for uid in (0, 1, 33, 65534):
    open("/tmp/of", "w").close()
    os.chown("/tmp/of", uid, uid)
    st = os.stat("/tmp/of")
    assert (st.st_uid, st.st_gid) == (uid, uid), st
    os.unlink("/tmp/of")
pid = os.fork()
if pid == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
    os._exit(7 if os.getresuid() == (65534,) * 3 else 1)
print(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))
""", options=options)
    equal(out, "0 [0, 4, 27]\n7\n")
    out = as_user(place, "su", "-s", "/bin/sh", "nobody", "-c", "id -u", options=options)
    equal(out, "65534\n")
    equal(as_user(place, "sh", "-c", "id -u; id -g",
                  options=("--no-network", "--user=nobody:33")), "65534\n33\n")


@sandbox_test
def rights(place):
    """a command has no capability unless it is root's, and cannot get one"""
    need_ids(place)
    show = "grep -h '^Cap\\(Inh\\|Prm\\|Eff\\|Amb\\)' /proc/self/status | cut -f2"
    for options in ((), ("--user=nobody",)):
        equal(set(as_user(place, "sh", "-c", show,
                          options=("--no-network", *options)).split()), {"0" * 16})
    # CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID: those of root's sandbox
    mask = sum(1 << bit for bit in (0, 1, 3, 4, 5, 6, 7))
    out = as_user(place, "sh", "-c", show.replace("Amb", "Bnd"),
                  options=("--no-network", "--user=root"))
    assert all(int(word, 16) & ~mask == 0 for word in out.split()), out
    status, out, _ = run(place, "sh", "-c", "su -s /bin/sh nobody -c id </dev/null",
                         options=("--no-network",), **ranges(place))
    assert status != 0 and out == "", out


def sleeping(pid):
    found = []
    for child in descendants(pid):
        try:
            with open("/proc/%d/comm" % child) as file:
                if file.read() == "sleep\n":
                    found.append(child)
        except OSError:
            pass
    return found


@sandbox_test
def no_namespaces(place):
    """no user of the sandbox can make a user namespace, with no filter of calls, too"""
    need_ids(place)
    os.chmod(place.share, 0o777)
    line = user_line(place, [PROGRAM, "run", *LOCAL, "--no-network", "--", "sh", "-c",
                             "cat /proc/sys/user/max_user_namespaces >limit; "
                             "sleep 600 & echo >ready; wait"],
                     user_files(place, RANGE, RANGE))
    started = subprocess.Popen(line, cwd=place.share, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env=place.environment(STEPBACK_QEMU=None,
                                                     HOME=place.root + "/home"))
    try:
        assert eventually(lambda: os.path.exists(place.share + "/ready"), 20)
        with open(place.share + "/limit") as file:
            equal(file.read(), "0\n")
        assert eventually(lambda: sleeping(started.pid), 20)
        [inside] = sleeping(started.pid)
        # The host's root enters the namespace: as the own id, root and nobody, without
        # the sandbox's filter and with all capabilities.
        for uid in (USER, 0, 65534):
            done = subprocess.run(
                ["nsenter", "-U", "-t", str(inside), "-S", str(uid), "-G", str(uid),
                 "unshare", "-U", "true"], capture_output=True, text=True)
            equal(done.returncode, 1)
            contains(done.stderr, "No space left on device")
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()
        started.stderr.close()
        assert eventually(lambda: not left_of(place), 20), left_of(place)
        shutil.rmtree(place.root + ".devices", ignore_errors=True)


SHARE = """
import errno, os, stat
def refused(what, function, *args):
    try:
        function(*args)
    except PermissionError:
        return
    print("allowed:", what)
own = os.stat(".").st_uid
who = os.getuid()
refused("read 0600", open, "private")
refused("write 0644", os.open, "shown", os.O_WRONLY)
refused("write in 0755", os.open, "closed/new", os.O_CREAT | os.O_WRONLY)
refused("remove in 0755", os.unlink, "closed/kept")
refused("chmod", os.chmod, "shown", 0o777)
refused("times", os.utime, "shown", (1, 1))
refused("chown", os.chown, "shown", who, who)
refused("enter 0700", os.listdir, "hidden")
refused("host root's", open, "of-root")
assert open("shown").read() == "shown"
# A file that it makes is the user's, as on a share that squashes ids.
fd = os.open("open/made", os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o644)
os.write(fd, b"made")
st = os.fstat(fd)
assert (st.st_uid, stat.S_IMODE(st.st_mode)) == (own, 0o644), st
refused("a set-user-ID bit", os.open, "open/suid", os.O_CREAT | os.O_WRONLY, 0o4755)
refused("write what it made", os.open, "open/made", os.O_WRONLY)
refused("chown what it made", os.fchown, fd, who, -1)
os.mkdir("open/folder")
os.rename("open/made", "open/renamed")
with open("open/shared", "a") as file:
    file.write(" and more")
print("done", who)
"""


def fill(place):
    os.chmod(place.share, 0o755)
    for name, mode in (("closed", 0o755), ("hidden", 0o700), ("open", 0o777)):
        os.mkdir(place.share + "/" + name)
        os.chmod(place.share + "/" + name, mode)
    for name, mode in (("private", 0o600), ("shown", 0o644), ("closed/kept", 0o666),
                       ("open/shared", 0o666), ("of-root", 0o600), ("of-other", 0o600)):
        with open(place.share + "/" + name, "w") as file:
            file.write(os.path.basename(name))
        os.chmod(place.share + "/" + name, mode)
    give(place)
    os.chown(place.share + "/of-root", 0, 0)
    os.chown(place.share + "/of-other", 65534, 65534)


@sandbox_test
def share_as_others(place):
    """another user of the sandbox has the rights that the modes of the share give to
    others; what it makes is the user's; undo is exact"""
    need_ids(place)
    fill(place)
    before = snapshot(place.share)
    # 65534 is the number of the owner of a file on the host, which is another user.
    for user in ("nobody", "33:33", "65534:65534"):
        out = as_user(place, "python3", "-c", SHARE,
                      options=("--no-network", "--user=" + user))
        equal(out.split()[0], "done")
        equal(os.stat(place.share + "/open/folder").st_uid, USER)
        assert snapshot(place.share) != before
        status, _, err = call(place, "undo", "--yes", **ranges(place))
        equal((status, err if status else ""), (0, ""))
        equal(snapshot(place.share), before)


@sandbox_test
def share_as_root(place):
    """root of the sandbox has at most the user's rights in the share, and cannot give
    a file of it to another user"""
    need_ids(place)
    fill(place)
    before = snapshot(place.share)
    out = as_user(place, "python3", "-c", """
import errno, os
def refused(what, function, *args):
    try:
        function(*args)
    except OSError as error:
        assert error.errno in (errno.EPERM, errno.EACCES, errno.EOVERFLOW), error
        return
    print("allowed:", what)
for name in ("of-root", "of-other"):
    refused("read " + name, open, name)
    refused("write " + name, os.open, name, os.O_WRONLY)
    refused("chmod " + name, os.chmod, name, 0o777)
    refused("take " + name, os.chown, name, %d, %d)
    assert os.stat(name).st_uid == 65534
for uid in (0, 1, 33, 65534):
    refused("chown %%d" %% uid, os.chown, "shown", uid, -1)
    os.chown("shown", -1, uid)  # changes of a group are ignored
open("new", "w").close()
refused("chown new", os.chown, "new", 0, 0)
refused("a set-user-ID bit", os.chmod, "shown", 0o6755)
print("done")
""" % (USER, USER), options=("--no-network", "--user=root"))
    equal(out, "done\n")
    equal([(st.st_uid, st.st_gid) for st in map(os.stat, (place.share + "/new",
                                                          place.share + "/shown"))],
          [(USER, USER)] * 2)
    equal(os.stat(place.share + "/shown").st_mode & 0o6000, 0)
    equal(call(place, "undo", "--yes", **ranges(place))[0], 0)
    equal(snapshot(place.share), before)


@sandbox_test
def signals(place):
    """processes of all users end with their command"""
    need_ids(place)
    own = ranges(place)
    status, name, err = call(place, "up", *LOCAL, "--no-network", **own)
    equal((status, err if status else ""), (0, ""))
    own = ranges(place)
    status, _, _ = call(place, "exec", "--timeout=1", name.strip(), "--user=root", "--",
                        "su", "-s", "/bin/sh", "nobody", "-c", "sleep 600", **own)
    assert status != 0
    out = call(place, "exec", name.strip(), "--", "sh", "-c",
               "cat /proc/[0-9]*/comm", user=True)[1]
    assert "sleep" not in out, out
    equal(call(place, "stop", name.strip(), user=True)[0], 0)
    equal(left_of(place), [])


@sandbox_test
def killed(place):
    """of a killed supervisor no file of a subordinate id is left; a new one starts"""
    need_ids(place)
    line = user_line(place, [PROGRAM, "run", *LOCAL, "--no-network", "--user=root", "--",
                             "sh", "-c", "mkdir -p /tmp/a/b && chown -R 33:33 /tmp/a && "
                             "echo >ready; sleep 600"], user_files(place, RANGE, RANGE))
    started = subprocess.Popen(line, cwd=place.share, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=place.environment(STEPBACK_QEMU=None,
                                                     HOME=place.root + "/home"))
    try:
        assert eventually(lambda: os.path.exists(place.share + "/ready"), 20)
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()
    assert eventually(lambda: not left_of(place), 20), left_of(place)
    shutil.rmtree(place.root + ".devices", ignore_errors=True)
    for base, names, files in os.walk(place.root):
        for name in names + files:
            assert os.lstat(os.path.join(base, name)).st_uid < FIRST_ID, (base, name)
    equal(as_user(place, "echo", "again"), "again\n")


@sandbox_test
def added_folder(place):
    """a folder that is added while the sandbox runs has the same rights"""
    need_ids(place)
    other = place.root + "/other"
    os.mkdir(other, 0o755)
    os.chown(other, USER, USER)
    status, name, err = call(place, "up", *LOCAL, "--no-network", **ranges(place))
    equal((status, err if status else ""), (0, ""))
    name = name.strip()
    status, _, err = call(place, "folder", name, "add", other, user=True)
    equal((status, err if status else ""), (0, ""))
    status, out, err = call(place, "exec", name, "--", "sh", "-c",
                            "echo x >%s/new; stat -c %%u %s/new" % (other, other), user=True)
    equal((status, out), (0, "%d\n" % USER))
    status, _, err = call(place, "exec", name, "--user=nobody", "--", "sh", "-c",
                          "echo x >%s/more" % other, user=True)
    assert status != 0
    contains(err, "Permission denied")
    equal(call(place, "stop", name, user=True)[0], 0)


@sandbox_test
def one_user(place):
    """without ranges or programs the sandbox has one user; inspect and doctor say it"""
    need_ids(place)
    for files in (("", ""), (RANGE, ""), ("", RANGE), ("%s:x:y\n" % NAME, RANGE),
                  ("other" + RANGE, RANGE)):
        out = run(place, "cat", "/proc/self/uid_map", options=("--no-network",),
                  **ranges(place, *files))[1]
        equal([line.split()[2] for line in out.splitlines()], ["1"])
    out = call(place, "doctor", **ranges(place, "", ""))[1]
    contains(out, "a local sandbox has one user: /etc/subuid has no range for " + NAME)
    contains(out, "usermod --add-subuids")
    out = call(place, "doctor", **ranges(place, RANGE, ""))[1]
    contains(out, "a local sandbox has one user: /etc/subgid has no range for " + NAME)
    programs = place.root + "/programs"
    os.mkdir(programs)
    os.symlink("/usr/bin/bwrap", programs + "/bwrap")
    out = call(place, "doctor", STEPBACK_PROGRAM_PATH=programs, **ranges(place))[1]
    contains(out, "a local sandbox has one user: newuidmap is not installed")
    contains(out, "apt-get install uidmap")
    contains(call(place, "doctor", **ranges(place))[1], "a local sandbox has 65536 users")


@sandbox_test
def programs_without_rights(place):
    """where programs gain no rights, the sandbox has one user; doctor says why"""
    need_ids(place)
    if not shutil.which("setpriv"):
        raise Skip("there is no setpriv")
    bound = {"wrapper": ("setpriv", "--no-new-privs")}
    status, out, err = run(place, "cat", "/proc/self/uid_map", **bound, **ranges(place))
    equal((status, err if status else "", out.split()[2:]), (0, "", ["1"]))
    contains(call(place, "doctor", **bound, **ranges(place))[1],
             "a local sandbox has one user: programs gain no rights here")


@sandbox_test
def given_files(place):
    """other users of the sandbox read its resolv.conf and cannot change git's settings"""
    need_ids(place)
    as_user(place, "cat", "/etc/resolv.conf", options=("--no-network", "--user=nobody"))
    out = as_user(place, "sh", "-c", "stat -c %a ~/.gitconfig",
                  options=("--no-network", "--git-identity=A <a@example.org>"))
    equal(out, "644\n")


@sandbox_test
def inspected(place):
    """inspect counts the users"""
    need_ids(place)
    for files, count in (((RANGE, RANGE), 65536), (("", ""), 1)):
        status, name, err = call(place, "up", *LOCAL, "--no-network", **ranges(place, *files))
        equal((status, err if status else ""), (0, ""))
        out = call(place, "inspect", name.strip(), user=True)[1]
        equal(json.loads(out)["live"]["session"]["ids"], count)
        equal(call(place, "stop", name.strip(), user=True)[0], 0)


@sandbox_test
def failures(place):
    """a program that fails is an error with its remedy, and no sandbox with one user"""
    need_ids(place)
    # The file says more than newuidmap allows: this copy of it is not root's.
    programs = place.root + "/programs"
    os.mkdir(programs)
    for name in ("bwrap", "newgidmap"):
        os.symlink("/usr/bin/" + name, programs + "/" + name)
    shutil.copyfile("/usr/bin/newuidmap", programs + "/newuidmap")
    os.chmod(programs + "/newuidmap", 0o755)
    for words in (("run", *LOCAL, "--no-network", "--", "true"), ("doctor",)):
        status, out, err = call(place, *words, STEPBACK_PROGRAM_PATH=programs,
                                **ranges(place))
        assert words[0] == "doctor" or status == 125, status
        contains(out + err, programs + "/newuidmap failed")
        contains(out + err, "it must be set-user-ID root")
        contains(out + err, "apt-get install --reinstall uidmap")
    equal(left_of(place), [])


main()
