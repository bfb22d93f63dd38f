# SPDX-License-Identifier: Apache-2.0
"""The namespaces of net_case.py: the sandbox, its server, and nginx.

Arguments: the build folder, a folder, bytes of a download, connections. The first line
of output has the contestants that cannot run here, with the reason. Each line of input is
a contestant's name, its answer the numbers of a turn."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../tests/lib"]
import names_world  # noqa: E402
from local_case import Local, child_of  # noqa: E402
from measure import Settings, Skipped, process_cpu  # noqa: E402

SERVER, NGINX = "198.51.100.20", "198.51.100.21"
NAME, NGINX_NAME = "bench.example.test", "nginx.example.test"
POLICIES = {"plain": [SERVER, NGINX, "dns"], "spliced": [NAME],
            "intercepted": ["intercept:" + NAME]}
POLICIES["nginx"] = POLICIES["plain"]

# Arguments: the name, bytes of a download, connections (0: measure the download).
# Prints the seconds of the download, or the median of a connection.
CLIENT = """
import socket, ssl, statistics, sys, time
name, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
context = ssl.create_default_context()
buffer = bytearray(1 << 18)

def begin(size):
    plain = socket.create_connection((name, 443), 60)
    session = context.wrap_socket(plain, server_hostname=name)
    session.sendall(b"GET /%d HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (
        size, name.encode()))
    return session, session.recv_into(buffer)

times = []
for _ in range(count):
    start = time.perf_counter()
    session, _ = begin(1)
    times.append(time.perf_counter() - start)
    session.close()
start = time.perf_counter()
session, got = begin(1 if count else size)
while not count and got < size:
    more = session.recv_into(buffer)
    assert more, got
    got += more
print(statistics.median(times) if count else time.perf_counter() - start)
"""

NGINX_CONF = """
daemon off; master_process off; pid nginx.pid; error_log stderr crit;
events {}
http {
    access_log off;
    client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp;
    uwsgi_temp_path temp; scgi_temp_path temp;
    server {
        listen ADDRESS:443 ssl;
        ssl_certificate cert.pem; ssl_certificate_key key.pem;
        location / {
            proxy_pass https://SERVER;
            proxy_ssl_verify on; proxy_ssl_trusted_certificate cert.pem;
            proxy_ssl_name NAME; proxy_ssl_server_name on;
            proxy_ssl_session_reuse off; proxy_buffering off;
            proxy_http_version 1.1; proxy_set_header Host NAME;
        }
    }
}
"""


# ---- the server's side -------------------------------------------------------

def answer(connection, context, block=bytes(1 << 20)):
    """The path is the number of bytes of the answer."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        with context.wrap_socket(connection, server_side=True) as session:
            while head := session.recv(65536):
                size = int(head.split()[1][1:])
                session.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
                for at in range(0, size, len(block)):
                    session.sendall(memoryview(block)[:size - at])
    except OSError:
        pass


def serve(folder, context):
    """Called by names_world.py."""
    for address in (SERVER, NGINX):
        names_world.sh(f"ip addr add {address}/32 dev lo")
    listener = socket.create_server((SERVER, 443), backlog=1024)

    def accept():
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0], context),
                             daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    start_nginx(folder)
    return {NAME: [SERVER], NGINX_NAME: [NGINX]}


def start_nginx(folder):
    """Write its process to the file nginx.pid, which is empty without it."""
    program = os.environ.get("STEPBACK_BENCH_NGINX") or shutil.which(
        "nginx", path=os.environ["PATH"] + ":/usr/sbin")
    with open(folder + "/nginx.pid", "w", encoding="ascii"):
        pass
    if not program:
        return
    text = NGINX_CONF.replace("ADDRESS", NGINX).replace("SERVER", SERVER)
    with open(folder + "/nginx.conf", "w", encoding="ascii") as file:
        file.write(text.replace("NAME", NAME))
    subprocess.Popen(["setpriv", "--pdeathsig", "TERM", program, "-p", folder, "-c",
                      folder + "/nginx.conf"], stdin=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while not is_open(NGINX) and time.monotonic() < end:
        time.sleep(0.01)


def is_open(address):
    with socket.socket() as peer:
        return peer.connect_ex((address, 443)) == 0


# ---- the sandbox's side ------------------------------------------------------

class Contest:
    def __init__(self, world, local, size, connections):
        self.local, self.size, self.connections = local, size, connections
        with open(world.folder + "/nginx.pid", encoding="ascii") as file:
            self.nginx = int(file.read() or 0)
        self.policy = None

    def cpu(self, name):
        """Seconds of the programs between client and server."""
        supervisor = self.local.supervisor()
        pids = [child_of(supervisor, "stepback-net"),
                child_of(supervisor, "stepback-proxy"),
                self.nginx if name == "nginx" else 0]
        return sum(process_cpu(pid) for pid in pids if pid)

    def measure(self, name, connections):
        """Seconds, and those on the processors."""
        before = self.cpu(name)
        out = self.local.exec("/usr/bin/python3", "-c", CLIENT,
                              NGINX_NAME if name == "nginx" else NAME,
                              str(self.size), str(connections))
        return float(out), self.cpu(name) - before

    def turn(self, name):
        if self.policy != POLICIES[name]:
            self.policy = POLICIES[name]
            self.local.run("net", "policy", ",".join(self.policy))
        self.measure(name, 1)  # what the first connection of a policy makes
        connect, connect_cpu = self.measure(name, self.connections)
        seconds, cpu = self.measure(name, 0)
        return {"download": seconds, "download_cpu": cpu, "connect": connect,
                "connect_cpu": connect_cpu / (self.connections + 1)}

    def lacks(self):
        return {} if self.nginx else {"nginx": "there is no nginx"}


def say(message):
    print(json.dumps(message), flush=True)


def main():
    build, base, size, connections = sys.argv[1:]
    os.environ["PYTHONPATH"] = HERE
    os.makedirs(base + "/world")
    os.chmod(base + "/world", 0o755)
    why = names_world.cannot_be_trusted()
    if why or os.geteuid() != 0:
        say({"skipped": why or "needs root"})
        return
    world = names_world.World(base + "/world", "net_world")
    local = Local(Settings(build, base, 1, False), base + "/local")
    try:
        with world.trusted():
            local.begin("--network=" + ",".join(POLICIES["plain"]))
            contest = Contest(world, local, int(size), int(connections))
            say(contest.lacks())
            for line in sys.stdin:
                say(contest.turn(line.strip()))
    except Skipped as reason:
        say({"skipped": str(reason)})
    finally:
        local.end()
        world.close()


if __name__ == "__main__":
    main()
