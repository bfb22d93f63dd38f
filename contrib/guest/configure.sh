# Sourced by fill-rootfs: writes into the root folder what the packages'
# maintainer scripts would write, which need root and a running system. Uses the
# host's programs on the folder where possible (update-alternatives, ldconfig).
# shellcheck shell=bash

# Register $2 (a program, if the image has it) as alternative $1 with priority
# $3. The other arguments are pairs for slaves: a link and its path.
alternative() {
    local link=$1 path=$2 priority=$3 slaves=()
    [ -e "$root$path" ] || return 0
    shift 3
    while [ $# -gt 0 ]; do
        slaves+=(--slave "$1" "${1##*/}" "$2")
        shift 2
    done
    update-alternatives --root "$root" --log /dev/null --quiet \
        --install "$link" "${link##*/}" "$path" "$priority" "${slaves[@]}"
}

# Use the packages' own names and priorities, so that their upgrades and other
# alternatives work in the guest. Manual pages are omitted: there is no man.
link_alternatives() {
    local name xz=()
    alternative /usr/bin/awk /usr/bin/mawk 5 /usr/bin/nawk /usr/bin/mawk
    alternative /usr/bin/awk /usr/bin/gawk 10 /usr/bin/nawk /usr/bin/gawk
    alternative /usr/bin/which /usr/bin/which.debianutils 0
    alternative /usr/bin/pager /usr/bin/less 77
    alternative /usr/bin/cc /usr/bin/gcc 20
    alternative /usr/bin/c89 /usr/bin/c89-gcc 20
    alternative /usr/bin/c99 /usr/bin/c99-gcc 20
    alternative /lib/cpp /usr/bin/cpp 10
    alternative /usr/sbin/rmt /usr/sbin/rmt-tar 50
    for name in editor ex rview vi view; do
        alternative "/usr/bin/$name" /usr/bin/vim.tiny 15
    done
    for name in cat more less diff cmp grep egrep fgrep; do
        xz+=("/usr/bin/lz$name" "/usr/bin/xz$name")
    done
    alternative /usr/bin/lzma /usr/bin/xz 20 /usr/bin/unlzma /usr/bin/unxz "${xz[@]}"
    [ -e "$root/usr/bin/sh" ] || ln -s dash "$root/usr/bin/sh"
}

# Write the files that groupadd, useradd and login expect.
write_accounts() {
    local name
    for name in passwd group; do
        sed 's/^\([^:]*\):[^:]*:/\1:x:/' \
            "$root/usr/share/base-passwd/$name.master" >"$root/etc/$name"
    done
    sed 's/^\([^:]*\):.*/\1:*:19000:0:99999:7:::/' "$root/etc/passwd" \
        >"$root/etc/shadow"
    sed 's/^\([^:]*\):.*/\1:*::/' "$root/etc/group" >"$root/etc/gshadow"
    chown 0:42 "$root/etc/shadow" "$root/etc/gshadow"
    chmod 0640 "$root/etc/shadow" "$root/etc/gshadow"
    : >"$root/etc/subuid"
    : >"$root/etc/subgid"
    {
        cat "$root/usr/share/debianutils/shells"
        cat "$root"/usr/share/debianutils/shells.d/*
    } | sed 's,^/bin/.*,&\n/usr&,' >"$root/etc/shells"
}

# Print the lines of a section of PAM's profile "unix", $1, such as "Auth", with
# a jump to the end as a jump over the pam_deny that follows.
pam_lines() {
    awk -v section="$1:" '/^[^ \t]/ { inside = $1 == section; next }
        inside { sub(/^[ \t]+/, ""); sub(/success=end/, "success=1"); print }' \
        "$root/usr/share/pam-configs/unix"
}

# $1: the file's type, $2: its variable in the template, $3, $4: the
# replacements of the blocks "primary" and "additional".
write_pam_file() {
    awk -v type="${1%%-*}" -v name="$2" -v primary="$3" -v additional="$4" '
        function block(text,    n, i, lines) {
            n = split(text, lines, "\n")
            for (i = 1; i <= n; i++)
                print type "\t" lines[i]
        }
        $0 == "$" name "_primary" { block(primary); next }
        $0 == "$" name "_additional" { block(additional); next }
        { print }' "$root/usr/share/pam/common-$1" >"$root/etc/pam.d/common-$1"
}

# Every service includes these files. su and runuser abort without them.
write_pam() {
    local auth account password session null='[default=1]			pam_permit.so'
    auth=$(pam_lines Auth-Initial)
    account=$(pam_lines Account-Initial)
    password=$(pam_lines Password-Initial)
    session=$(pam_lines Session-Initial)
    write_pam_file auth auth "$auth" ''
    write_pam_file account account "$account" ''
    write_pam_file password password "$password" ''
    write_pam_file session session "$null" "$session"
    write_pam_file session-noninteractive session_nonint "$null" "$session"
    # The state by which pam-auth-update detects that the files are unmodified.
    mkdir -p "$root/var/lib/pam"
    (
        cd "$root/var/lib/pam"
        printf 'Module: unix\n%s\n' "${auth/success=1/success=end}" >auth
        printf 'Module: unix\n%s\n' "${account/success=1/success=end}" >account
        printf 'Module: unix\n%s\n' "${password/success=1/success=end}" >password
        printf 'Module: null\n%s\nModule: unix\n%s\n' "$null" "$session" |
            tee session >session-noninteractive
        printf 'unix\nmkhomedir\n' >seen
    )
    : >"$root/etc/environment"
    install -m 0600 /dev/null "$root/etc/security/opasswd"
}

# Install all certificates in one file, where OpenSSL and GnuTLS look.
install_certificates() {
    mkdir -p "$root/etc/ssl/certs" "$root/usr/local/share/ca-certificates"
    find "$root/usr/share/ca-certificates" -name '*.crt' -print0 | LC_ALL=C sort -z |
        xargs -0 cat >"$root/etc/ssl/certs/ca-certificates.crt"
    ln -sf certs/ca-certificates.crt "$root/etc/ssl/cert.pem"
    mkdir -p "$root/usr/lib/ssl"
    ln -sf /etc/ssl/certs/ca-certificates.crt "$root/usr/lib/ssl/cert.pem"
    (cd "$root/usr/share/ca-certificates" && find . -name '*.crt' | sed 's,^\./,,' |
        LC_ALL=C sort) >"$root/etc/ca-certificates.conf"
}

# Write dpkg's trigger database for the guest: without it, installing a package
# there updates neither caches nor shells.
write_triggers() {
    local dir=$root/var/lib/dpkg/triggers file package kind name option
    mkdir -p "$dir"
    : >"$dir/File"
    for file in "$root"/var/lib/dpkg/info/*.triggers; do
        package=${file##*/} package=${package%.triggers}
        while read -r kind name; do
            case $kind in
            interest | interest-await) option='' ;;
            interest-noawait) option=/noawait ;;
            *) continue ;;
            esac
            case $name in
            /*) echo "$name $package$option" >>"$dir/File" ;;
            *) echo "$package$option" >>"$dir/$name" ;;
            esac
        done <"$file"
    done
}

# Create the directories and files of base-files and others.
write_basics() {
    local base=$root/usr/share/base-files
    mkdir -p "$root"/{srv,opt,media,etc/opt,var/opt,var/spool,etc/python3} \
        "$root"/usr/local/{bin,etc,games,include,lib,sbin,share/man,src} \
        "$root/usr/local/lib/$(readlink "$root/usr/bin/python3")/dist-packages"
    ln -sf share/man "$root/usr/local/man"
    install -d -m 2775 -g 8 "$root/var/mail"
    ln -sf ../mail "$root/var/spool/mail"
    # Some programs write to one of them and others read /run.
    [ -L "$root/var/run" ] || { rmdir "$root/var/run" && ln -s /run "$root/var/run"; }
    install -m 0664 -g 43 /dev/null "$root/var/log/wtmp"
    install -m 0664 -g 43 /dev/null "$root/var/log/lastlog"
    install -m 0660 -g 43 /dev/null "$root/var/log/btmp"
    : >"$root/var/log/faillog"
    cp "$base/profile" "$root/etc/profile"
    cp "$base/motd" "$root/etc/motd"
    cp "$base/dot.bashrc" "$root/root/.bashrc"
    cp "$base/dot.profile" "$root/root/.profile"
    cp "$base/info.dir" "$root/usr/share/info/dir"
    ln -sf debian "$root/etc/dpkg/origins/default"
    cp "$root/usr/share/readline/inputrc" "$root/etc/inputrc"
    cp "$root/usr/share/libc-bin/nsswitch.conf" "$root/etc/nsswitch.conf" 2>/dev/null ||
        echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
    ln -sf /usr/share/zoneinfo/Etc/UTC "$root/etc/localtime"
    echo Etc/UTC >"$root/etc/timezone"
    printf '[DEFAULT]\nbyte-compile = standard\n' >"$root/etc/python3/debian_config"
    printf 'default 0.0.0.0\nloopback 127.0.0.0\nlink-local 169.254.0.0\n' \
        >"$root/etc/networks"
}

# Byte-compile Python's own modules with the image's Python and libraries, as
# the host's Python may be another version. Otherwise each start of Python in
# the guest would compile them in vain, because the root disk is volatile.
# -I -S: run no sitecustomize or .pth file of the image, which can be a link to a
# file of the host; -e: compile no file that a link outside of the image names.
compile_python() {
    local libraries=$root/usr/lib/x86_64-linux-gnu version
    version=$(readlink "$root/usr/bin/python3")
    env -i PATH="$PATH" PYTHONHOME="$root/usr" PYTHONNOUSERSITE=1 \
        "$root/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" \
        "$root/usr/bin/$version" -I -S -m compileall -q -j 0 \
        -s "$root" -p / -e "$root" -x '/test/|/lib2to3/tests/|/turtledemo/' \
        "$root/usr/lib/$version" "$root/usr/lib/python3/dist-packages" \
        "$root/usr/share/python3"
}

# Print all paths that the functions of this file and fill-rootfs write through
# the shell, cp, mkdir or install.
list_written() {
    printf '%s\n' root tmp srv opt media var/tmp var/mail var/spool var/opt \
        mnt/working var/log/{wtmp,lastlog,btmp,faillog} var/lib/pam/{auth,account} \
        var/lib/pam/{password,session,session-noninteractive,seen} \
        var/lib/dpkg/{status,available,info} var/lib/dpkg/triggers/File \
        root/{.bashrc,.profile} usr/share/info/dir usr/lib/ssl usr/lib/modules \
        usr/local/{etc,games,include,sbin,src,bin,share/man,share/ca-certificates} \
        "usr/local/lib/$(readlink "$root/usr/bin/python3")/dist-packages" \
        etc/{passwd,group,shadow,gshadow,subuid,subgid,shells,environment} \
        etc/{profile,motd,inputrc,nsswitch.conf,timezone,networks,hostname,hosts} \
        etc/{resolv.conf,gitconfig,ca-certificates.conf,ld.so.cache,opt} \
        etc/apt/sources.list etc/udhcpc/default.script etc/security/opasswd \
        etc/dpkg/origins etc/python3/debian_config etc/ssl/certs/ca-certificates.crt \
        etc/pam.d/common-{auth,account,password,session,session-noninteractive}
}

run_like_maintainer_scripts() {
    write_basics
    write_accounts
    write_pam
    write_triggers
    link_alternatives
    install_certificates
    compile_python
    ldconfig -r "$root"
}
