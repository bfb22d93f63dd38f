#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs as root in the guest of vm-local-limits.py, whose cgroups have all
# controllers, and exhausts the limits of local sandboxes. Prints "ok" or
# "not ok" and the name of each case.
PATH=/bin:/usr/bin
export PATH HOME=/root XDG_CACHE_HOME=/tmp XDG_STATE_HOME=/state
export STEPBACK_LIBEXECDIR=/libexec STEPBACK_PROGRAM_PATH=/usr/bin:/bin
groups=/sys/fs/cgroup
hog="dd if=/dev/zero of=/dev/null bs=300M count=1"

check() { # NAME COMMAND...
    name=$1
    shift
    if "$@" >/tmp/out 2>&1; then
        echo "ok $name"
    else
        echo "not ok $name"
        sed 's/^/# /' /tmp/out
    fi
}

# Print a file of the only sandbox's cgroup below a folder.
limit() {
    cat "$1"/stepback-local-*/"$2"
}

say() { # TEXT COMMAND...: the command's output must have the text
    text=$1
    shift
    "$@" >/tmp/said 2>&1
    cat /tmp/said
    grep -q "$text" /tmp/said
}

in_group() { # GROUP COMMAND...
    (echo 0 >"$groups/$1/cgroup.procs" && shift && "$@")
}

fill_work() {
    rm -rf /work
    mkdir -p /work
    echo first >/work/kept
    echo gone >/work/gone
    cd /work || exit
}

# ---- one sandbox with a memory of 128 MiB -------------------------------------

limits_are_set() {
    stepback up --isolation=local --no-network --memory=128 --cpus=1 &&
        say '^134217728$' limit $groups memory.max &&
        say '^0$' limit $groups memory.swap.max &&
        say '^100000 100000$' limit $groups cpu.max &&
        say '^4096$' limit $groups pids.max
}

exhausted_memory_ends_the_command_alone() {
    stepback exec work -- sh -c "echo more >>kept; rm gone; exec $hog" 2>/tmp/err
    [ $? = 137 ] && cat /tmp/err &&
        grep -q 'memory was used up, and the kernel killed 1 of its' /tmp/err &&
        say here stepback exec work -- echo here
}

a_later_command_is_not_blamed() {
    stepback exec work -- true 2>/tmp/err
    ! grep 'memory was used up' /tmp/err
}

undo_works_afterwards() {
    stepback undo --yes; stepback undo --yes; stepback undo --yes
    [ "$(cat kept)" = first ] && [ "$(cat gone)" = gone ]
}

a_child_is_counted_for_its_command() {
    say 'killed 1 of its processes' stepback exec work -- sh -c "$hog; true"
}

the_own_limits_are_out_of_reach() {
    stepback exec work -- sh -c '! ls /sys/fs/cgroup && ! mount -t cgroup2 c /tmp' &&
        say '^134217728$' limit $groups memory.max
}

a_full_folder_in_memory_leaves_the_sandbox() {
    stepback exec work -- sh -c 'dd if=/dev/zero of=/tmp/big bs=1M count=500; rm /tmp/big'
    say here stepback exec work -- echo here
}

# What fills the memory is not a process here: all may have to end.
full_memory_ends_the_sandbox_alone() {
    stepback exec work -- sh -c 'echo more >>kept
        for folder in /tmp /var/tmp /dev/shm /run /root; do
            dd if=/dev/zero of=$folder/big bs=1M count=500 &
        done; wait'
    stepback ps -a
    stepback stop work
    say work stepback up work && say here stepback exec work -- echo here &&
        grep more kept && stepback undo --yes && [ "$(cat kept)" = first ]
}

it_ends_with_its_cgroup() {
    stepback stop work && stepback rm work && ! ls -d $groups/stepback-local-*
}

# ---- where cgroups are made ----------------------------------------------------

the_default_is_a_limit() {
    stepback up --isolation=local --no-network &&
        say '^1073741824$' limit $groups memory.max &&
        say '^max 100000$' limit $groups cpu.max &&
        stepback stop work && stepback rm work
}

# A session of systemd: the scope has processes, the slice above has none.
a_slice_serves_root() {
    mkdir -p $groups/user.slice/session.scope
    in_group user.slice/session.scope stepback up --isolation=local --no-network \
        --memory=128 &&
        say '^134217728$' limit $groups/user.slice memory.max &&
        stepback stop work
}

doctor_agrees() {
    stepback doctor | grep -E '^ok +limits'
}

as_user() {
    in_group delegated/scope su user -s /bin/sh -c "cd /work; \
        export XDG_CACHE_HOME=/home/user XDG_STATE_HOME=/home/user/state; $1"
}

a_user_has_limits_in_a_delegated_cgroup() {
    mkdir -p $groups/delegated/scope
    chown user $groups/delegated $groups/delegated/cgroup.procs \
        $groups/delegated/cgroup.subtree_control
    chown -R user /work
    echo '+memory +cpu +pids' >$groups/cgroup.subtree_control
    as_user "stepback run --isolation=local --no-network --memory=128 -- '$hog'" \
        2>/tmp/err
    [ $? = 137 ] && cat /tmp/err && grep -q 'memory was used up' /tmp/err &&
        ! ls -d $groups/delegated/stepback-local-*
}

a_user_without_one_is_told() {
    mkdir -p $groups/closed
    echo 0 >$groups/closed/cgroup.procs
    su user -s /bin/sh -c 'cd /work; export XDG_STATE_HOME=/home/user/state
        stepback run --isolation=local --no-network --memory=128 -- true' 2>/tmp/err
    [ $? = 125 ] && say 'systemd-run --user --scope' cat /tmp/err
    status=$?
    echo 0 >$groups/cgroup.procs
    return $status
}

fill_work
for name in limits_are_set exhausted_memory_ends_the_command_alone \
    a_later_command_is_not_blamed undo_works_afterwards \
    a_child_is_counted_for_its_command the_own_limits_are_out_of_reach \
    a_full_folder_in_memory_leaves_the_sandbox full_memory_ends_the_sandbox_alone \
    it_ends_with_its_cgroup; do
    check $name $name
done
fill_work
for name in the_default_is_a_limit a_slice_serves_root doctor_agrees \
    a_user_has_limits_in_a_delegated_cgroup a_user_without_one_is_told; do
    check $name $name
done
echo finished
