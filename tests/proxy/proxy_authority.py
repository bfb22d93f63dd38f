# SPDX-License-Identifier: Apache-2.0
"""Certificate authorities of tests, made with openssl(1)."""
import os
import subprocess
import tempfile


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stderr=subprocess.DEVNULL)


class Authority:
    """An authority in a folder of its own. All its leaves have one key."""

    def __init__(self, title):
        self.folder = tempfile.TemporaryDirectory()
        self.count = 0
        self.certificate = self.path("authority")
        self.key = self.path("leaf.key")
        ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl("req", "-x509", *ec, "-days", "2", "-subj", f"/CN={title}",
                "-addext", "basicConstraints=critical,CA:TRUE",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                "-keyout", self.path("key"), "-out", self.certificate)
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout",
                "-out", self.key)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def issue(self, name, days=2, purpose="serverAuth", alternative=None,
              key=None):
        """The file of a new leaf, for self.key or another one."""
        self.count += 1
        request = self.path(f"request{self.count}")
        leaf = self.path(f"leaf{self.count}")
        extensions = ["-addext", f"extendedKeyUsage={purpose}"]
        if alternative != "":
            extensions += ["-addext", "subjectAltName=DNS:" +
                           (alternative or name)]
        openssl("req", "-new", "-key", key or self.key, "-subj", f"/CN={name}",
                *extensions, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate,
                "-CAkey", self.path("key"), "-days", str(days),
                "-copy_extensions", "copy", "-out", leaf)
        return leaf

    def close(self):
        self.folder.cleanup()


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()
