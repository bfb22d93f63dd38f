# SPDX-License-Identifier: Apache-2.0
"""Commands that are clients of the servers of names_world.py, as shell words."""
import shlex

# An HTTP or TLS client that sends the given bytes.
ASK = """
import socket, ssl, sys
name, port, tls, data = sys.argv[1:5]
s = socket.create_connection((name, int(port)), 20)
if tls != "-":
    c = ssl.create_default_context(cafile="cert.pem")
    c.check_hostname = False
    s = c.wrap_socket(s, server_hostname=None if tls == "none" else tls)
s.settimeout(20)
s.sendall(data.encode().decode("unicode_escape").encode())
while got := s.recv(65536):
    if sys.argv[5:]:
        sys.exit(got.decode())
    print(got.decode(), end="", flush=True)
"""


def ask(name, port, data="", tls="-"):
    return shlex.join(["/usr/bin/python3", "-c", ASK, name, str(port), tls, data])


def get(name, host=None, more=""):
    return ask(name, 80, "GET / HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n"
               "%s\\r\\n" % (host or name, more))


def curl(url, *words):
    return shlex.join(["curl", "-sS", "-m", "20", "--cacert",
                       "cert.pem", *words, url])
