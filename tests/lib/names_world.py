# SPDX-License-Identifier: Apache-2.0
"""A small Internet with names, for tests of network policies that list names.

The test runs in network and mount namespaces of its own (enter()). Beyond a
link there is the world: 192.0.2.2, with servers on 198.51.100.7 and
2001:db8:1::7, and a name server on 198.51.100.53 that writes down what it is
asked.

    port 80     HTTP: answers with the request's method, path and Host
                /authorization, /basic: with a digest of that header, or of
                the user and password in it; /reflect: with that header in
                fields of its own; /to/HOST: leads to /authorization there
    port 443    the same by TLS, with a certificate for *.example.test
    port 22     speaks first: "SSH-2.0-world"
    port 5000   echoes

The name server also takes connections at the ports of DNS over TCP, TLS and HTTPS.

World(folder, "client_servers") starts the servers of that module, too.
"""
import base64
import contextlib
import hashlib
import http.server
import importlib
import itertools
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

from far_network import FarNetwork, serve_far, sh

ADDRESS, ADDRESS6, DNS, HOST = ("198.51.100.7", "2001:db8:1::7", "198.51.100.53",
                                "192.0.2.1")
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
NAMES = {
    "api.example.test": [ADDRESS], "other.example.test": [ADDRESS],
    "a.b.example.test": [ADDRESS], "secret.elsewhere.test": [ADDRESS],
    "six.example.test": [ADDRESS6],
    "own.example.test": [HOST], "loop.example.test": ["127.0.0.1"],
    "meta.example.test": ["169.254.169.254"], "private.example.test": ["10.9.9.9"],
    "mapped.example.test": ["::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"],
    "mixed.example.test": ["127.0.0.1", "203.0.113.1", ADDRESS],
    "alias.example.test": "other.example.test",  # CNAME
    "rebind.example.test": [ADDRESS],  # every second time 127.0.0.1
}
TURN = itertools.cycle(([ADDRESS], ["127.0.0.1"]))


# ---- the test's side ---------------------------------------------------------

def enter():
    """Run this program again in namespaces of its own; a reason if that cannot
    be."""
    if os.environ.get("NAMES_WORLD"):
        return None
    if os.geteuid() != 0:
        return "needs root"
    if subprocess.run(["unshare", "-nm", "true"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        return "namespaces are unavailable"
    os.environ["NAMES_WORLD"] = "inside"
    os.execvp("unshare", ["unshare", "-nm", sys.executable, *sys.argv])


def cannot_be_trusted():
    """Why World.trusted() cannot be, or None."""
    return None if os.path.exists(BUNDLE) else "there is no " + BUNDLE


class World(FarNetwork):
    def __init__(self, folder, *modules):
        self.folder = folder
        self.asked_file = folder + "/asked"
        with open(folder + "/resolv.conf", "w", encoding="ascii") as file:
            file.write(f"nameserver {DNS}\nsearch corp.test\n"
                       "options timeout:1 attempts:1\n")
        sh(f"mount --bind {folder}/resolv.conf $(realpath /etc/resolv.conf)")
        super().__init__(os.path.abspath(__file__), folder, *modules)

    def asked(self):
        """The names that were asked of the name server."""
        with open(self.asked_file, encoding="ascii") as file:
            return file.read().split()

    @contextlib.contextmanager
    def trusted(self):
        """Meanwhile the host trusts the servers' certificate."""
        with open(BUNDLE, "rb") as bundle, \
                open(self.folder + "/cert.pem", "rb") as own, \
                open(self.folder + "/bundle.pem", "wb") as file:
            file.write(bundle.read() + b"\n" + own.read())
        sh(f"mount --bind {self.folder}/bundle.pem $(realpath {BUNDLE})")
        try:
            yield
        finally:
            sh(f"umount $(realpath {BUNDLE})")


@contextlib.contextmanager
def entered(*modules, needs_trust=False):
    """A World, in namespaces of its own. Ends the program with TAP's skip if that
    cannot be."""
    why = enter() or (needs_trust and cannot_be_trusted())
    if why:
        print("1..0 # SKIP " + why)
        sys.exit(0)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        world = World(folder, *modules)
        try:
            yield world
        finally:
            world.close()


# ---- the world's side --------------------------------------------------------

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = f"{self.command} {self.path} {self.headers['Host']}\n".encode()
        given = self.headers.get("Authorization", "")
        if self.path.endswith("/authorization"):
            body = hashlib.sha256(given.encode()).hexdigest().encode()
        if self.path == "/basic":
            credentials = base64.b64decode(given.rpartition(" ")[2])
            body = hashlib.sha256(credentials).hexdigest().encode()
        if self.headers.get("Upgrade") == "websocket" and self.path == "/ws":
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            self.end_headers()
            self.wfile.write(self.connection.recv(4096)[::-1])
            self.close_connection = True
            return
        self.send_response(302 if self.path.startswith("/to/") else 200)
        if self.path.startswith("/to/"):
            self.send_header("Location", f"https://{self.path[4:]}/authorization")
        if self.path == "/reflect":
            self.send_header("X-Given", given)
            self.send_header("Set-Cookie", f"token={given.rpartition(' ')[2]}")
            self.send_header("X-Coded", base64.b64encode(given.encode()).decode())
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        count = int(self.headers["Content-Length"])
        total = 0
        while total < count:
            total += len(self.rfile.read(min(65536, count - total)))
        body = str(total).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve_http(family, address, port, context=None, handler=Handler):
    class Server(http.server.ThreadingHTTPServer):
        address_family = family
        daemon_threads = True
        request_queue_size = 64

        def finish_request(self, request, client):
            if context:
                try:
                    request = context.wrap_socket(request, server_side=True)
                except OSError:
                    return
            super().finish_request(request, client)

        def handle_error(self, *_):
            pass
    server = Server((address, port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def serve_talk(address, port, greeting):
    listener = socket.create_server((address, port), backlog=64)

    def talk(connection):
        with connection, contextlib.suppress(ConnectionError):
            connection.sendall(greeting)
            while data := connection.recv(65536):
                connection.sendall(data)

    def accept():
        while True:
            threading.Thread(target=talk, args=(listener.accept()[0],),
                             daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


def read_name(query):
    at, labels = 12, []
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode().lower())
        at += 1 + query[at]
    return ".".join(labels), query[12:at + 5]


def record(owner, kind, data):
    return owner + struct.pack("!HHIH", kind, 1, 1, len(data)) + data


def answer(query, asked):
    name, question = read_name(query)
    kind, = struct.unpack("!H", question[-4:-2])
    with open(asked, "a", encoding="ascii") as file:
        file.write(name + "\n")
    code = 0x8180 if name in NAMES else 0x8183
    addresses, records = NAMES.get(name, ()), []
    if name == "rebind.example.test" and kind == 1:
        addresses = next(TURN)
    owner = b"\xc0\x0c"
    if isinstance(addresses, str):
        target = b"".join(bytes([len(label)]) + label.encode()
                          for label in addresses.split(".")) + b"\0"
        records.append(record(owner, 5, target))
        owner, addresses = target, NAMES[addresses]
    records += [record(owner, kind, socket.inet_pton(
        socket.AF_INET6 if ":" in one else socket.AF_INET, one))
        for one in addresses if kind == (28 if ":" in one else 1)]
    return query[:2] + struct.pack("!HHHHH", code, 1, len(records), 0, 0) + \
        question + b"".join(records)


def serve_names(asked):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((DNS, 53))

    def talk():
        while True:
            query, peer = sock.recvfrom(4096)
            sock.sendto(answer(query, asked), peer)
    threading.Thread(target=talk, daemon=True).start()


def make_certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
         "/CN=world", "-addext",
         "subjectAltName=DNS:*.example.test,DNS:a.b.example.test",
         "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem"],
        check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder + "/cert.pem", folder + "/key.pem")
    return context


def begin(folder, modules):
    context = make_certificate(folder)
    for address in (ADDRESS, "169.254.169.254", "10.9.9.9"):
        serve_http(socket.AF_INET, address, 80)
        serve_http(socket.AF_INET, address, 443, context)
    serve_http(socket.AF_INET6, ADDRESS6, 80)
    serve_talk(ADDRESS, 22, b"SSH-2.0-world\r\n")
    serve_talk(ADDRESS, 5000, b"")
    for port in (53, 443, 853):
        serve_talk(DNS, port, b"dns")
    open(folder + "/asked", "w", encoding="ascii").close()
    for module in modules:
        NAMES.update(importlib.import_module(module).serve(folder, context))
    serve_names(folder + "/asked")


if __name__ == "__main__":
    serve_far((ADDRESS, DNS, "169.254.169.254", "10.9.9.9", ADDRESS6),
              lambda: begin(sys.argv[1], sys.argv[2:]))
