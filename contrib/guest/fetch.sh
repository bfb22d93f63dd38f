# Sourced by build: downloads Debian packages from the host's mirror, without
# root and independent of the packages installed on the host. apt uses private
# folders; the host's apt is not changed.
# shellcheck shell=bash

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
host_apt=/etc/apt

# Print "URI suite" for each Debian source of the host, in either format.
host_sources() {
    cat "$host_apt"/sources.list "$host_apt"/sources.list.d/*.list 2>/dev/null |
        sed -n -e 's/\[[^]]*\]//' -e 's/^deb  *//p' |
        awk '{ print $1, $2 }' || true
    # A stanza ends at an empty line or at the end of the file.
    awk 'function stanza(    n, i, names) {
             n = split(suites, names)
             for (i = 1; i <= n && binary && !disabled; i++)
                 print uri, names[i]
             uri = suites = binary = disabled = ""
         }
         FNR == 1 || /^[ \t]*$/ { stanza() }
         { field = tolower($1) }
         field == "types:" { binary = / deb( |$)/ }
         field == "uris:" { uri = $2 }
         field == "suites:" { sub(/^[^:]*:/, ""); suites = $0 }
         field == "enabled:" { disabled = tolower($2) ~ /^(no|false|without|off|disable|0)$/ }
         END { stanza() }' "$host_apt"/sources.list.d/*.sources 2>/dev/null || true
}

# Print the host's URI for suite $1, or else $2. Mirror lists and CDs are
# skipped: apt could not use them for a suite that they do not contain.
source_uri() {
    local uri
    uri=$(host_sources | awk -v suite="$1" \
        '$2 == suite && $1 ~ /^https?:/ && $1 ~ /debian/ && !uri { uri = $1 }
         END { print uri }')
    echo "${uri:-$2}"
}

# Remove users and passwords from the URIs of standard input.
without_passwords() {
    sed -E 's,(://)[^/ ]*@,\1,g'
}

# Print Debian's release for the guest: the host's, if that is Debian.
guest_suite() {
    # shellcheck disable=SC1091
    (. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME") ||
        echo bookworm
}

# Set up the private apt in folder $1 and update its lists. The sources and the
# configuration can have passwords of mirrors and proxies; guest.list, for the
# guest, has none. If root builds, apt's downloads run as its user _apt, where that
# can reach the folders.
fetch_init() {
    local dir=$1 suite main security
    suite=$(guest_suite)
    main=$(source_uri "$suite" http://deb.debian.org/debian)
    security=$(source_uri "$suite-security" http://deb.debian.org/debian-security)
    archives=$dir/archives
    mkdir -p "$dir/lists/partial" "$archives/partial"
    chmod "$([ "$(id -u)" -eq 0 ] && echo 0711 || echo 0700)" "$dir"
    : >"$dir/status"
    rm -f "$dir/sources.list" "$dir/apt.conf"
    install -m 0600 /dev/null "$dir/sources.list"
    install -m 0600 /dev/null "$dir/apt.conf"
    local needed=("$main $suite" "$security $suite-security")
    local extra=("$main $suite-updates")
    [ "$suite" != bookworm ] || extra+=("$main $suite-backports")
    write_sources "$dir" "${needed[@]}" "${extra[@]}"
    {
        # Network settings come from the host; hooks and pins do not.
        apt-config dump | grep -E '^Acquire::(http|https|ftp)' || true
        cat <<END
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
$([ "$(id -u)" -eq 0 ] || echo "APT::Sandbox::User \"$(id -un)\";")
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::State "$dir";
Dir::State::lists "$dir/lists";
Dir::State::status "$dir/status";
Dir::Cache "$dir";
Dir::Cache::archives "$archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "$dir/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Log "$dir";
END
    } >"$dir/apt.conf"
    export APT_CONFIG=$dir/apt.conf
    if ! update_lists; then
        find_suites "$dir" ||
            echo "   cannot update the package lists (no network?); using the previous ones"
        has_lists "$dir" ||
            die "cannot fetch the package lists from $(without_passwords <<<"$main")" \
                "check the network and the room in $dir, and run this again"
    fi
    sed 's/^deb \[[^]]*\]/deb/' "$dir/sources.list" | without_passwords >"$dir/guest.list"
}

# Write sources.list in folder $1 for the sources "URI SUITE".
write_sources() {
    printf "deb [signed-by=$keyring] %s main\n" "${@:2}" >"$1/sources.list"
}

update_lists() {
    run_logged apt-get -o APT::Update::Error-Mode=any update "$@"
}

# Print the suites that there are lists of.
list_suites() {
    apt-get indextargets 'Created-By: Packages' --format '$(RELEASE)'
}

# After a failed update: leave out those of fetch_init's $extra suites that there
# are no lists of, because a mirror need not have them. Return whether the needed
# suites could be updated.
find_suites() {
    local dir=$1 source found=() online=yes
    write_sources "$dir" "${needed[@]}"
    update_lists -o APT::Get::List-Cleanup=false || online=''
    for source in "${extra[@]}"; do
        write_sources "$dir" "$source"
        [ -z "$online" ] || update_lists -o APT::Get::List-Cleanup=false || true
        if list_suites | grep -qxF "${source##* }"; then
            found+=("$source")
        else
            echo "   no package lists of ${source##* }; going on without"
        fi
    done
    write_sources "$dir" "${needed[@]}" "${found[@]}"
    [ -n "$online" ]
}

# Return whether there is a list of each source in $1/sources.list: without one of
# them the newest version of a package would be another.
has_lists() {
    [ "$(list_suites | wc -l)" -eq "$(wc -l <"$1/sources.list")" ]
}

# Print the newest version of a package in any suite; empty if there is none.
newest_version() {
    apt-cache madison "$1" | awk 'NR == 1 { print $3 }'
}

# Print the path of a package in apt's cache: $1 name, $2 version, $3
# architecture.
archive_file() {
    echo "$archives/$1_${2//:/%3a}_$3.deb"
}

# Remove packages in apt's cache that differ from the signed lists: apt itself
# compares only the sizes of cached files. Reads lines "NAME=VERSION FILE".
drop_damaged() {
    local package file sum wanted=() files=()
    local -A hashes=()
    while read -r package file; do
        wanted+=("$package")
        files+=("$file")
    done
    while read -r file sum; do
        hashes[$file]=$sum
    done < <(apt-get download --print-uris "${wanted[@]}" 2>>"$work/log" |
        sed -n "s/^'[^']*' \([^ /]*\.deb\) [0-9]* SHA256:\([0-9a-f]*\)\$/\1 \2/p")
    for file in "${files[@]}"; do
        [ ! -f "$file" ] ||
            [ "$(sha256sum <"$file")" = "${hashes[${file##*/}]:-}  -" ] || rm "$file"
    done
}

# Download one package without its dependencies; sets $fetched. apt's user can
# write to the folder "partial" alone.
fetch_one() {
    local name=$1 version
    version=${2:-$(newest_version "$name")}
    [ -n "$version" ] || die "unknown package $name"
    fetched=$(archive_file "$name" "$version" amd64)
    drop_damaged <<<"$name=$version $fetched"
    [ ! -f "$fetched" ] || return 0
    run_logged env -C "$archives/partial" apt-get download "$name=$version" &&
        mv "$archives/partial/${fetched##*/}" "$fetched" ||
        die "cannot download $name"
}

# Print "NAME=VERSION FILE" for packages and all that they depend on.
list_closure() {
    local name version arch
    apt-get install -s "$@" 2>>"$work/log" |
        sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*\[\([a-z0-9]*\)\]).*/\1 \2 \3/p' |
        while read -r name version arch; do
            echo "$name=$version $(archive_file "$name" "$version" "$arch")"
        done
}

# Download packages with their dependencies; sets the array $fetched_all.
fetch_closure() {
    local list package file
    list=$(list_closure "$@") || list=''
    [ -z "$list" ] || drop_damaged <<<"$list"
    run_logged apt-get install -y --download-only "$@" ||
        die "cannot download the packages"
    [ -n "$list" ] || die "apt lists no packages"
    fetched_all=()
    while read -r package file; do
        [ -f "$file" ] || die "apt did not download $package"
        fetched_all+=("$file")
    done <<<"$list"
}
