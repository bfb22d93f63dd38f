#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders that are added to a running local sandbox, and removed from it: at their
own paths, with their own undo logs, as root and as an ordinary user."""
import os
import resource
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import without_script  # noqa: E402
from local_agent import begin  # noqa: E402
from local_case import USER, left_of, need  # noqa: E402
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import (BUILDDIR, PROGRAM, Agent, contains, equal, eventually, main,  # noqa: E402
                          folder, ok)


def done(agent, command):
    """The report of a command that must go well."""
    report = ok(agent.ask("agent.execute", command=command))
    equal((command, report["exit_code"]), (command, 0))
    return report


def comes_and_goes(place, user):
    two, three = folder(place, "two"), folder(place, "in/a/b/three")
    with open(three + "/old", "w") as file:
        file.write("old\n")
    agent = begin(place, user)
    added = ok(agent.ask("folder.add", path=two))
    equal((added["label"], added["guest_path"]), ("two", two))
    ok(agent.ask("folder.add", path=three, access="read_only"))
    report = done(agent, "echo x >here; echo y >%s/there; cat %s/old; "
                  "! echo z 2>&- >%s/new" % (two, three, three))
    equal(sorted(part["directory"] for part in report["directories"]),
          ["share", "two"])
    equal(os.lstat(two + "/there").st_uid, os.geteuid() if not user else USER)
    ok(agent.ask("undo.rollback"))
    equal((os.listdir(place.share), os.listdir(two), os.listdir(three)),
          ([], [], ["old"]))
    ok(agent.ask("undo.redo"))
    equal(os.listdir(two), ["there"])
    # In use, and then not.
    held = agent.ask("exec.start", command="cd %s; echo in; sleep 1000" % two,
                     step="none", detach=True)["payload"]["exec_id"]
    assert eventually(lambda: ok(agent.ask("exec.output", exec_id=held))["output"], 20)
    number, message = agent.error("folder.remove", directory="two")[:2]
    equal(number, 6000)
    contains(message, "busy")
    ok(agent.ask("folder.remove", directory="two", force=True))
    done(agent, "test -d %s && ! test -e %s/there" % (two, two))
    ok(agent.ask("folder.remove", directory="three"))
    ok(agent.ask("folder.add", path=two))
    done(agent, "grep -q y %s/there && rm %s/there" % (two, two))
    ok(agent.ask("undo.rollback"))
    equal(os.listdir(two), ["there"])
    equal(agent.close(), 0)
    assert eventually(lambda: not left_of(place), 20), left_of(place)


@sandbox_test
def a_folder_comes_and_goes(place):
    """an added folder is at its own path, with undo, until it is removed"""
    comes_and_goes(place, False)


@sandbox_test
def of_an_ordinary_user(place):
    """the same as an ordinary user, in a second user namespace"""
    comes_and_goes(place, True)


@sandbox_test
def each_folder_has_a_history(place):
    """the line after a command says how to undo it in the folders that it changed"""
    need()
    two = folder(place, "two")

    def call(*words, cwd=place.share):
        done = subprocess.run([PROGRAM, *words], cwd=cwd, text=True, capture_output=True,
                              env=place.environment(STEPBACK_QEMU=None), timeout=60)
        equal((words, done.returncode), (words, 0))
        return done.stderr.rpartition("undo with: ")[2].strip()
    call("up", "--isolation=local", "--no-network", "box")
    call("folder", "add", two)
    here, there = "stepback undo", "stepback undo -C " + two
    equal(call("exec", "--", "touch", "a"), here)
    equal(call("exec", "--", "touch", two + "/b"), there)
    equal(call("exec", "--", "touch", "c", two + "/d"), here + " && " + there)
    equal(call("exec", "box", "--", "touch", place.share + "/e", cwd="/"),
          "stepback undo -C " + place.share)
    subprocess.run(there.replace("stepback", PROGRAM, 1), shell=True, check=True,
                   env=place.environment(), stdout=subprocess.DEVNULL)
    equal(os.listdir(two), ["b"])
    call("stop", "box")


@sandbox_test
def logs_above_are_named(place):
    """"up" and "folder add" say so if a folder above has an undo log"""
    need()
    inner = [folder(place, "share/" + name) for name in ("one", "two", "three")]

    def warned(*words):
        done = subprocess.run([PROGRAM, *words], cwd=place.share, text=True,
                              capture_output=True, timeout=60,
                              env=place.environment(STEPBACK_QEMU=None))
        equal((words, done.returncode), (words, 0))
        return ("warning: %s, above this folder, has an undo log" % place.share
                in done.stderr)
    start = "--isolation=local", "--no-network"
    equal(warned("run", *start, "--", "true"), False)
    equal(warned("up", "box", *start, "-C", inner[0]), True)
    equal(warned("folder", "box", "add", inner[1]), True)
    equal(warned("folder", "box", "add", "--read-only", inner[2]), False)
    equal(warned("rm", "-f", "box"), False)


@sandbox_test
def upgraded_meanwhile(place):
    """after an upgrade a sandbox starts none of the new programs, and ends in order"""
    need()
    program, paths = without_script("stepback")
    own, script = folder(place, "bin/.libs") + "/stepback", place.root + "/bin/stepback"
    with open(script, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n%s exec %s \"$@\"\n" % (
            " ".join("%s=%s" % pair for pair in paths.items()), own))
    os.chmod(script, 0o755)
    env = place.environment(STEPBACK_QEMU=None, STEPBACK_LIBEXECDIR=BUILDDIR)

    def call(*words):
        done = subprocess.run([script, *words], env=env, cwd=place.share, text=True,
                              capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        return done.returncode, done.stderr
    shutil.copy(program, own)
    equal(call("up", "--isolation=local", "--no-network", "box"), (0, ""))
    shutil.copy(program, own + ".new")
    os.rename(own + ".new", own)
    status, err = call("folder", "add", folder(place, "two"))
    equal(status, 1)
    contains(err, "Stepback was upgraded while this program runs")
    equal(call("exec", "box", "--", "touch", "made")[0], 0)
    equal(call("undo")[0], 0)
    equal(os.listdir(place.share), [])
    equal(call("stop", "box")[0], 0)
    equal(left_of(place), [])


@sandbox_test
def a_folder_of_the_start_can_go(place):
    """a folder that the sandbox was started with is removed, and its server ends"""
    two = folder(place, "two")
    agent = begin(place, working_directories=[{"path": place.share}, {"path": two}])
    ok(agent.ask("folder.remove", directory="two"))
    done(agent, "touch %s/x && test -e %s/x && exit 0; true" % (two, two))
    equal(os.listdir(two), [])
    ok(agent.ask("folder.add", path=two))
    done(agent, "touch %s/x" % two)
    equal(os.listdir(two), ["x"])
    equal(agent.close(), 0)


@sandbox_test
def no_link_of_the_sandbox_is_followed(place):
    """a link that a process of the sandbox puts on the path is not followed"""
    home = folder(place, "home/user")
    target = folder(place, "home/user/one/two")
    agent = Agent(place, STEPBACK_QEMU=None, HOME=home)
    need()
    ok(agent.ask("session.start", isolation="local", network_policy="disabled",
                 working_directories=[{"path": place.share}]))
    with open(target + "/secret", "w") as file:
        file.write("content")
    done(agent, "mkdir -p %s/x/two && ln -s x %s/one" % (home, home))
    number, message = agent.error("folder.add", path=target)[:2]
    equal(number, 2007)
    contains(message, "mount point")
    done(agent, "! test -e %s/x/two/secret && rm %s/one" % (home, home))
    ok(agent.ask("folder.add", path=target))
    done(agent, "grep -q content %s/secret" % target)
    equal(agent.close(), 0)


def in_home(place, *names):
    """An agent whose sandbox can rename the parents of these folders, which it adds."""
    need()
    home = folder(place, "home/user")
    agent = Agent(place, STEPBACK_QEMU=None, HOME=home)
    ok(agent.ask("session.start", isolation="local", network_policy="disabled",
                 working_directories=[{"path": place.share}]))
    labels = []
    for name in names:
        path = folder(place, "home/user/" + name)
        with open(path + "/mark", "w") as file:
            file.write(name)
        labels.append(ok(agent.ask("folder.add", path=path))["label"])
    return agent, home, labels


@sandbox_test
def a_renamed_parent_hides_no_folder(place):
    """a folder whose parent was renamed in the sandbox is removed, with and without
    force"""
    agent, home, (one, two) = in_home(place, "a/one", "b/two")
    done(agent, "cd %s && mv a c && mv b '.d\\ e' && test -e c/one/mark" % home)
    ok(agent.ask("folder.remove", directory=one))
    ok(agent.ask("folder.remove", directory=two, force=True))
    done(agent, "cd %s && test -d c/one && ! test -e c/one/mark && "
         "! test -e '.d\\ e/two/mark'" % home)
    equal(agent.close(), 0)


@sandbox_test
def another_folder_at_the_path_stays(place):
    """a folder that was moved to the path of one that is removed stays"""
    for force in (False, True):
        agent, home, (one, _) = in_home(place, "a/same", "b/same")
        done(agent, "cd %s && mv a c && mv b a" % home)
        ok(agent.ask("folder.remove", directory=one, force=force))
        done(agent, "cd %s && grep -q b/same a/same/mark && ! test -e c/same/mark" % home)
        equal(agent.close(), 0)


@sandbox_test
def force_ends_the_server(place):
    """with force a folder that cannot be unmounted loses its file server"""
    agent, home, (label,) = in_home(place, "a/one")
    limit = resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE)
    taken = set(map(int, os.listdir("/proc/%d/fd" % agent.process.pid)))
    free = min(set(range(len(taken) + 1)) - taken)
    resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE, (free, limit[1]))
    try:  # it cannot open the sandbox's namespaces
        equal(agent.error("folder.remove", directory=label)[0], 6000)
        ok(agent.ask("folder.remove", directory=label, force=True))
    finally:
        resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE, limit)
    out = ok(agent.ask("agent.execute", command="cat %s/a/one/mark" % home))
    equal(out["exit_code"], 1)
    equal(agent.close(), 0)
    assert eventually(lambda: not left_of(place), 20), left_of(place)


@sandbox_test
def what_a_start_refuses_is_refused(place):
    """folder.add refuses what has no place in a local sandbox"""
    agent = begin(place)
    for path in ("/", "/usr", "/etc", "/proc", "/run", place.share,
                 folder(place, "share/in"), place.root, os.environ.get("HOME", "/root")):
        equal((path, agent.error("folder.add", path=path)[0]), (path, 2002))
    os.rmdir(place.share + "/in")
    done(agent, "true")
    equal(agent.close(), 0)


@sandbox_test
def folders_under_load(place):
    """folders come and go while commands run in the sandbox without a step"""
    agent = begin(place)
    ok(agent.ask("exec.start", step="none", detach=True,
                 command="while :; do date >now; mkdir -p /tmp/a/b; rm -r /tmp/a; done"))
    for number in range(5):
        two = folder(place, "two%d" % number)
        ok(agent.ask("folder.add", path=two))
        done(agent, "echo y >%s/there" % two)
        equal(os.listdir(two), ["there"])
        ok(agent.ask("folder.remove", directory="two%d" % number))
    equal(agent.close(), 0)
    assert eventually(lambda: not left_of(place), 20), left_of(place)


if __name__ == "__main__":
    main()
