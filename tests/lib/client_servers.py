# SPDX-License-Identifier: Apache-2.0
"""Servers for real clients, beside those of names_world.py.

    registry.example.test   HTTP/1.1 at ports 80 and 443: plain pages, events,
                            WebSocket, an npm and a pip registry, an apt
                            repository, git; at port 22 ssh
    h2.example.test         HTTP/2 at port 443 (tests/proxy/http2-server.mjs)

The folder has repository.git and the keys of ssh. The file "servers" there lists
those that this host cannot run.
"""
import base64
import hashlib
import http.server
import io
import json
import os
import shutil
import socket
import struct
import subprocess
import tarfile
import threading
import zipfile

import names_world

REGISTRY, H2 = "198.51.100.9", "198.51.100.10"
NAME = "registry.example.test"
URL = "https://" + NAME
NAMES = {NAME: [REGISTRY], "h2.example.test": [H2]}
PACKAGE = "world-package"
WHEEL = "world_package-1.0-py3-none-any.whl"
HERE = os.path.dirname(os.path.abspath(__file__))
SSHD = os.environ.get("STEPBACK_TEST_SSHD", "/usr/sbin/sshd")


# ---- packages ----------------------------------------------------------------

def npm_package():
    """The tarball, and the answer of a registry that has it."""
    files = {"package.json": json.dumps({"name": PACKAGE, "version": "1.0.0"}),
             "index.js": "console.log('npm package of the world')\n"}
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo("package/" + name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    digest = base64.b64encode(hashlib.sha512(data.getvalue()).digest()).decode()
    version = {"name": PACKAGE, "version": "1.0.0", "dist": {
        "tarball": f"{URL}/npm/{PACKAGE}/-/{PACKAGE}-1.0.0.tgz",
        "integrity": "sha512-" + digest}}
    return data.getvalue(), json.dumps({
        "name": PACKAGE, "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": version}}).encode()


def wheel():
    data = io.BytesIO()
    info = "world_package-1.0.dist-info/"
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("world_package.py", "print('pip package of the world')\n")
        file.writestr(info + "METADATA", "Metadata-Version: 2.1\n"
                      f"Name: {PACKAGE}\nVersion: 1.0\n")
        file.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: world\n"
                      "Root-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(info + "RECORD", "")
    return data.getvalue()


def debian_package(folder):
    """A package and its index, by dpkg-deb(1)."""
    root = folder + "/deb"
    os.makedirs(root + "/DEBIAN")
    os.makedirs(root + "/usr/share")
    control = (f"Package: {PACKAGE}\nVersion: 1.0\nArchitecture: all\n"
               "Maintainer: World <w@example.test>\nDescription: world\n")
    with open(root + "/DEBIAN/control", "w", encoding="ascii") as file:
        file.write(control)
    with open(root + "/usr/share/world", "w", encoding="ascii") as file:
        file.write("apt package of the world\n")
    subprocess.run(["dpkg-deb", "--build", "-Zgzip", root, folder + "/world.deb"],
                   check=True, stdout=subprocess.DEVNULL)
    with open(folder + "/world.deb", "rb") as file:
        data = file.read()
    index = (control + f"Filename: pool/world.deb\nSize: {len(data)}\n"
             f"SHA256: {hashlib.sha256(data).hexdigest()}\n").encode()
    place = "main/binary-amd64/Packages"
    release = ("Suite: stable\nComponents: main\nArchitectures: amd64\n"
               "Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n "
               f"{hashlib.sha256(index).hexdigest()} {len(index)} {place}\n")
    return {"/apt/dists/stable/" + place: index, "/apt/pool/world.deb": data,
            "/apt/dists/stable/Release": release.encode()}


def pages(folder):
    tarball, packument = npm_package()
    found = {
        "/hello": b"hello from the world\n",
        f"/npm/{PACKAGE}": packument,
        f"/npm/{PACKAGE}/-/{PACKAGE}-1.0.0.tgz": tarball,
        f"/pip/{PACKAGE}/": f"<a href=\"../{WHEEL}\">{WHEEL}</a>".encode(),
        f"/pip/{WHEEL}": wheel()}
    if shutil.which("dpkg-deb"):
        found.update(debian_package(folder))
    return found


# ---- HTTP/1.1 ----------------------------------------------------------------

class Handler(http.server.BaseHTTPRequestHandler):
    """Serves PAGES, and what is made for a request."""
    protocol_version = "HTTP/1.1"
    pages, folder = {}, ""
    acknowledged = threading.Event()

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path.startswith("/git/"):
            self.run_git(b"")
        elif path == "/events":
            self.send_events()
        elif path == "/acknowledge":
            self.acknowledged.set()
            self.answer(200, b"")
        elif path == "/ws":
            self.talk_by_frames()
        else:
            self.answer(200 if path in self.pages else 404,
                        self.pages.get(path, b"no such page\n"),
                        "text/html" if path.startswith("/pip/") else None)

    def do_POST(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers["Content-Length"]))
        self.run_git(data)

    def answer(self, status, body, kind=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if kind:
            self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def run_git(self, data):
        """git-http-backend(1)."""
        path, _, query = self.path.partition("?")
        env = dict(os.environ, GIT_PROJECT_ROOT=self.folder, GIT_HTTP_EXPORT_ALL="1",
                   PATH_INFO=path[len("/git"):], QUERY_STRING=query,
                   REQUEST_METHOD=self.command, REMOTE_USER="world",
                   CONTENT_TYPE=self.headers.get("Content-Type", ""),
                   CONTENT_LENGTH=str(len(data)),
                   HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""),
                   GIT_PROTOCOL=self.headers.get("Git-Protocol", ""))
        out = subprocess.run(["git", "http-backend"], env=env, input=data,
                             stdout=subprocess.PIPE, check=False).stdout
        head, _, body = out.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.answer(int(fields.pop("Status", "200").split()[0]), body,
                    fields.get("Content-Type"))

    def send_events(self):
        """The second event is sent when the client has acknowledged the first."""
        self.acknowledged.clear()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for text in (b"data: one\n\n", b"data: two\n\n"):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            self.wfile.flush()
            if not self.acknowledged.wait(20):
                return
        self.wfile.write(b"0\r\n\r\n")

    def talk_by_frames(self):
        """A WebSocket that returns texts of at most 125 bytes (RFC 6455)."""
        key = self.headers["Sec-WebSocket-Key"].encode() + \
            b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept",
                         base64.b64encode(hashlib.sha1(key).digest()).decode())
        self.end_headers()
        self.close_connection = True
        while len(head := self.rfile.read(2)) == 2 and head[0] == 0x81:
            mask = self.rfile.read(4)
            data = self.rfile.read(head[1] & 0x7f)
            text = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
            self.wfile.write(struct.pack("!BB", 0x81, len(text)) + text)

    def log_message(self, *_):
        pass


# ---- the other servers -------------------------------------------------------

def git_repository(folder):
    """repository.git with a file, to which anyone may push."""
    env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_AUTHOR_NAME="w",
               GIT_AUTHOR_EMAIL="w@example.test", GIT_COMMITTER_NAME="w",
               GIT_COMMITTER_EMAIL="w@example.test")
    subprocess.run(
        "git init -q --bare -b main repository.git && cd repository.git && "
        "git config http.receivepack true && "
        "blob=$(echo git repository of the world | git hash-object -w --stdin) && "
        "tree=$(printf '100644 blob %s\\tfile' $blob | git mktree) && "
        "git update-ref refs/heads/main $(git commit-tree -m world $tree)",
        shell=True, cwd=folder, env=env, check=True)


def serve_ssh(folder):
    """sshd(8) for the key ssh_key; whether there is one."""
    if not os.path.exists(SSHD) or not shutil.which("ssh-keygen"):
        return False
    for name in ("host_key", "ssh_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                        folder + "/" + name], check=True)
    with open(folder + "/sshd_config", "w", encoding="ascii") as file:
        file.write(f"ListenAddress {REGISTRY}\nHostKey {folder}/host_key\n"
                   f"AuthorizedKeysFile {folder}/ssh_key.pub\nStrictModes no\n"
                   "PasswordAuthentication no\nPermitRootLogin yes\n"
                   "PidFile none\nUsePAM no\n")
    os.makedirs("/run/sshd", exist_ok=True)
    if subprocess.run([SSHD, "-t", "-f", folder + "/sshd_config"],
                      stderr=subprocess.DEVNULL, check=False).returncode:
        return False
    start([SSHD, "-D", "-f", folder + "/sshd_config"])
    return True


def serve_h2(folder):
    """HTTP/2 by Node; whether there is one."""
    if not shutil.which("node"):
        return False
    server = start(["node", HERE + "/../proxy/http2-server.mjs", H2, folder + "/cert.pem",
                    folder + "/key.pem", "443"], stdin=subprocess.PIPE,
                   stdout=subprocess.PIPE)
    return server.stdout.readline() == b"443\n"


def start(words, **options):
    """Start a server that ends with this process."""
    return subprocess.Popen(["setpriv", "--pdeathsig", "TERM", *words],
                            stderr=subprocess.DEVNULL,
                            **{"stdin": subprocess.DEVNULL, **options})


def serve(folder, context):
    """Start all; their names and addresses."""
    for address in (REGISTRY, H2):
        names_world.sh(f"ip addr add {address}/32 dev lo")
    git_repository(folder)
    Handler.folder, Handler.pages = folder, pages(folder)
    names_world.serve_http(socket.AF_INET, REGISTRY, 80, handler=Handler)
    names_world.serve_http(socket.AF_INET, REGISTRY, 443, context, Handler)
    running = {"apt": "/apt/pool/world.deb" in Handler.pages, "ssh": serve_ssh(folder),
               "h2": serve_h2(folder)}
    with open(folder + "/servers", "w", encoding="ascii") as file:
        file.write(" ".join(name for name, runs in running.items() if not runs))
    return NAMES
