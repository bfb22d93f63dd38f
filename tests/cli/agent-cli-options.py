#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Options of machines and of what runs in them: processors, memory, disk,
variables, git identity, certificates; and their defaults in config.ini. Over a
fake QEMU whose guest is the real shim."""
import base64
import glob
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import Server  # noqa: E402
from pty_client import Terminal  # noqa: E402
from sandbox_case import (CERTIFICATE, QUIET, VM, call, good,  # noqa: E402
                          guest_root, refused, sandbox_test, up)
from stdio_client import Agent, PROGRAM, contains, equal, main  # noqa: E402

KEY = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n"


def shim(place, **more):
    """Variables that let the real shim run, with a home without git."""
    place.mounting()
    return dict(STEPBACK_FAKE_QEMU="shim", HOME=place.root, **more)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path


def read(path):
    with open(path) as file:
        return file.read()


def configure(place, text):
    return write(place.root + "/config/stepback/config.ini", text)


def end(place, **env):
    good(place, "stop", **env)
    good(place, "rm", "share", **env)


def qemu(place):
    """The command line of the fake QEMU that runs."""
    for pid in place.processes():
        words = read("/proc/%d/cmdline" % pid).split("\0")
        if "-accel" in words:
            return " ".join(words)
    return ""


def settings(place, *options, **env):
    answer = json.loads(good(place, "config", "--json", *options, **env))
    return {(entry["name"], entry["origin"]): entry["value"]
            for entry in answer["settings"]}


# ---- variables, folder, user -------------------------------------------------

@sandbox_test
def executions_get_what_up_was_given(place):
    """-e, --env-file and -w of up hold for all executions; exec's go before"""
    env = shim(place, SECRET="of the host", UNSET=None)
    file = write(place.root + "/env", "# comment\nB=file\nC=file\nSECRET\n")
    up(place, "-e", "A=1", "-e", "C=up", "-e", "UNSET", "--env-file", file,
       "-w", "/", **env)
    script = 'echo "$A $B $C $SECRET ${UNSET-none} $PWD"'
    equal(good(place, *QUIET, "--", "sh", "-c", script, **env),
          "1 file up of the host none /\n")
    equal(good(place, *QUIET, "-e", "C=exec", "-w", "/usr", "--", "sh", "-c",
               script, **env), "1 file exec of the host none /usr\n")
    # "run" joins, and its options are those of one more execution.
    out = call(place, "run", "-e", "A=run", "-w", "/usr", "--", script, **env)
    equal(out[:2], (0, "run file up of the host none /usr\n"))
    refused(place, "run", "-u", "nobody-here", "--", "true", part="user",
            status=126, **env)


@sandbox_test
def run_and_mcp_pass_variables(place):
    """-e and -w reach the command of "run" and the tools of "mcp\""""
    env = shim(place, SECRET="of the host")
    options = ("-e", "A=b c", "-e", "SECRET", "-w", "/usr")
    script = 'echo "$A, $SECRET, $PWD"'
    status, out, _ = call(place, "run", *VM, *options, "--", script, **env)
    equal((status, out), (0, "b c, of the host, /usr\n"))
    server = Server(place, *options, env=env)
    result = server.client.tool("execute_command", command=script)
    equal(result["stdout"], "b c, of the host, /usr\n")
    equal(server.close(), 0)


@sandbox_test
def the_api_has_the_same(place):
    """session.start takes env, cwd and user, and agent.execute's go before"""
    agent = Agent(place, **shim(place))
    agent.start(env={"A": "1", "B": {"value": base64.b64encode(b"\xff").decode(),
                                     "encoding": "base64"}}, cwd="/usr",
                user="root", git_identity={"name": "Ada", "email": "a@b"},
                ca_certificates=KEY.replace("PRIVATE KEY", "OTHER") + CERTIFICATE)
    equal(agent.ask("session.status")["payload"]["cwd"], "/usr")
    agent.ask("agent.execute", command="printf %s-%s-%s $A $B $PWD", env={"A": "2"})
    equal(read(guest_root(place) + "/etc/stepback/gitconfig"),
          '[user]\n\tname = "Ada"\n\temail = "a@b"\n')
    equal(agent.close(), 0)
    for field, value, part in (
            ("env", {"": "x"}, "'env'"), ("user", 7, "'user'"),
            ("git_identity", {"name": "a\nb"}, "'name'"),
            ("git_identity", {"nick": "a"}, "unknown field 'nick'"),
            ("ca_certificates", "none", "no certificate"),
            ("ca_certificates", KEY + CERTIFICATE, "private key")):
        agent = Agent(place)
        error = agent.start(**{field: value})["error"]
        equal(error["number"], 1004)
        contains(error["message"], part)
        agent.close()


@sandbox_test
def a_guest_cannot_fish_by_an_env_file(place):
    """an --env-file that the guest can write passes on nothing of the host"""
    env = shim(place, TOKEN="secret")
    secret = write(place.root + "/credentials", "key=secret\n")
    file = write(place.share + "/.env", "A=1\n")
    up(place, **env)
    command = (*QUIET, "--env-file", ".env", "--", "sh", "-c", "echo $A")
    equal(good(place, *command, **env), "1\n")
    write(file, "A=1\nTOKEN\n")
    refused(place, *command, part="line 2 would pass on TOKEN", status=125,
            **env)
    write(file, "A=1\0 2\n")
    refused(place, *command, part="NUL", status=125, **env)
    os.unlink(file)
    os.symlink(secret, file)
    refused(place, *command, part="a link out of it", status=125, **env)
    os.unlink(file)
    os.mkfifo(file)
    refused(place, *command, part="not a regular file", status=125, **env)
    good(place, "stop", **env)
    refused(place, "run", *VM, "--env-file", ".env", "--", "true",
            part="not a regular file", status=125, **env)


# ---- the machine -------------------------------------------------------------

@sandbox_test
def qemu_gets_processors_and_memory(place):
    """--cpus and --memory reach QEMU; bad values say what is right"""
    up(place, "--cpus=3", "-m", "2G")
    contains(qemu(place), "-m 2048M -smp 3 ")
    refused(place, "run", "--cpus=2", "--", "true", part="without this --cpus",
            status=125)
    good(place, "run", "--cpus=3", "--memory=2048", "--no-pool",
         "--no-template", "--", "exit 0")
    for option, part in (("--cpus=0", "from 1 to 255, not '0'"),
                         ("--cpus=many", "not 'many'"),
                         ("--memory=64", "from 128"),
                         ("--memory=12X", "not '12X'"),
                         ("--memory=99999999G", "not '99999999G'"),
                         ("--git-identity=Ada", "NAME <ADDRESS>"),
                         ("--env==x", "no name"), ("--workdir=", "empty"),
                         ("--no-persist", "leave one of them out")):
        refused(place, "run", "--persist", option, "--", "true", part=part,
                status=2)
    for words, status in ((("run", "--new"), 125), (("up", "another"), 1),
                          (("pool", "--size=1"), 1)):
        refused(place, *words, "--memory=1048576", *(
            ("--", "true") if words[0] == "run" else ()), status=status,
            part="--memory (\"memory_mb\"): 1048576 MiB is more than the ")


@sandbox_test
def persistent_machines_keep_their_disk(place):
    """--persist of run, up and mcp: one disk, which --new-disk replaces"""
    write(place.image + "/rootfs.ext4", "\0" * 4096)
    good(place, "run", *VM, "--persist", "--", "exit 0")
    disk, = glob.glob(place.root + "/state/stepback/vm/*/disk.qcow2")
    # Held open, so that no other disk gets its inode number.
    held = os.open(disk, os.O_RDONLY)
    first = os.fstat(held).st_ino
    up(place, "--persist")
    contains(qemu(place), "file=" + disk)
    refused(place, "run", "--new-disk", "--", "true", part="this --new-disk",
            status=125)
    refused(place, "run", "--no-persist", "--", "true",
            part="this --no-persist", status=125)
    good(place, "run", "--persist", "--", "exit 0")
    good(place, "stop")
    server = Server(place, "--persist")
    server.client.tool("execute_command", command="exit 0")
    contains(qemu(place), "file=" + disk)
    equal(server.close(), 0)
    equal(os.stat(disk).st_ino, first)
    good(place, "rm", "share")
    up(place, "--new-disk")
    contains(qemu(place), "file=" + disk)
    second = os.stat(disk).st_ino
    os.close(held)
    equal(second != first, True)
    good(place, "stop")
    good(place, "up", "share")  # its configuration does not say "new"
    equal(os.stat(disk).st_ino, second)
    good(place, "stop")
    os.unlink(place.image + "/rootfs.ext4")
    refused(place, "run", *VM, "--persist", "--", "true",
            part="has no disk to keep", status=125)


@sandbox_test
def disks_are_removed_when_asked(place):
    """prune keeps disks and says how much they take; prune --disks lists them,
    asks, and removes those that no machine uses"""
    write(place.image + "/rootfs.ext4", "\0" * 4096)
    base = place.root + "/state/stepback/vm"
    up(place, "--persist")
    used, = os.listdir(base)
    folder = os.path.join(place.root, "other")
    os.mkdir(folder)
    good(place, "run", *VM, "--persist", "-C", folder, "--", "exit 0")
    unused, = set(os.listdir(base)) - {used}
    write(base + "/" + unused + "/disk.qcow2", "x" * (3 << 20))
    write(place.root + "/precious/lock", "")
    os.symlink(place.root + "/precious", base + "/link")
    code, out, err = call(place, "prune", "-f")
    equal((code, out), (0, ""))
    contains(err, "stepback: 1 disk of --persist stays (3.0 MiB); 'stepback "
             "prune --disks' removes unused ones\n")
    refused(place, "prune", "--disks", part="add --force", status=2)
    for answer, left in (("n\r", [used, unused, "link"]),
                         ("y\r", [used, "link"])):
        with Terminal([PROGRAM, "prune", "--disks"], place.environment(),
                      cwd=place.share) as terminal:
            terminal.expect("Disks of --persist that no machine uses")
            terminal.expect("  %s \\(image [^,]*, 3.0 MiB\\)" % unused)
            terminal.expect("undo logs stay. \\[y/N\\] ")
            terminal.send(answer)
            equal(terminal.wait(), int(answer == "n\r"))
        equal(sorted(os.listdir(base)), sorted(left))
    good(place, "stop")
    equal(good(place, "prune", "-f", "--disks"), "share\ndisk %s\n" % used)
    equal((os.listdir(base), os.listdir(place.root + "/precious")),
          (["link"], ["lock"]))


# ---- git ---------------------------------------------------------------------

@sandbox_test
def commits_have_the_users_identity(place):
    """git in the guest knows the user, below what a repository says"""
    env = shim(place)
    write(place.root + "/.gitconfig", '[user]\n\tname = Ada "L" \u00d6\n')
    os.makedirs(place.root + "/config/git", exist_ok=True)
    write(place.root + "/config/git/config",
          "[user]\n\temail = ada@example.org\n\tname = replaced\n")
    # A repository's own configuration, and programs that it names.
    write(place.share + "/.git/config", "[user]\n\tname = Eve\n[include]\n"
          "\tpath = /nonexistent\n[core]\n\tfsmonitor = touch /tmp/eve\n")
    up(place, **env)
    root = guest_root(place, **env)
    text = subprocess.run(["git", "config", "-f", root + "/etc/stepback/gitconfig",
                           "--list"], stdout=subprocess.PIPE, check=True,
                          text=True).stdout
    equal(text, "user.name=Ada L \u00d6\nuser.email=ada@example.org\n")
    contains(read(root + "/etc/gitconfig"), "path = /etc/stepback/gitconfig")
    end(place, **env)
    for option, part in (("Bob <b@c>", '"Bob"'), ("none", None)):
        up(place, "--git-identity", option, **env)
        path = guest_root(place, **env) + "/etc/stepback/gitconfig"
        equal(os.path.exists(path), part is not None)
        if part:
            contains(read(path), part)
        end(place, **env)


@sandbox_test
def a_guests_git_configuration_is_not_the_users(place):
    """git reads no file that a guest can write, nor what one includes"""
    env = shim(place)
    write(place.root + "/.gitconfig", "[include]\n\tpath = share/inc\n"
          "[user]\n\temail = a@b\n")
    os.mkfifo(place.share + "/inc")  # git would wait for it
    up(place, **env)
    equal(read(guest_root(place, **env) + "/etc/stepback/gitconfig"),
          '[user]\n\temail = "a@b"\n')
    end(place, **env)
    os.unlink(place.root + "/.gitconfig")
    os.symlink("share/config", place.root + "/.gitconfig")
    write(place.share + "/config", "[user]\n\tname = Eve\n")
    up(place, **env)
    assert not os.path.exists(guest_root(place, **env) +
                              "/etc/stepback/gitconfig")


# ---- certificates ------------------------------------------------------------

@sandbox_test
def guests_trust_the_hosts_certificates(place):
    """certificates added to the host are in the guest's bundle, keys are not"""
    folder = place.root + "/certificates"
    env = shim(place, STEPBACK_CERTIFICATE_PATH=folder)
    write(folder + "/sub/a.crt", "text\n" + CERTIFICATE)
    write(folder + "/key.pem", CERTIFICATE + KEY)
    write(folder + "/note.txt", "hello\n")
    extra = write(place.root + "/extra.der", "")
    with open(extra, "wb") as file:
        der = base64.b64decode("".join(CERTIFICATE.splitlines()[1:-1]))
        file.write(der)
    up(place, "--ca-certificates", extra, **env)
    root = guest_root(place, **env)
    host = root + "/usr/local/share/ca-certificates/stepback-host.crt"
    equal(read(host), CERTIFICATE)  # once, although it has two files
    contains(read(root + "/etc/ssl/certs/ca-certificates.crt"), CERTIFICATE)
    equal(good(place, *QUIET, "--", "sh", "-c", 'echo "$DENO_CERT"', **env),
          "/usr/local/share/ca-certificates/stepback-host.crt\n")
    script = 'echo "$NODE_EXTRA_CA_CERTS ${SSL_CERT_FILE-none}"'
    equal(good(place, *QUIET, "--", "sh", "-c", script, **env),
          "/usr/local/share/ca-certificates/stepback-host.crt none\n")
    equal(good(place, *QUIET, "-e", "NODE_EXTRA_CA_CERTS=/x", "--", "sh", "-c",
               script, **env), "/x none\n")
    refused(place, "run", "--ca-certificates", folder + "/key.pem", "--",
            "true", part="without this --ca-certificates", status=125, **env)
    end(place, **env)
    up(place, "--ca-certificates=none", **env)
    equal(os.path.exists(guest_root(place, **env) + "/usr"), False)
    end(place, **env)
    for name, part in (("key.pem", "private key"), ("note.txt", "no certificate"),
                       ("absent", "No such file"), ("sub", "not a regular file")):
        refused(place, "run", *VM, "--ca-certificates", folder + "/" + name,
                "--", "true", part=part, status=125, **env)


# ---- folders ---------------------------------------------------------------

@sandbox_test
def folders(place):
    """errors of "folder" speak of the arguments"""
    two = os.path.join(place.root, "two")
    os.mkdir(two)
    up(place)
    equal(good(place, "folder", "add", two), "/mnt/folders/two\n")
    refused(place, "folder", "add", two,
            part="%s: already shared as /mnt/folders/two\n" % two)
    err = refused(place, "folder", "rm", "nope",
                  part="folder rm: 'nope': no shared folder has this label or path")
    equal("directory" in err, False)
    refused(place, "folder", "rm", place.share, part="commands start")
    equal(call(place, "folder", "rm", "two"), (0, "", ""))


# ---- config.ini --------------------------------------------------------------

@sandbox_test
def options_go_before_the_configuration(place):
    """config.ini sets defaults, "config" says what holds and why"""
    configure(place, "[defaults]\nmemory = 256\ncpus=2\nenv=A=1;B=2\n"
              "network=none\n[pool]\nsize=3\n")
    found = settings(place, "--memory=512", "-e", "B=3")
    equal(found["memory", "option"], "512")
    equal(found["cpus", "file"], "2")
    equal((found["pool.size", "file"], found["pool.max-age", "default"]),
          ("3", "86400"))
    equal(found["image", "default"], "minimal")
    equal((found["env", "file"], found["env", "option"]), ("A=1;B=2", "B=3"))
    contains(good(place, "config"), "cpus             file     2\n")
    env = shim(place)
    up(place, "--memory=512", "-e", "B=3", **env)
    contains(qemu(place), "-m 512M -smp 2 ")
    equal("-netdev" in qemu(place), False)
    equal(good(place, *QUIET, "--", "sh", "-c", "echo $A$B", **env), "13\n")
    # A machine that runs is used as it is: only options must agree with it.
    configure(place, "[defaults]\nmemory=300\n")
    equal(call(place, "run", "--", "true", **env)[0], 0)


@sandbox_test
def networks_add_up(place):
    """several --network make one list, and none excludes other entries"""
    names = ("--network=a.example,1.2.3.4", "--network=", "--network=b.example")
    equal(settings(place, *names)["network", "option"], "a.example,1.2.3.4,b.example")
    equal(settings(place, "--network=", names[2])["network", "option"], "b.example")
    equal(settings(place, "--network=none", "--network=none")["network", "option"], "none")
    refused(place, "config", "--network=deny:b.example", status=2,
            part="write open,deny:b.example to allow all else")
    for option, part in (("--network=none", "'none' cannot be combined"),
                         ("--no-network", "excludes it")):
        refused(place, "config", option, names[2], part=part, status=2)
        refused(place, "config", names[2], option, part=part, status=2)
    refused(place, "config", names[2], "--network=x", part="entry 'x', column 1", status=2)


@sandbox_test
def a_bad_configuration_starts_nothing(place):
    """an unknown key or a bad value in config.ini: the file and the remedy"""
    for text, part in (
            ("[defaults]\nmemori=1\n", "unknown key 'memori'; allowed: image"),
            ("[machine]\n", "unknown group [machine]"),
            ("[pool]\nmemory=1\n", "unknown key 'pool.memory'"),
            ("[pool]\nsize=65\n", "pool.size: must be a number from 0 to 64"),
            ("[pool]\nmax-age=0\n", "pool.max-age: must be a number from 1"),
            ("memory=1\n", "below [defaults]"),
            ("[defaults]\nmemory=big\n", "memory: must be a number"),
            ("[defaults]\npersist=perhaps\n", "persist: must be true or false"),
            ("[defaults]\nca-certificates=a.pem\n", "write an absolute path"),
            ("[defaults]\nupstream-proxy=socks5://p:1\n",
             "upstream-proxy: a SOCKS proxy is not supported; use http://HOST:PORT"),
            ("[defaults]\nupstream-proxy=http://me:x@p:1\n", "HTTPS_PROXY"),
            ("[defaults]\nforce-share=true\n", "unknown key"),
            ("[defaults]\nuser=\xff\n", "config.ini: user")):
        path = place.root + "/config/stepback/config.ini"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text.encode("latin-1"))
        for words in (["run", "--", "true"], ["up"], ["mcp"], ["config"]):
            contains(refused(place, *words, part=part, status=2), path + ": ")
    equal(place.processes(), [])


@sandbox_test
def a_configuration_of_others_is_refused(place):
    """config.ini that another user or the guest can write is not used"""
    path = configure(place, "[defaults]\nmemory=256\n")
    for mode, target in ((0o666, path), (0o777, os.path.dirname(path))):
        before = os.stat(target).st_mode
        os.chmod(target, mode)
        refused(place, "run", "--", "true", part="other users can write",
                status=2)
        os.chmod(target, before)
    if os.geteuid() == 0:
        os.chown(path, 12345, 0)
        refused(place, "config", part="another user owns it", status=2)
        os.chown(path, 0, 0)
    inside = place.share + "/config"
    write(inside + "/stepback/config.ini", "[defaults]\nmemory=256\n")
    for words in (["run", *VM, "--force-share", "--", "true"], ["up"]):
        refused(place, *words, part="your configuration", XDG_CONFIG_HOME=inside,
                status=125 if words[0] == "run" else 1)
    link = place.root + "/elsewhere/stepback"
    os.makedirs(link)
    os.symlink(inside + "/stepback/config.ini", link + "/config.ini")
    refused(place, "up", part="set XDG_CONFIG_HOME",
            XDG_CONFIG_HOME=os.path.dirname(link))
    # Without the file, a folder that would contain it can be shared.
    os.unlink(inside + "/stepback/config.ini")
    good(place, "run", *VM, "--", "exit 0", XDG_CONFIG_HOME=inside)
    # The guest of that run could have made it: no other sandbox uses it either.
    write(inside + "/stepback/config.ini", "[defaults]\nmemory=256\n")
    other = place.root + "/other"
    os.mkdir(other)
    for home in (inside, os.path.dirname(link)):
        refused(place, "up", *VM, "-C", other, part="a guest could write it",
                status=2, XDG_CONFIG_HOME=home)


if __name__ == "__main__":
    main(mounts=True)
