#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How sessions with real commands end: daemons that die, guests that end
nothing, signals. The daemons mount on the host (stdio-folders.py).

Ids such as SL-07 are the test plan's.
"""
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (Agent, contains, equal, eventually,  # noqa: E402
                          freeze, main, open_session, test, words_of)


@test
def a_lost_daemon_of_several_is_told(place):
    """SL-07: one of the daemons dies: event.error, and the session can end"""
    agent = open_session(place, "a", "b")
    agent.send("agent.execute", command="sh sleep 100")
    agent.event("event.step_started")
    pid = [p for p in agent.children() if b"control1.sock" in words_of(p)][0]
    os.kill(pid, 9)
    equal(agent.event("event.error")["number"], 2007)
    equal(agent.ask("session.status")["payload"]["state"], "error")
    equal(agent.ask("session.stop")["payload"], {"state": "stopped"})
    equal((agent.children(), place.sessions()), ([], []))
    equal(agent.close(), 0)


@test
def a_daemon_lost_in_an_undo(place):
    """the daemon dies under an undo: the answer says that it may be half done"""
    place.mounting()
    agent = Agent(place)
    agent.start()
    agent.ask("agent.execute", command="sh echo 1 >work")
    pids = [p for p in place.processes() if b"control0.sock" in words_of(p)]
    freeze(*pids)
    id = agent.send("undo.rollback")
    time.sleep(0.3)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    error = agent.response(id)["error"]
    equal((error["number"], error["data"]["steps"]), (2007, []))
    contains(error["message"], "in 'share' is unknown")
    contains(error["message"], "undo.history")
    equal(agent.ask("session.stop")["payload"], {"state": "stopped"})
    equal(agent.close(), 0)


@test
def an_answer_and_an_end_at_once(place):
    """a history that meets one daemon's answer and all daemons' end, in a stop"""
    agent = open_session(place, "a", "b")

    def daemon(number):
        return [p for p in place.processes()
                if b"control%d.sock" % number in words_of(p)]
    slow = daemon(0)
    freeze(*slow)
    asked = agent.send("undo.history")
    stopped = agent.send("session.stop")
    assert eventually(lambda: not daemon(1), 10)
    freeze(agent.process.pid)
    for pid in slow:
        os.kill(pid, signal.SIGCONT)
    assert eventually(lambda: not daemon(0), 10)
    agent.process.send_signal(signal.SIGCONT)
    assert agent.response(asked)
    equal(agent.response(stopped)["payload"], {"state": "stopped"})
    equal(agent.start()["payload"]["state"], "running")
    equal(agent.close(), 0)


@test
def a_guest_that_ends_no_command(place):
    """a command that is not ended does not outlive its machine; it stays a step"""
    place.mounting()
    agent = Agent(place, STEPBACK_FAKE_QEMU="deaf")
    agent.start()
    id = agent.send("agent.execute", command="sh echo 1 >work; sleep 100")
    agent.event("event.step_started")
    time.sleep(0.5)
    begin = time.monotonic()
    equal(agent.ask("session.reset")["status"], "ok")
    [answer] = [m for m in agent.seen if m.get("request_id") == id]
    equal(answer["error"]["number"], 6001)
    time.sleep(max(0, begin + 11 - time.monotonic()))
    equal(agent.ask("session.status")["payload"]["state"], "running")
    equal(agent.ask("agent.execute", command="exit 3")["payload"]
          ["exit_code"], 3)
    equal(agent.ask("undo.rollback")["payload"]["steps"][0]
          ["affected_paths"], ["work"])
    equal(os.listdir(place.share), [])
    equal([m for m in agent.seen if m["type"] == "event.error"], [])
    equal(agent.close(), 0)


@test
def an_end_and_a_signal(place):
    """end of input, then SIGTERM at any time: the step of the command ends"""
    place.mounting()
    for number in range(8):
        agent = Agent(place)
        agent.start()
        id = agent.send("agent.execute", command="sh for i in $(seq 200); do "
                        "echo $i >%d.$i; done; sleep 9" % number)
        agent.event("event.step_started")
        while not os.path.exists(place.share + "/%d.200" % number):
            time.sleep(0.02)
        agent.process.stdin.close()
        time.sleep(number * 0.008)
        agent.process.send_signal(signal.SIGTERM)
        equal(agent.process.wait(30), 0)
        while message := agent.next():
            if message.get("request_id") == id:
                equal(message["error"]["number"], 6001)
        # The guest's own processes end after the machine's, in their time.
        assert eventually(lambda: not place.processes(), 5), [
            words_of(pid) for pid in place.processes()]
        equal(place.sessions(), [])


main(mounts=True)
