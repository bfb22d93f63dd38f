# SPDX-License-Identifier: Apache-2.0
"""Published ports of a real guest, from the host's side (vm-roundtrip.py)."""
import hashlib
import http.client
import socket
import subprocess
import tempfile
import time

SIZE = 64 << 20
REQUESTS = 100

SERVERS = f"""
mkdir -p /tmp/web && cd /tmp/web && echo small >small &&
head -c {SIZE} /dev/urandom >big && sha256sum big || exit 1
setsid python3 -m http.server --protocol HTTP/1.1 8000 >/tmp/http.log 2>&1 &
setsid python3 -c '
import socket
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("0.0.0.0", 9000))
while True:
    data, peer = sock.recvfrom(65536)
    sock.sendto(data, peer)
' >/dev/null 2>&1 &
setsid python3 -m http.server --bind 127.0.0.1 8001 >/dev/null 2>&1 &
for i in $(seq 300); do
    grep -q ':1F41 .* 0A' /proc/net/tcp && grep -q :2328 /proc/net/udp &&
    grep -q ':1F40 .* 0A' /proc/net/tcp && exit 0
    sleep 0.2
done
exit 1
"""


def curl(url, *options, ok=True):
    result = subprocess.run(["curl", "-sS", "--max-time", "120", *options, url],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if ok:
        assert result.returncode == 0, result.stderr.decode()
    return result


def many_requests(port):
    """On one connection; then curl's, each on its own."""
    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    begin = time.monotonic()
    for _ in range(REQUESTS):
        kept.request("GET", "/small")
        answer = kept.getresponse()
        assert (answer.status, answer.read()) == (200, b"small\n")
    print(f"# {REQUESTS} requests on one connection: "
          f"{time.monotonic() - begin:.1f} s")
    for _ in range(10):
        assert curl(f"http://127.0.0.1:{port}/small").stdout == b"small\n"
    return kept


def download(port, digest):
    with tempfile.NamedTemporaryFile() as file:
        begin = time.monotonic()
        curl(f"http://127.0.0.1:{port}/big", "-o", file.name)
        seconds = time.monotonic() - begin
        found = hashlib.sha256()
        while data := file.read(1 << 20):
            found.update(data)
    print(f"# {SIZE >> 20} MiB: {seconds:.1f} s, "
          f"{(SIZE >> 20) / seconds:.0f} MiB/s")
    assert found.hexdigest() == digest, "the download differs"


def echoed(port, data):
    """Datagrams can be lost: a few are tried."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", port))
        sock.settimeout(5)
        for _ in range(6):
            sock.send(data)
            try:
                return sock.recv(65536)
            except TimeoutError:
                pass
    return None


def is_refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
        return False
    except ConnectionRefusedError:
        return True


def use(agent, execute):
    """Publish, use, and remove. The guest may reach nothing at all."""
    agent.request("session.configure_network",
                  {"network_policy": {"allow": []}})
    since = len(agent.events)
    result, _ = execute(SERVERS)
    output = "".join(event["payload"]["data"] for event in agent.events[since:]
                     if event["type"] == "event.terminal_output")
    assert result["exit_code"] == 0, output
    port = agent.request("port.add", {"guest_port": 8000})["host_port"]
    inner = agent.request("port.add", {"guest_port": 8001})["host_port"]
    udp = agent.request("port.add",
                        {"guest_port": 9000, "protocol": "udp"})["host_port"]
    kept = many_requests(port)
    download(port, output.split()[0])
    for length in (1, 1400, 20000):
        assert echoed(udp, b"x" * length) == b"x" * length, length
    # A server on the guest's loopback is not reached, and the client sees it.
    assert curl(f"http://127.0.0.1:{inner}/", ok=False).returncode != 0
    ends(agent, kept, port)
    listeners(agent, since)


def ends(agent, kept, port):
    """With the port ends a download that is under way."""
    kept.request("GET", "/big")
    answer = kept.getresponse()
    answer.read(1 << 20)
    agent.request("port.remove", {"host_port": port})
    try:
        answer.read()
        raise AssertionError("the download went on")
    except (http.client.IncompleteRead, ConnectionResetError):
        pass
    assert is_refused(port)


def listeners(agent, since):
    """The shim has said who listens, and says who no longer does."""
    for number, address in ((8000, "0.0.0.0"), (8001, "127.0.0.1")):
        agent.wait_event(
            "event.port_opened", lambda payload, n=number, a=address:
            (payload["port"], payload["address"]) == (n, a), since=since)
    listening = agent.request("port.list")["listening"]
    assert {"port": 8000, "protocol": "tcp", "address": "0.0.0.0"} in listening
    since = len(agent.events)
    agent.request("agent.execute", {
        "command": "pkill -f http.server; pkill -f SOCK_DGRAM; rm -r /tmp/web"})
    agent.wait_event("event.port_closed",
                     lambda payload: payload["port"] == 8000, since=since)
