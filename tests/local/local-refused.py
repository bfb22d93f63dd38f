#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Local isolation on a host that cannot have it, and folders that it refuses:
each with a message of its own, exit code 125, and nothing left."""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import USER, call, left_of, need, run  # noqa: E402
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import (Agent, Skip, contains, equal,  # noqa: E402
                          eventually, main, test)


def refused(place, *parts, options=("--no-network",), **more):
    status, out, err = run(place, "true", options=options, **more)
    equal((status, out), (125, ""))
    for part in parts:
        contains(err, part)
    assert eventually(lambda: not left_of(place) and not os.listdir(place.runtime), 20)


def within(script):
    """The command line runs in a mount namespace in which this has been done."""
    return ("unshare", "-m", "sh", "-c", script + '; exec "$@"', "sh")


@sandbox_test
def no_bwrap(place):
    """no bubblewrap: how to install it"""
    need()
    refused(place, "bubblewrap (bwrap) is not installed", "apt-get install bubblewrap",
            STEPBACK_PROGRAM_PATH="/sbin-none")


@sandbox_test
def no_device(place):
    """no /dev/fuse: how to load the module"""
    need()
    refused(place, "/dev/fuse: No such file or directory", "modprobe fuse",
            wrapper=within("mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3"))


@test
def doctor_advice(place):
    """doctor names no group and no module to a processor without virtualization, and
    how the mode of /dev/fuse lasts"""
    need()
    if os.uname().machine != "x86_64":
        raise Skip("KVM of x86_64")
    cpuinfo = place.root + "/cpuinfo"
    os.chmod(place.root, 0o755)
    for flags, node, part in (("fpu", "true", "switch virtualization"),
                              ("fpu", "mknod -m 600 /dev/kvm c 10 232",
                               "on in the firmware; if this host is a virtual machine"),
                              ("fpu vmx", "true", "modprobe kvm_intel"),
                              ("svm fpu", "mknod -m 600 /dev/kvm c 10 232",
                               'usermod -aG kvm "$USER"')):
        with open(cpuinfo, "w") as file:
            file.write("flags\t\t: %s\n" % flags)
        wrapper = within("mount --bind %s /proc/cpuinfo && mount -t tmpfs -o mode=755 "
                         "none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 600 "
                         "/dev/fuse c 10 229 && %s" % (cpuinfo, node))
        out = call(place, "doctor", "--json", cwd="/", wrapper=(
            *wrapper, "setpriv", "--reuid", str(USER), "--regid", str(USER),
            "--clear-groups"))[1]
        checks = {check["name"]: check["remedy"] for check in
                  json.loads(out)["checks"] if "remedy" in check}
        contains(checks["KVM"], part)
        equal((flags, "usermod" in checks["KVM"], "modprobe" in checks["KVM"]),
              (flags, "usermod" in part, "modprobe" in part))
        contains(checks["FUSE"], "chmod a+rw /dev/fuse")
        contains(checks["FUSE"], ">/etc/udev/rules.d/99-fuse.rules")


@sandbox_test
def no_namespaces(place):
    """user namespaces forbidden: how to allow them"""
    need()
    refused(place, "cannot make a user namespace",
            "sysctl user.max_user_namespaces=10000",
            wrapper=("unshare", "-U", "--map-root-user", "sh", "-c",
                     "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"",
                     "sh"))


@sandbox_test
def no_range(place):
    """a sandbox within a container of few ids says what it lacks"""
    need()
    refused(place, "cannot map the ids", "--isolation=vm",
            wrapper=("unshare", "-U", "--map-root-user"))


@sandbox_test
def folders(place):
    """/, the home folder and folders of the system are refused"""
    need()
    home = place.root + "/home"
    os.mkdir(home)
    for path, part in (("/", "must lie outside the shared folder"),
                       (home, "your home folder is in it"),
                       (place.root, "your home folder is in it"),
                       ("/usr", "it would replace a folder of the system"),
                       ("/proc/sys", "the sandbox has for itself")):
        refused(place, part, options=("--no-network", "--force-share", "-C", path,
                                      "--undo-dir", place.root + "-log"), HOME=home)


@sandbox_test
def log_inside(place):
    """a folder that has its undo log in it is refused"""
    need()
    refused(place, place.share + "/log",
            options=("--no-network", "--undo-dir", place.share + "/log"))


@sandbox_test
def machine_options(place):
    """options of virtual machines are refused, not ignored"""
    need()
    for option in ("--backend=9p", "--persist", "--kernel=/bin/true"):
        refused(place, "only for a virtual machine", options=("--no-network", option))


@sandbox_test
def image_and_accelerator(place):
    """--image and --accel are refused by name; as defaults of config.ini, they are
    those of virtual machines, and rootfs is that of local isolation"""
    need()
    refused(place, '--image ("image"): only for a virtual machine', "--rootfs=debian",
            options=("--no-network", "--image=debian"))
    refused(place, "--rootfs=minimal", options=("--no-network", "--image=minimal"))
    refused(place, "omit it, as --rootfs", options=("--no-network", "--image=x",
                                                    "--rootfs=x"))
    refused(place, '--accel ("accel"): only for a virtual machine',
            options=("--no-network", "--accel=tcg"))
    for field, value in (("image", "debian"), ("accel", "tcg")):
        agent = Agent(place)
        number, message = agent.error("session.start", isolation="local",
                                      vm={field: value},
                                      working_directories=[{"path": place.share}])
        equal(number, 1004)
        contains(message, '("%s"): only for a virtual machine' % field)
        agent.close()
    os.makedirs(place.root + "/config/stepback")
    with open(place.root + "/config/stepback/config.ini", "w") as file:
        file.write("[defaults]\nimage = debian\naccel = tcg\n")
    status, out, err = run(place, "echo", "x")
    equal((status, out), (0, "x\n"))


@sandbox_test
def codes(place):
    """the API has a stable code for each"""
    need()
    device = within("mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3")
    for number, more in ((2008, {"STEPBACK_PROGRAM_PATH": "/sbin-none"}),
                         (2009, {"wrapper": ("unshare", "-U", "--map-root-user")}),
                         (2010, {"wrapper": device})):
        agent = Agent(place, **more)
        equal(agent.error("session.start", isolation="local",
                          working_directories=[{"path": place.share}])[0], number)
        agent.close()


main()
