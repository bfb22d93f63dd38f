# SPDX-License-Identifier: Apache-2.0
"""Sandboxes of local isolation: real ones, with bubblewrap and FUSE."""
import os
import shutil
import subprocess

from stdio_client import BUILDDIR, PROGRAM, Skip, equal

LOCAL = ("--isolation=local",)
USER = 1234

# An ordinary user may open these devices on most hosts. Here they are such in a
# mount namespace of the test.
AS_USER = """
for device in fuse:229 net/tun:200; do
    name="$1/${device%%:*}"
    mkdir -p "$(dirname "$name")" && mknod "$name" c 10 "${device#*:}" &&
    chmod 666 "$name" && mount --bind "$name" "/dev/${device%%:*}" || exit 99
done
user=$2
shift 2
exec setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
"""

# Files over others of the host, in a mount namespace of the test: SOURCE TARGET ... --
WITH_FILES = """
while [ "$1" != -- ]; do
    mount --bind "$1" "$2" || exit 99
    shift 2
done
shift
exec "$@"
"""

NAME = "stepback-test"
FIRST_ID = 700000


def user_files(place, users="", groups=""):
    """What makes USER an account with these lines in subuid and subgid: arguments of
    WITH_FILES."""
    folder = place.root + "/files"
    os.makedirs(folder, exist_ok=True)
    texts = {"subuid": users, "subgid": groups}
    for name, line in (("passwd", "%s:x:%d:%d::%s/home:/bin/sh\n"),
                       ("group", "%s:x:%d:\n")):
        with open("/etc/" + name) as file:
            texts[name] = file.read()
        values = (NAME, USER, USER, place.root)[:line.count("%")]
        texts[name] += line % values
    words = []
    for name, text in texts.items():
        with open(folder + "/" + name, "w") as file:
            file.write(text)
        words += [folder + "/" + name, "/etc/" + name]
    return words


def lack():
    """What this host lacks for such a sandbox, or None."""
    if os.geteuid() != 0:
        return "needs root"
    if not shutil.which("bwrap", path="/usr/bin:/bin"):
        return "bubblewrap is not installed"
    if subprocess.run(["unshare", "-Um", "true"], stderr=subprocess.DEVNULL).returncode:
        return "there are no user namespaces here"
    return None if os.path.exists("/dev/fuse") else "there is no /dev/fuse"


def need():
    """Skip the test on a host that cannot run such a sandbox."""
    if lack():
        raise Skip(lack())


def give(place):
    """The place belongs to the ordinary user from now on."""
    for base, names, files in os.walk(place.root):
        for name in names + files:
            os.lchown(os.path.join(base, name), USER, USER)
    os.chown(place.root, USER, USER)


def with_files(files):
    """What runs a command line with these files."""
    return ["unshare", "-m", "sh", "-c", WITH_FILES, "sh", *files, "--"]


def user_line(place, line, files=()):
    """The command line that runs another as the ordinary user."""
    devices = place.root + ".devices"
    os.makedirs(devices, exist_ok=True)
    return [*with_files(files), "sh", "-c", AS_USER, "sh", devices, str(USER), *line]


def call(place, *words, user=False, wrapper=(), files=(), stdin=None, cwd=None, **env):
    """Exit code, standard output and standard error of a command. files: arguments of
    WITH_FILES, for the user."""
    line = [*wrapper, PROGRAM, *words]
    if user:
        line = user_line(place, line, files)
        env.setdefault("HOME", place.root + "/home")
    try:
        done = subprocess.run(line, env=place.environment(STEPBACK_QEMU=None, **env),
                              cwd=cwd or place.share, capture_output=True,
                              timeout=120, input=stdin,
                              stdin=subprocess.DEVNULL if stdin is None else None)
    finally:
        if user:
            shutil.rmtree(place.root + ".devices", ignore_errors=True)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def run(place, *words, options=("--no-network",), **more):
    return call(place, "run", *LOCAL, *options, "--", *words, **more)


def good(place, *words, **more):
    status, out, err = run(place, *words, **more)
    equal((words, status, err if status else ""), (words, 0, ""))
    return out


def left_of(place):
    """Processes of the host that belong to a place: those that have its name in
    their command line, and those in namespaces of such."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                line = file.read()
        except OSError:
            continue
        if place.root.encode() in line and int(pid) != os.getpid():
            found.append((pid, line[:60]))
    return found


def cgroup_of(pid):
    """The path of the cgroup that a supervisor has made, or None."""
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            path = os.readlink("/proc/%d/fd/%s" % (pid, fd))
        except OSError:
            continue
        if os.path.basename(path).startswith("stepback-local-"):
            return path
    return None


def controllers(cgroup):
    """What a cgroup limits."""
    with open(cgroup + "/cgroup.controllers") as file:
        return file.read().split()


__all__ = ["AS_USER", "BUILDDIR", "FIRST_ID", "LOCAL", "NAME", "USER", "call", "cgroup_of", "controllers",
           "give", "good", "lack", "left_of", "need", "run",
           "user_files", "user_line", "with_files"]
