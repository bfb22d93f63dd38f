#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Published ports and the guest's open ports in the STDIO API, with the real
stepback-net and a fake QEMU.
"""
import os
import socket
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import Agent, contains, equal, main, test  # noqa: E402

NOTHING = {"allow": []}


def started(place, policy=None, **payload):
    agent = Agent(place)
    answer = agent.start(network_policy=NOTHING if policy is None else policy,
                         **payload)
    equal(answer.get("status"), "ok")
    return agent, answer["payload"]


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def can_connect(port, address="127.0.0.1"):
    try:
        socket.create_connection((address, port), 3).close()
        return True
    except ConnectionRefusedError:
        return False


def asked(port, data=b"hello"):
    """The answer to a datagram."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", port))
        sock.settimeout(1)
        for _ in range(10):  # the guest may not have spoken yet
            try:
                sock.send(data)
                return sock.recv(65536)
            except (TimeoutError, ConnectionRefusedError):
                continue
    return None


def ended(agent):
    agent.ask("session.stop")
    equal(agent.close(), 0)


@test
def ports_of_a_start_are_open_when_it_is_answered(place):
    """session.start publishes ports, of which it reports the host's numbers"""
    fixed = free_port()
    agent, session = started(place, ports=[
        {"guest_port": 80}, {"guest_port": 53, "protocol": "udp"},
        {"guest_port": 81, "host_port": fixed, "address": "127.0.0.1"}])
    ports = session["ports"]
    equal([(one["guest_port"], one["protocol"], one["address"])
           for one in ports], [(80, "tcp", "127.0.0.1"),
                               (53, "udp", "127.0.0.1"),
                               (81, "tcp", "127.0.0.1")])
    equal(ports[2]["host_port"], fixed)
    for one in (ports[0], ports[2]):
        equal(can_connect(one["host_port"]), True)
    agent.ask("agent.execute", command="serve 53")
    equal(asked(ports[1]["host_port"]), b"hello")
    equal(agent.ask("port.list")["payload"]["published"], ports)
    equal(agent.ask("session.status")["payload"]["ports"], ports)
    ended(agent)
    for one in (ports[0], ports[2]):
        equal(can_connect(one["host_port"]), False)


@test
def ports_come_and_go_in_a_running_session(place):
    """port.add and port.remove; a listener answers on its own address only"""
    agent, session = started(place)
    equal(session.get("ports"), None)
    tcp = agent.ask("port.add", guest_port=80)["payload"]
    udp = agent.ask("port.add", guest_port=53, protocol="udp")["payload"]
    wide = agent.ask("port.add", guest_port=80, address="0.0.0.0")["payload"]
    equal(can_connect(tcp["host_port"]), True)
    equal(can_connect(tcp["host_port"], "127.0.0.2"), False)
    equal(can_connect(wide["host_port"], "127.0.0.2"), True)
    agent.ask("agent.execute", command="serve 53")
    equal(asked(udp["host_port"], b"x" * 1000), b"x" * 1000)
    with socket.create_connection(("127.0.0.1", tcp["host_port"])) as peer:
        answer = agent.ask("port.remove", host_port=tcp["host_port"])
        equal(answer["payload"], tcp)
        peer.settimeout(5)
        try:
            equal(peer.recv(1), b"")
        except ConnectionResetError:
            pass
    equal(can_connect(tcp["host_port"]), False)
    equal(agent.ask("port.remove", host_port=udp["host_port"],
                    protocol="udp")["payload"], udp)
    equal(asked(udp["host_port"]), None)
    equal(agent.ask("port.list")["payload"]["published"], [wide])
    equal(agent.error("port.remove", host_port=tcp["host_port"])[0], 4001)
    # And a policy in between changes nothing.
    agent.ask("session.configure_network", network_policy="disabled")
    equal(can_connect(wide["host_port"]), True)
    ended(agent)


@test
def a_reset_keeps_ports(place):
    """session.reset publishes what was published, at the same ports"""
    agent, session = started(place, ports=[{"guest_port": 80}])
    added = agent.ask("port.add", guest_port=81)["payload"]
    answer = agent.ask("session.reset")
    equal(answer["payload"]["ports"], session["ports"] + [added])
    equal(can_connect(added["host_port"]), True)
    ended(agent)


@test
def a_second_start_keeps_ports(place):
    """a kernel that crashes at first: the next start has the ports again"""
    agent = Agent(place, STEPBACK_FAKE_QEMU="panic",
                  STEPBACK_TEST_STARTS=place.root + "/starts")
    answer = agent.start(network_policy=NOTHING,
                         ports=[{"guest_port": 53, "protocol": "udp"},
                                {"guest_port": 80}])
    udp, tcp = (one["host_port"] for one in answer["payload"]["ports"])
    with open(place.root + "/starts", encoding="ascii") as file:
        equal(len(file.readlines()), 2)
    agent.ask("agent.execute", command="serve 53")
    equal((asked(udp), can_connect(tcp)), (b"hello", True))
    ended(agent)


@test
def each_problem_has_a_code_and_a_remedy(place):
    """port_taken, port_published, port_privileged, no_network, invalid_field"""
    agent, _ = started(place)

    def refused(code, part, **payload):
        error = agent.ask("port.add", **payload)["error"]
        equal((error["code"], part in error["message"]), (code, True))

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        refused("port_taken", "choose another", guest_port=80, host_port=taken)
        error = Agent(place).start(network_policy=NOTHING, ports=[
            {"guest_port": 80, "host_port": taken}])["error"]
        equal(error["code"], "port_taken")
        contains(error["message"], str(taken))
    mine = agent.ask("port.add", guest_port=80)["payload"]["host_port"]
    refused("port_published", "remove it", guest_port=81, host_port=mine)
    refused("port_published", "remove it", guest_port=81, host_port=mine,
            address="0.0.0.0")
    refused("invalid_field", "127.0.0.1", guest_port=80, address="203.0.113.1")
    refused("invalid_field", "IPv4", guest_port=80, address="::1")
    refused("invalid_field", "tcp or udp", guest_port=80, protocol="sctp")
    refused("invalid_field", "guest_port", guest_port=0)
    refused("missing_field", "guest_port", host_port=8080)
    refused("invalid_field", "hostport", guest_port=80, hostport=1)
    for _ in range(63):
        agent.ask("port.add", guest_port=80)
    refused("invalid_field", "64", guest_port=80)
    ended(agent)


@test
def a_guest_without_a_card_publishes_nothing(place):
    """no_network, in the start and while it runs"""
    agent = Agent(place)
    error = agent.start(network_policy="disabled",
                        ports=[{"guest_port": 80}])["error"]
    equal(error["code"], "no_network")
    contains(error["message"], '{"allow":[]}')
    equal(agent.start(network_policy="disabled")["status"], "ok")
    equal(agent.error("port.add", guest_port=80)[0], 7003)
    equal(agent.error("network.status")[0], 7003)
    # There is no need to look for listeners.
    agent.ask("agent.execute", command="watched")
    equal(agent.first("event.terminal_output")["data"], "0")
    ended(agent)


@test
def ports_below_1024_need_the_right(place):
    """port_privileged, if the user has not the right"""
    if os.geteuid() == 0:
        # Root without the capability, in a namespace of its own.
        wrapper = ("setpriv", "--bounding-set=-net_bind_service",
                   "--inh-caps=-net_bind_service")
    else:
        wrapper = ()
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start",
              encoding="ascii") as file:
        if int(file.read()) < 1024:
            print("# the host lets everybody bind ports below 1024")
            return
    agent = Agent(place, wrapper=wrapper)
    equal(agent.start(network_policy=NOTHING)["status"], "ok")
    error = agent.ask("port.add", guest_port=80, host_port=81)["error"]
    equal(error["code"], "port_privileged")
    contains(error["message"], "8081")
    ended(agent)


@test
def a_lost_network_process_takes_its_ports_along(place):
    """its ports are closed, and port.add says why it cannot"""
    agent, session = started(place, ports=[{"guest_port": 80}])
    port = session["ports"][0]["host_port"]
    found = [pid for pid in agent.children()
             if "stepback-net" in open(f"/proc/{pid}/cmdline").read()]
    os.kill(found[0], 9)
    agent.until(lambda message: message["type"] == "event.warning" and
                message["payload"].get("code") == "network_lost")
    equal(can_connect(port), False)
    equal(agent.ask("port.list")["payload"]["published"], [])
    error = agent.ask("port.add", guest_port=80)["error"]
    equal(error["code"], "no_network")
    contains(error["message"], "session.reset")
    ended(agent)


# ---- the guest's ports ------------------------------------------------------

@test
def listeners_of_the_guest_are_events(place):
    """event.port_opened and event.port_closed, once for each; port.list"""
    agent, _ = started(place)
    for words in ("8000 0.0.0.0 1", "8000 0.0.0.0 1", "8000 :: 1",
                  "9000 127.0.0.1 1", "8000 0.0.0.0 0", "7 0.0.0.0 0"):
        agent.ask("agent.execute", command=f"port {words}")
    agent.ask("agent.execute", command="watched")
    equal(agent.first("event.terminal_output")["data"], "1")
    news = [(event["type"][len("event.port_"):], event["payload"]["port"],
             event["payload"]["address"]) for event in agent.seen
            if event["type"].startswith("event.port_")]
    equal(news, [("opened", 8000, "0.0.0.0"), ("opened", 8000, "::"),
                 ("opened", 9000, "127.0.0.1"), ("closed", 8000, "0.0.0.0")])
    equal({(one["port"], one["address"])
           for one in agent.ask("port.list")["payload"]["listening"]},
          {(8000, "::"), (9000, "127.0.0.1")})
    ended(agent)


if __name__ == "__main__":
    main()
