#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pool of machines that wait, over a fake QEMU that loads states."""
import json
import os
import re
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from pool_client import (PATIENCE, Machine, Pool, died,  # noqa: E402
                         lock_users, nothing_is_left, processes)
from stdio_client import (Agent, PROGRAM, Skip, alive, contains,  # noqa: E402
                          equal, eventually, freeze, main, test)


@test
def a_machine_is_taken(place):
    """a start takes a machine that waits, renews it, and the pool fills again"""
    pool = Pool(place, 2)
    before = pool.qemus()
    machines = [Machine(place), Machine(place)]
    orders = []
    for machine in machines:
        equal((machine.is_pooled(), machine.notes), (True, []))
        equal(machine.ask("echo works"), "works\n")
        orders.append(json.loads(machine.ask("order")))
    equal([[m["type"] for m in order[:4]] for order in orders],
          [["hello", "hello", "renew", "mount"]] * 2)
    renewals = [order[2] for order in orders]
    for member in ("entropy", "machine_id"):
        equal(len({renewal[member] for renewal in renewals}), 2)
    equal(len({renewal["network"]["mac"] for renewal in renewals}), 2)
    status = pool.fill(2)
    equal((status["taken"], status["discarded"]), (2, 0))
    assert not set(pool.qemus()) & set(before)
    machines.pop().end()
    # One that was used does not come back.
    assert eventually(lambda: sum(map(alive, before)) == 1, PATIENCE)
    equal(machines[0].ask("echo still"), "still\n")
    machines[0].end()
    assert died(before)
    equal(pool.status()["waiting"], 2)
    pool.end()


@test
def the_network_is_plugged_at_the_take(place):
    """a taken machine has the network of its own policy, and its own console"""
    pool = Pool(place, 1)
    machine = Machine(place, network_policy={"allow": ["192.0.2.1"]})
    equal(machine.is_pooled(), True)
    machine.ask("datagrams 1")
    assert eventually(lambda: machine.ask("echo") is not None and any(
        m["type"] == "event.warning" and m["payload"].get("code") ==
        "network_refused" for m in machine.agent.seen), PATIENCE)
    (console,) = [os.path.join(base, name) for base, _, names in
                  os.walk(place.runtime) for name in names
                  if name == "console.log"]
    with open(console) as file:
        equal(file.read(), "moved\n")
    machine.end()
    # A machine without a card is another one.
    machine = Machine(place, network_policy="disabled")
    equal((machine.is_pooled(), machine.notes), (False, []))
    machine.end()
    pool.end()
    pool = Pool(place, 1, "--no-network")
    machine = Machine(place, network_policy="disabled")
    equal((machine.is_pooled(), machine.notes), (True, []))
    machine.end()
    pool.end()


@test
def others_do_not_take(place):
    """another shape, "pool": false, "template": false: an ordinary start"""
    pool = Pool(place, 1)
    for options in ({"vm": {"memory_mb": 256}}, {"backend": "9p"},
                    {"vm": {"pool": False}}, {"vm": {"template": False}}):
        machine = Machine(place, **options)
        equal((machine.is_pooled(), machine.notes), (False, []))
        machine.end()
    # A guest that could replace the pool's socket.
    machine = Machine(place, working_directories=[{"path": place.runtime}],
                      force_share=True)
    equal(machine.is_pooled(), False)
    machine.end()
    status = pool.status()
    equal((status["taken"], status["waiting"]), (0, 1))
    pool.end()


@test
def the_keeper_is_killed(place):
    """kill -9 of the pool: waiting machines end, taken ones live"""
    # QEMU does not end by itself when its connections are closed.
    pool = Pool(place, 2, STEPBACK_FAKE_QEMU="stubborn")
    machine = Machine(place)
    status = pool.fill(2)
    waiting = [m[key] for m in status["machines"] for key in ("pid", "qemu_pid")]
    os.kill(pool.keeper(), signal.SIGKILL)
    assert died(waiting)
    equal(machine.ask("echo works"), "works\n")
    # Without a pool, a machine starts from the template.
    other = Machine(place)
    equal((other.is_pooled(), other.notes), (False, []))
    other.end()
    machine.end()
    nothing_is_left(place)
    contains(pool.command(), "no pool runs")
    pool = Pool(place, 1)
    machine = Machine(place)
    equal(machine.is_pooled(), True)
    machine.end()
    pool.end()


@test
def the_owner_is_killed(place):
    """kill -9 of a supervisor, at any time: its machine ends, nothing is left"""
    pool = Pool(place, 1, STEPBACK_FAKE_QEMU="stubborn")
    machine = Machine(place)
    machine.agent.kill()
    pool.fill(1)
    for milliseconds in range(0, 60, 12):
        pool.fill(1)
        agent = Agent(place, STEPBACK_FAKE_TEMPLATE="")
        agent.send("session.start", vm={"accel": "tcg"},
                   working_directories=[{"path": place.share}])
        eventually(lambda: False, milliseconds / 1000)
        agent.kill()
    pool.fill(1)
    assert eventually(lambda: len(processes(place, b"-incoming")) == 1, PATIENCE)
    equal(len(processes(place, b"hold-machine")), 1)
    pool.end()


@test
def the_holder_is_killed(place):
    """kill -9 of a holder or QEMU: waiting, it is replaced; taken, it is lost"""
    pool = Pool(place, 1)
    for key in ("pid", "qemu_pid"):
        before = pool.fill(1)
        os.kill(before["machines"][0][key], signal.SIGKILL)
        after = pool.until(lambda s: s["waiting"] == 1 and
                           s["discarded"] > before["discarded"])
        assert after["machines"][0]["pid"] != before["machines"][0]["pid"]
    for key, text in (("pid", "was killed with the process that held it"),
                      ("qemu_pid", "was killed by signal 9")):
        victim = pool.fill(1)["machines"][0]
        machine = Machine(place)
        equal(machine.is_pooled(), True)
        os.kill(victim[key], signal.SIGKILL)
        contains(machine.agent.event("event.error")["message"], text)
        assert died([victim["pid"], victim["qemu_pid"]])
        machine.agent.close()
    pool.end()


@test
def a_stubborn_machine_is_killed(place):
    """a taken QEMU that does not end is killed, also if its holder is stopped"""
    pool = Pool(place, 2, STEPBACK_FAKE_QEMU="stubborn")
    for stopped in (False, True):
        (taken,) = pool.status()["machines"][:1]
        machine = Machine(place)
        equal(machine.is_pooled(), True)
        if stopped:
            freeze(taken["pid"])
        equal(machine.agent.ask("session.stop")["status"], "ok")
        machine.end()
        assert died([taken["pid"], taken["qemu_pid"]])
    pool.end()


@test
def a_machine_that_fails_is_left(place):
    """a taken machine that is not renewed: the template, and a note"""
    pool = Pool(place, 2, STEPBACK_FAKE_TEMPLATE="no-renew")
    machine = Machine(place)
    equal((machine.is_pooled(), len(machine.notes)), (False, 1))
    contains(machine.notes[0], "the machine of the pool failed")
    contains(machine.agent.command_line(), "-incoming")
    equal(machine.ask("echo once"), "once\n")
    machine.end()
    # Not each start loses the time.
    status = pool.status()
    equal((status["waiting"], status["filling"]), (0, 0))
    contains(status["problem"], "no entropy")
    machine = Machine(place)
    equal((machine.is_pooled(), machine.notes), (False, []))
    machine.end()
    pool.end()


@test
def the_configuration_has_a_size(place):
    """config.ini has the size and age of the pool that --start starts"""
    env = place.environment(STEPBACK_FAKE_TEMPLATE="")
    done = subprocess.run([PROGRAM, "pool", "--start"], env=env, text=True,
                          stderr=subprocess.PIPE)
    equal(done.returncode, 2)
    contains(done.stderr, "config.ini has no size")
    os.makedirs(place.root + "/config/stepback", 0o700)
    with open(place.root + "/config/stepback/config.ini", "w") as file:
        file.write("[defaults]\naccel=tcg\n[pool]\nsize=1\nmax-age=1\n")
    pool = Pool(place, "--start", fill=False)
    assert pool.until(lambda s: s["discarded"] >= 1)["size"] == 1
    pool.end()


def autogroup(pid):
    """The nice value of a process's autogroup; empty after its end."""
    try:
        with open("/proc/%d/autogroup" % pid) as file:
            return file.read().split()[-1]
    except (OSError, IndexError):
        return ""


@test
def priority_is_low_until_it_waits(place):
    """machines are restored at low priority, and have the usual one when they wait"""
    if not os.path.exists("/proc/self/autogroup"):
        raise Skip("the kernel has no autogroups")
    pool = Pool(place, 3, fill=False)
    assert eventually(lambda: "19" in map(autogroup, place.processes()), PATIENCE)
    pool.fill(3)
    equal(list(map(autogroup, pool.qemus())), ["0"] * 3)
    pool.end()


@test
def a_restore_fails(place):
    """a pool whose machines cannot be restored says why, and costs no start"""
    Pool(place, 1).end()
    pool = Pool(place, 1, fill=False, STEPBACK_FAKE_TEMPLATE="no-load")
    status = pool.until(lambda s: "problem" in s)
    contains(status["problem"], "exited with status 1")
    equal(status["waits_for"], "the last machine has failed")
    machine = Machine(place)
    equal((machine.is_pooled(), machine.notes), (False, []))
    machine.end()
    pool.end()


@test
def a_killed_maker_is_replaced(place):
    """kill -9 of the process that makes the pool's template: another one does"""
    pool = Pool(place, 1, fill=False, STEPBACK_FAKE_TEMPLATE="slow-save")
    for _ in range(2):
        assert eventually(lambda: lock_users(place), PATIENCE)
        contains(pool.status()["waits_for"], "template is being made")
        maker = min(lock_users(place))  # its child has it until it closes all
        os.kill(maker, signal.SIGKILL)
        assert eventually(lambda: not place.makers(), PATIENCE)
    pool.end()


@test
def an_old_machine_is_replaced(place):
    """a machine that has waited too long, or whose image was built anew"""
    # One that is restored in more than a second is never seen to wait.
    pool = Pool(place, 1, "--max-age=1", fill=False)
    pool.until(lambda s: s["discarded"] >= 1)
    pool.end()
    pool = Pool(place, 1)
    (before,) = pool.qemus()
    with open(place.image + "/initrd", "w") as file:
        file.write("new")
    # At once, although the keeper has not noticed yet.
    machine = Machine(place)
    equal(machine.is_pooled(), False)
    machine.end()
    assert died([before])
    pool.fill(1)
    machine = Machine(place)
    equal((machine.is_pooled(), machine.notes), (True, []))
    machine.end()
    pool.end()


@test
def memory_is_given_back(place):
    """machines are discarded while the host is short of memory"""
    proc = place.root + "/proc"

    def write(available, waiting):
        os.makedirs(proc + "/pressure", exist_ok=True)
        with open(proc + "/meminfo.new", "w") as file:
            file.write("MemTotal: 16000000 kB\nMemAvailable: %d kB\n" % available)
        with open(proc + "/pressure/memory.new", "w") as file:
            file.write("some avg10=%.2f avg60=0.00 total=1\n"
                       "full avg10=0.00 avg60=0.00 total=1\n" % waiting)
        os.rename(proc + "/meminfo.new", proc + "/meminfo")
        os.rename(proc + "/pressure/memory.new", proc + "/pressure/memory")

    write(8000000, 0)
    pool = Pool(place, 2, STEPBACK_TEST_PROC=proc)
    write(8000000, 50)
    status = pool.fill(0)
    contains(status["waits_for"], "programs of the host wait for memory")
    write(8000000, 0)
    pool.fill(2)
    write(1000000, 0)
    status = pool.fill(0)
    contains(status["waits_for"], "too little memory")
    # Not enough for another one, enough for those that wait.
    write(2500000, 0)
    equal(pool.status()["waiting"], 0)
    machine = Machine(place)
    equal((machine.is_pooled(), machine.notes), (False, []))
    machine.end()
    pool.end()


@test
def another_size(place):
    """a new size replaces the pool; a wrong one is refused"""
    pool = Pool(place, 1)
    first = pool.keeper()
    pool = Pool(place, 3)
    assert pool.keeper() != first
    status = pool.status()
    equal((status["size"], len(status["machines"])), (3, 3))
    assert all(m["memory_bytes"] > 0 for m in status["machines"])
    contains(pool.command(), "3 of 3 machines wait, ")
    keeper = pool.keeper()
    for words, code, part in (
            (["--size=65"], 2, "must be a number from 0 to 64"),
            (["--image=debian"], 2, "need --size=N or --start"),
            (["stop"], 2, "end the pool with: stepback pool --size=0"),
            (["--size=1", "--image=nope"], 1, "stepback image build"),
            (["--size=1", "--memory=1048576"], 1, "use a smaller size")):
        wrong = subprocess.run([PROGRAM, "pool", *words], env=pool.env,
                               stderr=subprocess.PIPE, text=True)
        equal((words, wrong.returncode), (words, code))
        contains(wrong.stderr, part)
    equal(pool.keeper(), keeper)
    pool.end()
    equal(pool.status(), {"size": 0, "waiting": 0, "machines": []})


@test
def it_is_told(place):
    """"ps" and "stats" have a row for the pool; a taken QEMU is its sandbox's"""
    pool = Pool(place, 1)

    def call(*words):
        return subprocess.run([PROGRAM, *words], env=pool.env, text=True, check=True,
                              stdout=subprocess.PIPE, cwd=place.share).stdout

    (machine,) = pool.status()["machines"]
    name = call("up", "--accel=tcg").strip()
    with open("%s/state/stepback/sandboxes/%s/run.json" % (
            place.root, name)) as file:
        equal(json.load(file)["holder"]["pid"], machine["pid"])
    (sample,) = json.loads(call("stats", "--json"))
    # The supervisor, its daemon with a keeper, the network; and of the pool.
    assert sample["processes"] >= 5, sample
    with open("/proc/%d/status" % machine["qemu_pid"]) as file:
        qemu = int(re.search(r"VmRSS:\s*(\d+)", file.read()).group(1)) << 10
    assert sample["memory_bytes"] > qemu, (sample, qemu)
    call("stop", name)
    call("rm", name)
    assert died([machine["pid"], machine["qemu_pid"]])
    pool.fill(1)
    for verb in (["ps"], ["stats", "--no-stream"]):
        text = call(*verb)
        assert re.search(r"^\(pool\) .*MiB", text), text
    for option, how in (("-v", "from the pool"),
                        ("--no-pool", "from its template"),
                        ("--no-template", "booted")):
        run = subprocess.run([PROGRAM, "run", "-v", "--accel=tcg", option, "--",
                              "exit 0"], env=pool.env, cwd=place.share, text=True,
                             stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        equal((option, run.returncode), (option, 0))
        assert re.search(r"is up after [0-9.]+ s, %s\n" % how, run.stderr), (
            option, run.stderr)
    pool.end()


@test
def no_runtime_folder(place):
    """without a runtime folder of the user's own there is no pool, but an error"""
    for runtime in (None, place.share):
        os.chmod(place.share, 0o755)
        env = place.environment(XDG_RUNTIME_DIR=runtime)
        done = subprocess.run([PROGRAM, "pool", "--size=1", "--accel=tcg"],
                              env=env, stderr=subprocess.PIPE, text=True)
        equal(done.returncode, 1)
        contains(done.stderr, "XDG_RUNTIME_DIR")
    nothing_is_left(place)


def as_another_user(script, *arguments):
    """A Python script that another user runs."""
    return subprocess.Popen(
        ["/usr/bin/python3", "-c", script, *arguments], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True)


@test
def another_user(place):
    """the pool serves no other user, and another user's process is no pool"""
    if os.geteuid() != 0:
        raise Skip("only root can be another user")
    pool = Pool(place, 1)
    path = place.runtime + "/stepback/.pool/pool.sock"
    os.chmod(path, 0o666)
    os.chmod(os.path.dirname(path), 0o711)
    asker = as_another_user("""if True:
        import os, socket, sys
        os.chdir(os.path.dirname(sys.argv[1]))
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        there = socket.socket(socket.AF_UNIX)
        try:
            there.connect("pool.sock")
            there.sendall(b'{"request":"end"}\\n')
            print(there.recv(1000))
        except ConnectionError:
            print("refused")
        except PermissionError:
            print("no permission")
        """, path)
    text = asker.communicate()[0]
    os.chmod(os.path.dirname(path), 0o700)
    assert text in ("b''\n", "refused\n"), text
    equal(pool.status()["waiting"], 1)
    pool.end()
    # In the pool's place.
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    listener = as_another_user("""if True:
        import os, socket, sys
        here = socket.socket(socket.AF_UNIX)
        here.bind(sys.argv[1])
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        here.listen()
        print("ready", flush=True)
        sys.stdin.read()
        """, path)
    equal(listener.stdout.readline(), "ready\n")
    machine = Machine(place)
    equal((machine.is_pooled(), len(machine.notes)), (False, 1))
    contains(machine.notes[0], "another user's process serves it")
    machine.end()
    listener.communicate()
    os.unlink(path)


@test
def a_keeper_that_hangs(place):
    """a pool that does not answer, or talks nonsense, costs a note and no start"""
    pool = Pool(place, 1)
    keeper = pool.keeper()
    freeze(keeper)
    try:
        machine = Machine(place)
    finally:
        os.kill(keeper, signal.SIGCONT)
    equal((machine.is_pooled(), len(machine.notes)), (False, 1))
    contains(machine.notes[0], "does not answer")
    machine.end()
    # It has answered a client that had gone: with a machine that ends.
    pool.fill(1)
    path = place.runtime + "/stepback/.pool/pool.sock"
    for request in (b"", b"x" * 600, b"\n", b"[1]\n", b'{"request":7}\n',
                    b'{"request":"take"}\n', b'{"request":"take","key":7}\n',
                    b'{"request":"take","key":"%s"}\n' % (b"k" * 400)):
        with socket.socket(socket.AF_UNIX) as there:
            there.connect(path)
            there.sendall(request)
            there.shutdown(socket.SHUT_WR)
            try:
                while there.recv(1000):
                    pass
            except ConnectionError:
                pass
    equal(pool.status()["waiting"], 1)
    pool.end()


main()
