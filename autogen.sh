#!/bin/sh
# Make ./configure from configure.ac.
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake libtoolize pkg-config; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "autogen.sh: $tool is missing; on Debian:" \
             "apt-get install autoconf automake libtool pkg-config" >&2
        exit 1
    fi
done
mkdir -p build-aux
exec autoreconf --force --install --verbose --warnings=all,no-portability
