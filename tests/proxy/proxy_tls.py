# SPDX-License-Identifier: Apache-2.0
"""TLS for the tests of interception: authorities, servers and guests.

The proxy is pass-proxy, whose relays pass all bytes, unless a test names
another program.
"""
import contextlib
import os
import ssl
import subprocess
import sys
import warnings

from proxy_authority import Authority, read
from proxy_world import *  # noqa: F403
from sanitizer import is_sanitized

# Of old versions of TLS, which must be refused.
warnings.simplefilter("ignore", DeprecationWarning)

PASS_PROXY = os.path.join(os.getcwd(), "tests/proxy/pass-proxy")
OTHER_NAME = "other.example.org"
AUTHORITIES = {}


def authority(title):
    """One of the servers' (the proxy trusts it), or the sandbox's."""
    if title not in AUTHORITIES:
        AUTHORITIES[title] = Authority(title)
    return AUTHORITIES[title]


def certify(name):
    made = authority("sandbox")
    return {"chain": read(made.issue(name)) + read(made.certificate),
            "key": read(made.key), "error": None}


# One leaf serves most tests.
def leaf_of_server():
    servers = authority("servers")
    if not hasattr(servers, "leaf"):
        servers.leaf = servers.issue(NAME)
    return servers.leaf


@contextlib.contextmanager
def pass_proxy(world, program=PASS_PROXY, **options):
    trust = options.pop("trust", None) or authority("servers").certificate
    with open(trust, "rb") as file:
        fd = file.fileno()
        with proxy(world, options.pop("policy", None), program=program,
                   options=[f"--trust-fd={fd}"], fds=[fd],
                   **{"certify": certify, **options}) as running:
            yield running


# ---- servers ----------------------------------------------------------------

class TlsServer:
    """Serves TLS, and keeps what it sees of each connection."""

    def __init__(self, talk=echo, leaf=None, key=None, protocols=None,
                 **options):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(leaf or leaf_of_server(),
                                     key or authority("servers").key)
        if protocols:
            self.context.set_alpn_protocols(protocols)
        self.context.sni_callback = self.see_name
        self.set_versions(**options)
        self.talk = talk
        self.names, self.protocols, self.errors = [], [], []

    def set_versions(self, highest=None, lowest=None, ciphers=None):
        if ciphers:
            self.context.set_ciphers(ciphers)
        if lowest:
            self.context.minimum_version = lowest
        if highest:
            self.context.maximum_version = highest

    def see_name(self, session, name, _):
        self.names.append(name)

    def __call__(self, connection):
        try:
            session = self.context.wrap_socket(connection, server_side=True)
        except OSError as error:
            self.errors.append(str(error))
            return
        with session:
            self.protocols.append(session.selected_alpn_protocol())
            try:
                self.talk(session)
            except OSError as error:
                self.errors.append(str(error))


# ---- guests -----------------------------------------------------------------

def guest_context(protocols=None, cafile=None):
    context = ssl.create_default_context(
        cafile=cafile or authority("sandbox").certificate)
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def shake(guest, context=None, name=NAME):
    """A TLS session of the guest, or the error."""
    try:
        return (context or guest_context()).wrap_socket(
            guest, server_hostname=name, suppress_ragged_eofs=False)
    except OSError as error:
        guest.close()
        return error


def expect_alert(running, port, alert, reason, **options):
    """The handshake must fail with an alert, and the record must have the
    reason. Return the record."""
    guest, number = running.connect(port, "http")
    error = shake(guest, **options)
    check(isinstance(error, OSError), f"{reason}: the handshake succeeds")
    if alert:
        check(alert in str(error).lower(), f"{reason}: {error}")
    event = running.ended(number)
    check(reason in (event["reason"] or ""), f"{reason}: {event}")
    return event


REQUEST = f"GET /path HTTP/1.1\r\nHost: {NAME}\r\n\r\n".encode()


def exchange(session, data=REQUEST):
    session.sendall(data)
    equal(read_some(session, len(data)), data, "the echo")


def shake_bio(session, guest, incoming, outgoing):
    while True:
        try:
            session.do_handshake()
            guest.sendall(outgoing.read())
            return
        except ssl.SSLWantReadError:
            guest.sendall(outgoing.read())
            incoming.write(guest.recv(65536))


def expect_forgotten(running, value):
    """The value is in the proxy's memory until there are no secrets."""
    # A sanitizer's memory is too large to be searched.
    hidden = is_sanitized(running.process.pid) or not running.is_readable()
    check(hidden or running.count_in_memory(value) > 0,
          "the value is not found")
    running.request("configure", {"secrets": []})
    check(hidden or running.count_in_memory(value) == 0,
          "there are copies of the value")


# ---- openssl(1) -------------------------------------------------------------

@contextlib.contextmanager
def guest_port(running, port):
    """A port of the loopback that leads to a new connection's guest."""
    guest, _ = running.connect(port, "http")
    with port_of(guest) as made:
        yield made


def s_client(port, *words, lines=b""):
    """Run openssl(1)'s client. Return its output until its end."""
    return subprocess.run(
        client_words(port, *words), input=lines, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=PATIENCE, check=False).stdout


def client_words(port, *words):
    return ["openssl", "s_client", "-servername", NAME, "-CAfile",
            authority("sandbox").certificate, "-connect", f"127.0.0.1:{port}",
            *words]


def run(names):
    """Run the tests, and exit."""
    status = main(names)
    for used in AUTHORITIES.values():
        used.close()
    sys.exit(status)
