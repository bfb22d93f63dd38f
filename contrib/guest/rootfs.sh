# Sourced by build: the root disk of the flavour "debian".
#
# The packages are unpacked, and what their maintainer scripts would do that
# matters here is done by hand: those need root and a running system. dpkg's
# database is written too, so that apt in the guest knows what it has.
# shellcheck shell=bash

# The packages wanted, one a line.
wanted_packages() {
    sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$here/debian-packages"
}

# Make the folders that packages expect, with /bin and others merged into /usr.
prepare_root() {
    local root=$1 name
    for name in bin sbin lib lib64; do
        mkdir -p "$root/usr/$name"
        ln -s "usr/$name" "$root/$name"
    done
    mkdir -p "$root"/{dev,proc,sys,run,mnt/working,root,var/lib/dpkg/info}
    : >"$root/var/lib/dpkg/status"
    : >"$root/var/lib/dpkg/available"
    echo 1 >"$root/var/lib/dpkg/info/format"
}

# Unpack package $1 into $2, and enter it into dpkg's database.
install_package() {
    local file=$1 root=$2 info=$2/var/lib/dpkg/info control name entry
    dpkg-deb --fsys-tarfile "$file" |
        tar -x -p -C "$root" --keep-directory-symlink --numeric-owner ||
        die "$file is broken" "rm '$file'"
    control=$work/control
    rm -rf "$control"
    dpkg-deb -e "$file" "$control"
    name=$(sed -n 's/^Package: //p' "$control/control")
    if grep -q '^Multi-Arch: same' "$control/control"; then
        name=$name:$(sed -n 's/^Architecture: //p' "$control/control")
    fi
    {
        sed -e '/^$/d' -e '1a Status: install ok installed' "$control/control"
        if [ -s "$control/conffiles" ]; then
            echo 'Conffiles:'
            while read -r entry; do
                [ -f "$root$entry" ] && [ ! -L "$root$entry" ] || continue
                echo " $entry $(md5sum <"$root$entry" | cut -d ' ' -f 1)"
            done <"$control/conffiles"
        fi
        echo
    } >>"$root/var/lib/dpkg/status"
    rm "$control/control"
    for entry in "$control"/*; do
        [ ! -f "$entry" ] || cp -p "$entry" "$info/$name.${entry##*/}"
    done
    dpkg-deb --fsys-tarfile "$file" | tar -t |
        sed -e 's,^\./,/,' -e 's,/$,,' -e 's,^$,/.,' >"$info/$name.list"
}

# What update-alternatives would link.
link_alternatives() {
    local root=$1 link target
    while read -r link target; do
        [ -e "$root/usr/bin/$link" ] || [ ! -e "$root/usr/bin/$target" ] ||
            ln -s "$target" "$root/usr/bin/$link"
    done <<'END'
awk gawk
nawk gawk
sh dash
cc gcc
c99 c99-gcc
c89 c89-gcc
which which.debianutils
pager less
xzcat xz
lzma xz
END
}

# Accounts, names, and the settings that make a guest of it.
configure_root() {
    local root=$1
    cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
    cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
    sed 's/^\([^:]*\):.*/\1:*:19000:0:99999:7:::/' "$root/etc/passwd" \
        >"$root/etc/shadow"
    chmod 0640 "$root/etc/shadow"
    cp "$root/usr/share/base-files/profile" "$root/etc/profile"
    cp "$root/usr/share/libc-bin/nsswitch.conf" "$root/etc/nsswitch.conf" 2>/dev/null ||
        echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
    cp "$root/usr/share/base-files/dot.bashrc" "$root/root/.bashrc"
    ln -sf /usr/share/zoneinfo/Etc/UTC "$root/etc/localtime"
    echo stepback >"$root/etc/hostname"
    printf '127.0.0.1 localhost stepback\n::1 localhost\n' >"$root/etc/hosts"
    # The name server of QEMU's user network.
    echo 'nameserver 10.0.2.3' >"$root/etc/resolv.conf"
    # The working folder belongs to somebody on the host.
    printf '[safe]\n\tdirectory = *\n' >"$root/etc/gitconfig"
    sed -e "s/^deb \[[^]]*\]/deb/" "$APT_CONFIG_DIR/sources.list" \
        >"$root/etc/apt/sources.list"
    mkdir -p "$root/etc/udhcpc"
    install -m 0755 "$here/udhcpc.script" "$root/etc/udhcpc/default.script"
    chmod 1777 "$root/tmp" "$root/var/tmp"
    chmod 0700 "$root/root"
}

# All certificates in one file, where OpenSSL and GnuTLS look.
install_certificates() {
    local root=$1
    mkdir -p "$root/etc/ssl/certs"
    find "$root/usr/share/ca-certificates" -name '*.crt' -print0 | LC_ALL=C sort -z |
        xargs -0 cat >"$root/etc/ssl/certs/ca-certificates.crt"
    ln -sf certs/ca-certificates.crt "$root/etc/ssl/cert.pem"
    mkdir -p "$root/usr/lib/ssl"
    ln -sf /etc/ssl/certs/ca-certificates.crt "$root/usr/lib/ssl/cert.pem"
    (cd "$root/usr/share/ca-certificates" && find . -name '*.crt' | sed 's,^\./,,' |
        LC_ALL=C sort) >"$root/etc/ca-certificates.conf"
}

# Fill folder $1 and write it to the ext4 image $2. Runs as root or under
# fakeroot, so that owners are the packages' own.
fill_rootfs() {
    local root=$1 image=$2 file
    prepare_root "$root"
    while read -r file; do
        install_package "$file" "$root"
    done <"$work/packages"
    configure_root "$root"
    link_alternatives "$root"
    install_certificates "$root"
    mkdir -p "$root/usr/lib/modules"
    cp -r "$work/initramfs/lib/modules/$kernel" "$root/usr/lib/modules/"
    chown -R 0:0 "$root/usr/lib/modules" "$root/mnt"
    # The file is sparse: of the 8 GiB only what is used takes space.
    mke2fs -q -t ext4 -d "$root" -L stepback-root -m 0 \
        -E lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0 \
        "$image" 8G
}

# Sets up what fill_rootfs() needs and runs it, as root in appearance.
make_rootfs() {
    local image=$1
    say "packages of the root disk"
    # shellcheck disable=SC2046
    fetch_closure $(wanted_packages)
    printf '%s\n' "${fetched_all[@]}" >"$work/packages"
    say "unpacking ${#fetched_all[@]} packages and writing the root disk"
    mkdir "$work/rootfs"
    chmod 0755 "$work/rootfs"
    export -f die say wanted_packages prepare_root install_package \
        link_alternatives configure_root install_certificates fill_rootfs
    export here work kernel program APT_CONFIG_DIR=${APT_CONFIG%/*}
    set -- bash -eu -o pipefail -c 'fill_rootfs "$@"' fill_rootfs \
        "$work/rootfs" "$image"
    if [ "$(id -u)" -eq 0 ]; then
        run_logged "$@"
    else
        run_logged fakeroot -- "$@"
    fi || die "the root disk could not be made"
}
