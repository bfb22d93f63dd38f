#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Guest images: those of all users beside a user's own, whose files are trusted,
"image rm", and what two users of one host share. Over a fake QEMU."""
import json
import os
import shutil
import stat
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from sandbox_case import VM, call, good, refused, sandbox_test  # noqa: E402
from stdio_client import PROGRAM, SRCDIR, Skip, contains, equal, main, test  # noqa: E402

JSON = '{"format": 1, "flavour": "%s", "append": "", "tools": ["sh"]}\n'


def make_image(folder, flavour="minimal"):
    os.makedirs(folder)
    for name in ("vmlinuz", "initrd"):
        open(folder + "/" + name, "w").close()
    with open(folder + "/image.json", "w") as file:
        file.write(JSON % flavour)


def system_image(place, name="minimal", flavour="minimal"):
    """Make an image of all users; only it has this name."""
    folder = place.root + "/images/" + name
    make_image(folder, flavour)
    shutil.rmtree(place.root + "/cache/stepback/guest/" + name,
                  ignore_errors=True)
    return folder


def try_run(place, *words, **more):
    return call(place, "run", *VM, *words, "--", "echo", "x", **more)


@sandbox_test
def a_part_of_an_image(place):
    """a file that is not as long as it was built is refused, with the remedy"""
    make_image(place.image + ".whole")
    for folder, remedy in ((place.image, "; rebuild the image with: stepback image "
                            "build --flavour=minimal --name=minimal"),
                           (place.root + "/images/minimal",
                            "; as root, build it anew with: stepback image build --system")):
        shutil.rmtree(place.image, ignore_errors=True)
        shutil.copytree(place.image + ".whole", folder)
        with open(folder + "/image.json", "w") as file:
            json.dump({"flavour": "minimal", "append": "",
                       "sizes": {"vmlinuz": 0, "initrd": 5}}, file)
        status, _, err = try_run(place)
        equal(status, 125)
        contains(err, "%s/initrd is damaged: it has 0 bytes, and had 5 when it was "
                 "built%s" % (folder, remedy))
    with open(place.root + "/images/minimal/initrd", "w") as file:
        file.write("12345")
    equal(try_run(place)[:2], (0, "x\n"))
    shutil.copytree(place.root + "/images/minimal", place.image)
    os.unlink(place.image + "/initrd")
    contains(try_run(place)[2], place.image + "/initrd: No such file or directory; rebuild")


@sandbox_test
def images_of_all_users(place):
    """an image of all users is used if the user has none of its name, and listed
    as the system's"""
    folder = system_image(place)
    equal(try_run(place)[:2], (0, "x\n"))
    listed = json.loads(good(place, "image", "list", "--json"))
    equal([(image["name"], image["system"], image["path"]) for image in listed],
          [("minimal", True, folder)])
    # A damaged one of the user's own is not passed over.
    make_image(place.image)
    with open(place.image + "/image.json", "w") as file:
        file.write("{")
    status, _, err = try_run(place)
    equal(status, 125)
    contains(err, place.image + "/image.json is damaged; rebuild")
    listed = json.loads(good(place, "image", "list", "--json"))
    equal([image["system"] for image in listed], [False])
    shutil.rmtree(place.image)
    equal(try_run(place)[:2], (0, "x\n"))


REMEDY = ("; as root, build it anew with: stepback image build --system "
          "--flavour=minimal --name=minimal; or build your own, which comes first: "
          "stepback image build --flavour=minimal --name=minimal")


@test
def broken_image_of_all_users(place):
    """an image of all users that is broken is refused, with both remedies"""
    folder = system_image(place)
    for name, problem in (("initrd", "No such file or directory"),
                          ("vmlinuz", "No such file or directory"),
                          ("image.json", "No such file or directory")):
        os.rename(folder + "/" + name, place.root + "/kept")
        status, out, err = try_run(place)
        equal((status, out), (125, ""))
        contains(err, "guest image 'minimal' of all users: %s/%s %s%s" %
                 (folder, name, problem, REMEDY))
        os.rename(place.root + "/kept", folder + "/" + name)
    with open(folder + "/image.json", "w") as file:
        file.write("[]")
    contains(try_run(place)[2], "image.json is damaged; as root, build it anew")
    with open(folder + "/image.json", "w") as file:
        file.write(JSON % "debian")
    contains(try_run(place)[2], folder + "/rootfs.ext4 No such file")


@test
def writable_by_others(place):
    """an image of all users that another user could have written is not booted"""
    folder = system_image(place)
    root = place.root + "/images"
    for path in (folder + "/vmlinuz", folder + "/initrd",
                 folder + "/image.json", folder, root):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        for more in (0o020, 0o002):
            os.chmod(path, mode | more)
            status, out, err = try_run(place)
            equal((path, status, out), (path, 125, ""))
            contains(err, path + " can be written by other users" + REMEDY)
        os.chmod(path, mode)
    equal(try_run(place)[0], 0)
    for path in (folder + "/initrd", folder):
        os.rename(path, place.root + "/moved")
        os.symlink(place.root + "/moved", path)
        contains(try_run(place)[2], path + " is a symbolic link")
        os.unlink(path)
        os.rename(place.root + "/moved", path)
    if os.geteuid() == 0:
        for path in (folder + "/initrd", folder, root):
            os.chown(path, 65534, -1)
            contains(try_run(place)[2], path + " belongs to another user")
            os.chown(path, 0, -1)
    equal(try_run(place)[0], 0)


@sandbox_test
def own_images_are_the_users(place):
    """an image of the user's own that another user could have written is not
    booted; the user's own links and a group without other members are trusted"""
    guest = place.root + "/cache/stepback/guest"
    with open(place.image + "/image.json", "w") as file:
        file.write(JSON % "minimal")
    for path in (place.image + "/initrd", place.image + "/image.json", place.image,
                 guest):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        os.chmod(path, mode | 0o002)
        status, out, err = try_run(place)
        equal((path, status, out), (path, 125, ""))
        contains(err, "guest image 'minimal': %s can be written by other users; only "
                 "you may" % path)
        os.chmod(path, mode)
        if os.geteuid() == 0:
            os.chown(path, 65534, -1)
            contains(try_run(place)[2], path + " belongs to another user")
            os.chown(path, 0, -1)
    moved = place.root + "/moved"
    os.mkdir(moved)
    shutil.move(guest, moved + "/guest")
    os.symlink("../../moved/../moved/guest//", guest)
    equal(try_run(place)[:2], (0, "x\n"))
    os.chmod(moved, 0o777)
    contains(try_run(place)[2], moved + " can be written by other users")
    os.chmod(moved, 0o755)


@test
def images_are_removed(place):
    """image rm removes an image, and nothing that is none"""
    images = place.root + "/cache/stepback/guest"
    make_image(images + "/mine")
    make_image(images + "/mine.building-remove")  # of a killed removal
    make_image(images + "/other")
    open(images + "/other/notes", "w").close()
    os.mkdir(images + "/apt")
    os.symlink(images + "/minimal", images + "/link")
    open(images + "/.build.lock", "w").close()
    os.chmod(images + "/.build.lock", 0o644)
    equal(good(place, "image", "rm", "mine"), "mine\n")
    equal(stat.S_IMODE(os.stat(images + "/.build.lock").st_mode), 0o600)
    equal(sorted(os.listdir(images)),
          [".build.lock", "apt", "link", "minimal", "other"])
    refused(place, "image", "rm", "mine", part="guest image 'mine': not found in %s; "
            "'stepback image list' has those that exist" % images)
    refused(place, "image", "rm", "other", part="other: not an image (notes); "
            "remove it by hand")
    refused(place, "image", "rm", "link", part="link: not an image")
    for name in ("..", ".templates", "a/b", ""):
        refused(place, "image", "rm", name, part="must be the name of an image")
    refused(place, "image", "rm", part="give the names", status=2)
    equal(sorted(os.listdir(images + "/other")),
          ["image.json", "initrd", "notes", "vmlinuz"])
    folder = system_image(place, "shared")
    refused(place, "image", "rm", "shared", part="--system removes one of all users")
    equal(good(place, "image", "rm", "--system", "shared"), "shared\n")
    equal(os.path.exists(folder), False)


@test
def disks_need_images(place):
    """image rm keeps an image that a disk of --persist needs, unless forced"""
    disk = place.root + "/state/stepback/vm/share-1"
    os.makedirs(disk)
    for name in ("disk.qcow2", "lock"):
        open(disk + "/" + name, "w").close()
    with open(disk + "/base.json", "w") as file:
        json.dump({"file": "file://%s/rootfs.ext4" % place.image}, file)
    refused(place, "image", "rm", "minimal",
            part="image minimal: 1 disk of --persist needs it; add --force")
    equal(good(place, "image", "rm", "-f", "minimal"), "minimal\n")


def build(*words, **env):
    done = subprocess.run([os.path.abspath(SRCDIR) + "/contrib/guest/build", *words],
                          env=dict(os.environ, **env), capture_output=True,
                          text=True, timeout=60)
    return done.returncode, done.stderr


@test
def build_options(place):
    """image build refuses packages and names that are none, before it begins"""
    for words, part in (
            (("--packages=a;b",), "--packages: 'a;b' is not the name"),
            (("--packages=--flavour",), "--packages: '--flavour' is not"),
            (("--flavour=minimal", "--packages=git"), "minimal has no disk"),
            (("--name=a/b",), "--name: use letters"),
            (("--name=apt",), "--name: 'apt' is the name of another folder"),
            (("--name=x", "--output=/y"), "--output: not with --name"),
            (("--flavour=big",), "'big' is not minimal, debian or standard")):
        status, err = build(*words)
        equal((words, status), (words, 2))
        contains(err, part)


@test
def missing_tools(place):
    """doctor and image build name all programs at once that a build lacks"""
    bin = place.root + "/bin"
    os.mkdir(bin)
    for name in ("bash", "env", "sed", "id", "uname", "dirname", "sort", "paste",
                 "apt-get", "dpkg-deb", "flock"):
        os.symlink(shutil.which(name), bin + "/" + name)
    checks = json.loads(call(place, "doctor", "--json",
                             STEPBACK_PROGRAM_PATH=bin)[1])["checks"]
    found, = [check for check in checks if check["name"] == "image tools"]
    contains(found["found"], "missing: cpio, xz, zstd")
    equal(found["status"], "note")
    equal(found["remedy"].split()[:3], ["apt-get", "install", "cpio"])
    equal([word for word in ("xz-utils", "zstd") if word in found["remedy"].split()],
          ["xz-utils", "zstd"])
    refused(place, "image", "build", STEPBACK_PROGRAM_PATH=bin,
            part="missing: cpio, xz, zstd\n")


@test
def purge_of_the_package(place):
    """purging the package that builds images removes those of all users, also if
    their folder is a mount point, and nothing that a link names"""
    state = place.root + "/lib"
    images = state + "/images"
    postrm = os.path.abspath(SRCDIR) + "/debian/stepback-guest.postrm"
    if not os.path.exists(postrm):
        raise Skip("a source archive has no debian/")
    with open(postrm) as file:
        script = file.read().replace("/var/lib/stepback", state)
    contains(script, images)

    def purge(before="", after=""):
        return subprocess.run(
            ["unshare", "-r", "-m", "sh", "-ec", "%s\nsh -s purge <<'END'\n%s\nEND\n%s" %
             (before, script, after)], capture_output=True, text=True, timeout=60)

    if subprocess.run(["unshare", "-r", "-m", "true"], capture_output=True).returncode:
        raise Skip("no namespaces")
    os.makedirs(images + "/minimal/.x")
    done = purge()
    equal((done.returncode, done.stderr, os.path.exists(state)), (0, "", False))
    os.makedirs(images)
    done = purge("mount -t tmpfs none %s; mkdir -p %s/minimal/x" % (images, images),
                 "ls -A %s" % images)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""))
    os.rmdir(images)
    os.makedirs(place.root + "/other/kept")
    os.symlink(place.root + "/other", images)
    done = purge()
    equal((done.returncode, done.stderr, os.path.exists(state)), (0, "", False))
    equal(os.listdir(place.root + "/other"), ["kept"])


class User:
    """A user of the host, with folders of its own below a place."""

    def __init__(self, place, uid):
        self.place, self.uid = place, uid
        self.home = "%s/home%d" % (place.root, uid)
        self.share = self.home + "/work/share"
        os.makedirs(self.share)
        os.makedirs(self.home + "/run", 0o700)
        subprocess.run(["chown", "-R", "%d:%d" % (uid, uid), self.home], check=True)

    def call(self, *words):
        env = self.place.environment(
            HOME=self.home, XDG_RUNTIME_DIR=self.home + "/run",
            **{"XDG_%s_HOME" % name: self.home + "/" + name.lower()
               for name in ("CACHE", "STATE", "CONFIG")})
        done = subprocess.run([PROGRAM, *words], env=env, cwd=self.share,
                              user=self.uid, group=self.uid, extra_groups=[],
                              capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr


@sandbox_test
def two_users(place):
    """two users share the images of all users, and neither sandboxes, sockets,
    caches nor logs"""
    if os.geteuid() != 0:
        raise Skip("only root can act as two users")
    os.chmod(place.root, 0o755)
    system_image(place)
    one, two = User(place, 61001), User(place, 61002)
    for user in (one, two):
        try:
            status, out, err = user.call("up", *VM, "same")
        except PermissionError:
            raise Skip("other users cannot reach the build folder") from None
        equal((status, out, err), (0, "same\n", ""))
    sockets = {}
    for user in (one, two):
        status, out, err = user.call("inspect", "same")
        equal((status, err), (0, ""))
        contains(out, user.share)
        equal(user.home in out and (one if user == two else two).home not in out, True)
        equal(user.call("ps", "-q")[1], "same\n")
        status, out, err = user.call("run", "--", "echo", "x")
        equal((status, out), (0, "x\n"))
        sockets[user] = [base for base, _, files in os.walk(user.home)
                         if "api.sock" in files]
        equal(len(sockets[user]), 1)
    # Folders of one are closed to the other.
    for path in (sockets[one][0], one.home + "/state/stepback/sandboxes/same",
                 one.home + "/work/.stepback/.git/share"):
        done = subprocess.run(["ls", path], user=61002, group=61002,
                              extra_groups=[], capture_output=True)
        equal((path, os.path.isdir(path), done.returncode), (path, True, 2))
    status, out, err = two.call("image", "rm", "--system", "minimal")
    equal((status, out), (1, ""))
    contains(err, "Permission denied")
    for user in (one, two):
        equal(user.call("kill", "same")[0], 0)
    one.call("prune", "-f")
    equal(two.call("ps", "-a", "-q")[1], "same\n")


main()
