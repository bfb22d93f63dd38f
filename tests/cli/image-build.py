#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds of guest images at the same time, and what killed ones leave. With
programs in place of apt and the like: no build gets further than its start."""
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (SRCDIR, contains, equal, eventually,  # noqa: E402
                          main, test)

# A build waits in here until there is a file "go".
APT_GET = """#!/bin/sh
echo >> "{0}/started"
until [ -e "{0}/go" ]; do sleep 0.05; done
exit 1
"""


class Builds:
    def __init__(self, place):
        self.root = place.root
        self.cache = place.root + "/own/stepback/guest"
        os.makedirs(self.cache)
        os.mkdir(place.root + "/bin")
        self.program("apt-get", APT_GET.format(place.root))
        for name in ("apt-config", "dpkg-deb", "cpio", "depmod", "xz", "zstd"):
            self.program(name, "#!/bin/sh\n")
        self.program("shim", "#!/bin/sh\necho stepback-shim 1\n")

    def program(self, name, text):
        with open("%s/bin/%s" % (self.root, name), "w") as file:
            file.write(text)
        os.chmod(file.name, 0o755)

    def start(self):
        return subprocess.Popen(
            [os.path.join(os.path.abspath(SRCDIR), "contrib/guest/build"),
             "--shim", self.root + "/bin/shim"],
            env={"PATH": self.root + "/bin:/usr/bin:/bin",
                 "XDG_CACHE_HOME": self.root + "/own", "LC_ALL": "C"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True)

    def started(self, count):
        path = self.root + "/started"
        return eventually(lambda: os.path.exists(path) and
                          os.path.getsize(path) == count, 20)

    def left(self):
        return sorted(name for name in os.listdir(self.cache)
                      if name not in ("apt", ".build.lock"))


@test
def one_build_at_a_time(place):
    """a second build says which process it waits for, and removes what the
    first has left if it is killed; an image that was set aside comes back"""
    builds = Builds(place)
    for name in ("minimal.building-AAAAAA", "debian.building-BBBBBB",
                 "minimal.old", "mine"):
        os.makedirs(builds.cache + "/" + name + "/result")
    lock = builds.cache + "/.build.lock"
    open(lock, "w").close()
    os.chmod(lock, 0o644)
    first = builds.start()
    assert builds.started(1), first.communicate()
    # Another user who could read it could lock it.
    equal(stat.S_IMODE(os.stat(lock).st_mode), 0o600)
    own, *rest = [name for name in builds.left() if ".building-" in name]
    equal((rest, own in ("minimal.building-AAAAAA", "debian.building-BBBBBB")),
          ([], False))
    equal(builds.left(), sorted([own, "mine", "minimal"]))
    second = builds.start()
    line = second.stdout.readline()
    contains(line, "waiting for another build: process %d builds %s/minimal\n" %
             (first.pid, builds.cache))
    equal((own in builds.left(), len(builds.left())), (True, 3))
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert builds.started(2), second.communicate()
    equal((own in builds.left(), len(builds.left())), (False, 3))
    open(builds.root + "/go", "w").close()
    out, _ = second.communicate(timeout=60)
    equal((second.returncode, builds.left()), (1, ["mine", "minimal"]))


# Sources of a host, in both formats, with passwords.
LIST = """deb [arch=amd64] https://me:one%40x@mirror.test/debian bookworm main
# deb http://other.test/debian bookworm main
"""
DEB822 = """Types: deb
# a comment
URIs: http://me:two@security.test/debian-security
Suites: bookworm-security
Components: main

"""
CONFIG = """Acquire::http::Proxy "http://me:three@proxy.test";"""


class Fetch(Builds):
    """The functions of fetch.sh, over a host's sources in "etc" and programs in
    place of apt's."""

    def __init__(self, place, apt_get="#!/bin/sh\n"):
        super().__init__(place)
        self.etc, self.apt = place.root + "/etc", self.cache + "/apt"
        os.makedirs(self.etc + "/sources.list.d")
        self.program("apt-get", apt_get)
        self.program("apt-config", "#!/bin/sh\necho '%s'\n" % CONFIG)
        self.write(self.etc + "/sources.list", LIST)
        self.write(self.etc + "/sources.list.d/a.sources", DEB822)

    def write(self, path, text):
        with open(path, "w") as file:
            file.write(text)

    def read(self, name):
        with open(self.apt + "/" + name) as file:
            return file.read()

    def run(self, script):
        """Run shell commands after fetch.sh; exit code and output."""
        guest = os.path.abspath(SRCDIR) + "/contrib/guest"
        done = subprocess.run(
            ["bash", "-c", """set -eu -o pipefail; shopt -s inherit_errexit
             . %s/fetch.sh; host_apt=%s work=%s
             die() { echo "$*"; exit 1; }
             run_logged() { "$@" >>"$work/log" 2>&1 </dev/null; }
             guest_suite() { echo bookworm; }
             %s""" % (guest, self.etc, self.root, script)],
            env={"PATH": self.root + "/bin:/usr/bin:/bin", "LC_ALL": "C"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        return done.returncode, done.stdout


@test
def passwords_stay_on_the_host(place):
    """users and passwords of mirrors and proxies reach apt, and neither the guest
    nor other users"""
    fetch = Fetch(place)
    os.makedirs(fetch.apt)
    for name in ("sources.list", "apt.conf"):
        fetch.write(fetch.apt + "/" + name, "")
        os.chmod(fetch.apt + "/" + name, 0o644)
    equal(fetch.run("fetch_init %s" % fetch.apt), (0, ""))
    sources = fetch.read("sources.list")
    contains(sources, "https://me:one%40x@mirror.test/debian bookworm main\n")
    contains(sources, "http://me:two@security.test/debian-security bookworm-sec")
    contains(fetch.read("apt.conf"), CONFIG)
    guest = fetch.read("guest.list")
    contains(guest, "deb https://mirror.test/debian bookworm main\n")
    contains(guest, "deb http://security.test/debian-security bookworm-security main")
    equal("@" in guest, False)
    equal([name for name in ("sources.list", "apt.conf")
           if os.stat(fetch.apt + "/" + name).st_mode & 0o077], [])
    fetch.program("apt-get", "#!/bin/sh\n[ \"$1\" = indextargets ]\n")
    status, out = fetch.run("fetch_init %s" % fetch.apt)
    equal((status, "%40" in out), (1, False))
    contains(out, "cannot fetch the package lists from https://mirror.test/debian")


@test
def python_of_the_image(place):
    """the image's Python, which compiles its modules, runs no file that the image
    has or links to, and compiles none of the host"""
    root = place.root + "/root"
    python = root + "/usr/lib/python3"
    for name in (python, root + "/usr/lib/python3/dist-packages", root + "/lib64",
                 root + "/usr/share/python3", root + "/usr/bin"):
        os.makedirs(name, exist_ok=True)
    os.symlink("python3", root + "/usr/bin/python3")
    with open(root + "/lib64/ld-linux-x86-64.so.2", "w") as file:
        file.write('#!/bin/sh\nshift 3\nexec /usr/bin/python3 "$@"\n')
    os.chmod(file.name, 0o755)
    with open(place.root + "/host.py", "w") as file:
        file.write("secret = 1\n")
    with open(python + "/own.py", "w") as file:
        file.write("own = 1\n")
    os.symlink(place.root + "/host.py", python + "/sitecustomize.py")
    script = ". %s/contrib/guest/configure.sh; root=%s; set -x; compile_python" % (
        os.path.abspath(SRCDIR), root)
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True,
                          timeout=60)
    equal((done.returncode, done.stdout), (0, ""))
    contains(done.stderr, " -I -S -m compileall")
    compiled = os.listdir(python + "/__pycache__")
    equal([name.split(".")[0] for name in compiled], ["own"])


# Knows package "a" with the content "good".
ARCHIVE = """#!/bin/sh
case "$*" in
"download --print-uris a=1") echo "'http://x/a.deb' a_1_amd64.deb 5 SHA256:{1}" ;;
"download a=1") echo good >a_1_amd64.deb; echo fetched >>"{0}/started" ;;
"install -s a") echo 'Inst a (1 Debian:12/stable [amd64])' ;;
"install -y --download-only a")
    [ -e "{2}/a_1_amd64.deb" ] || echo good >"{2}/a_1_amd64.deb" ;;
esac
"""


@test
def damaged_packages_are_fetched_again(place):
    """a cached package that differs from the signed lists is not used"""
    fetch = Fetch(place)
    archives = fetch.apt + "/archives"
    fetch.program("apt-get", ARCHIVE.format(
        place.root, hashlib.sha256(b"good\n").hexdigest(), archives))
    os.makedirs(archives + "/partial")
    for script in ("fetch_one a 1; echo $fetched", "fetch_closure a; echo $fetched_all"):
        for text in ("evil\n", "good\n"):
            fetch.write(archives + "/a_1_amd64.deb", text)
            equal(fetch.run("archives=%s; %s" % (archives, script)),
                  (0, archives + "/a_1_amd64.deb\n"))
            equal(fetch.read("archives/a_1_amd64.deb"), "good\n")
    assert fetch.started(len("fetched\n"))


@test
def a_cache_of_others_is_refused(place):
    """a build uses no cache that another user owns or can write to"""
    builds = Builds(place)
    os.mkdir(builds.cache + "/apt")
    for path in (builds.cache, builds.cache + "/apt"):
        os.chmod(path, 0o777)
        build = builds.start()
        contains(build.communicate(timeout=60)[0], path + ": other users can write to it")
        os.chmod(path, 0o755)
        if os.geteuid() == 0:
            os.chown(path, 65534, -1)
            contains(builds.start().communicate(timeout=60)[0],
                     path + ": it belongs to another user")
            os.chown(path, 0, -1)
    equal(os.path.exists(builds.root + "/started"), False)
    # Whatever the user's umask, a group cannot write to what builds make.
    shutil.rmtree(place.root + "/own")
    with open(builds.root + "/go", "w"):
        old = os.umask(0o002)
        try:
            builds.start().communicate(timeout=60)
        finally:
            os.umask(old)
    for path in ("", "/apt", "/apt/archives"):
        equal((path, os.stat(builds.cache + path).st_mode & 0o022), (path, 0))


# "update" succeeds for the suites that the file "has" names.
MIRROR = """#!/bin/sh
failed=0
while read -r deb signed uri suite main; do
    case "$*" in
    *update*) grep -qx $suite {0}/has && >"{1}/lists/$suite" || failed=1 ;;
    indextargets*) [ ! -e "{1}/lists/$suite" ] || echo $suite ;;
    esac
done <"{1}/sources.list"
exit $failed
"""


@test
def a_mirror_without_some_suites(place):
    """updates and backports are used if the mirror has them, or its lists are
    there; the release and its security updates are needed"""
    fetch = Fetch(place)
    fetch.program("apt-get", MIRROR.format(place.root, fetch.apt))

    def try_with(*names):
        fetch.write(place.root + "/has", "".join("bookworm%s\n" % name for name in names))
        status, out = fetch.run("fetch_init " + fetch.apt)
        return status, out, [line.split()[2][len("bookworm"):]
                             for line in fetch.read("guest.list").splitlines()]

    equal(fetch.run(": >%s/has; fetch_init %s" % (place.root, fetch.apt))[0], 1)
    status, out, suites = try_with("", "-security")
    equal((status, suites), (0, ["", "-security"]))
    contains(out, "no package lists of bookworm-updates; going on without\n")
    equal(try_with("", "-security", "-updates"),
          (0, "   no package lists of bookworm-backports; going on without\n",
           ["", "-security", "-updates"]))
    equal(try_with("", "-security", "-updates", "-backports"),
          (0, "", ["", "-security", "-updates", "-backports"]))
    status, out, suites = try_with()  # no network
    equal((status, suites), (0, ["", "-security", "-updates", "-backports"]))
    contains(out, "using the previous ones")
    os.unlink(fetch.apt + "/lists/bookworm-security")
    status, out, _ = try_with("", "-updates")
    equal(status, 1)
    contains(out, "cannot fetch the package lists")


@test
def disabled_sources(place):
    """a source that the host has disabled, or has for source code, is not used"""
    fetch = Fetch(place)
    stanza = "%sSuites: bookworm bookworm-updates\nTypes: %s\nURIs: http://%s.test/debian\n"
    fetch.write(fetch.etc + "/sources.list", "")
    fetch.write(fetch.etc + "/sources.list.d/a.sources", "\n".join((
        stanza % ("Enabled: no\n", "deb", "off"), stanza % ("", "deb-src", "code"),
        stanza % ("", "deb deb-src", "on") + "Enabled: no\n",
        stanza % ("Enabled: yes\n", "deb-src deb", "good"))))
    fetch.write(fetch.etc + "/sources.list.d/b.sources", stanza % ("", "deb", "last"))
    equal(fetch.run("host_sources"),
          (0, "".join("http://%s.test/debian bookworm%s\n" % (name, suite)
                      for name in ("good", "last") for suite in ("", "-updates"))))


def package(place, name, files, links):
    """Make a Debian package."""
    tree = place.root + "/tree-" + name
    os.makedirs(tree + "/DEBIAN")
    with open(tree + "/DEBIAN/control", "w") as file:
        file.write("Package: %s\nVersion: 1\nArchitecture: all\nDescription: x\n"
                   "Maintainer: x\n" % name)
    for path in files:
        os.makedirs(os.path.dirname(tree + path), exist_ok=True)
        open(tree + path, "w").close()
    for path, target in links.items():
        os.makedirs(os.path.dirname(tree + path), exist_ok=True)
        os.symlink(target, tree + path)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, tree + ".deb"],
                   check=True, stdout=subprocess.DEVNULL)
    return tree + ".deb"


@test
def packages_stay_in_the_image(place):
    """a package that would write to the host through the link of another one is
    refused; links within the image are followed"""
    host = place.root + "/host"
    os.makedirs(host + "/etc")
    links = package(place, "links", ("/usr/lib/real/x",),
                    {"/usr/lib/out": host, "/usr/lib/in": "real",
                     "/etc/hosts": host + "/etc/hosts", "/usr/lib/up": "../../.."})
    own = package(place, "own", ("/usr/lib/in/y", "/bin/y"), {})

    def fill(*packages):
        work = tempfile.mkdtemp(dir=place.root)
        done = subprocess.run(
            [os.path.abspath(SRCDIR) + "/contrib/guest/fill-rootfs", work + "/image",
             *packages], env=dict(os.environ, work=work, modules=work, sources="/dev/null"),
            capture_output=True, text=True, timeout=60)
        assert done.returncode != 0
        return work, done.stderr

    for path in ("/usr/lib/out/z", "/usr/lib/up/z"):
        bad = package(place, "bad" + path[-3:-2], (path,), {})
        contains(fill(links, own, bad)[1], "it would write to")
    work, err = fill(links, own)
    contains(err, "a package has a link to %s/etc/hosts in place" % host)
    for path in ("/usr/lib/real/y", "/usr/bin/y"):
        equal((path, os.path.exists(work + "/rootfs" + path)), (path, True))
    equal((os.listdir(host), os.listdir(host + "/etc")), (["etc"], []))
    equal([name for name in os.listdir(place.root) if name == "z"], [])


main()
