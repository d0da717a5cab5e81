#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Promise 17: `memoir ctl` and `memoir top` of a process that is stopped, asleep in the kernel, ended,
# about to become another program or in other namespaces answer, or say what is the matter, soon;
# and leave no file behind. Soon is 2 s; a loaded machine gets 8, less than the 10 s after which the
# client gives up without having understood anything.
. "$(dirname "$0")/common.sh"
open_place
settle
build "$root/tests/programs/control_of_odd_processes.c" -o target

begins() { # WORD [COMMAND...]: sets $target
    word=$1
    shift
    rm -f out
    "$@" env LD_PRELOAD="$MEMOIR_LIB" "$place/target" "$word" >out 2>err <fifo &
    shell=$!
    for _ in $(seq 100); do
        grep -q ready out 2>/dev/null && break
        sleep 0.1
    done
    target=$(sed -n 's/ready //p' out)
}

asks() { # CODE PATTERN WHAT
    for words in "ctl $target stats" "top $target" "ctl $target dump now.memoir"; do
        timeout 8 "$MEMOIR_TOOL" $words >said 2>&1
        got=$?
        [ "$got" -eq "$1" ] || fail "$3: memoir $words: exit code $got: $(cat said)"
        [ "$1" -eq 0 ] || grep -q "$2" said || fail "$3: memoir $words: $(cat said)"
        [ "$1" -eq 0 ] || [ ! -e now.memoir ] || fail "$3: a file is left"
        rm -f now.memoir
    done
}

stops() {
    kill -STOP "$target"
    for _ in $(seq 50); do
        grep -q '^State:.T' "/proc/$target/status" && break
        sleep 0.1
    done
}

ends() {
    kill -KILL "$target" 2>/dev/null
    kill -KILL "$shell" 2>/dev/null
    wait "$shell" 2>/dev/null
}

mkfifo fifo
exec 9<>fifo
begins busy
asks 0 '' 'a plain process'
stops
asks 4 'is stopped' stopped
ends
begins sigwait
asks 0 '' 'sigwait for all signals'
ends
for group in /sys/fs/cgroup/unified /sys/fs/cgroup /sys/fs/cgroup/freezer; do
    state=$group/memoir-$$/cgroup.freeze # or freezer.state
    mkdir "$group/memoir-$$" 2>/dev/null || continue
    if [ ! -e "$state" ] && [ ! -e "${state%/*}/freezer.state" ]; then
        rmdir "$group/memoir-$$"
        continue
    fi
    begins busy
    echo "$target" >"$group/memoir-$$/cgroup.procs"
    case $group in
    */freezer) echo FROZEN >"$group/memoir-$$/freezer.state" ;;
    *) echo 1 >"$state" ;;
    esac
    asks 4 'is frozen' "frozen in $group"
    case $group in
    */freezer) echo THAWED >"$group/memoir-$$/freezer.state" ;;
    *) echo 0 >"$state" ;;
    esac
    asks 0 '' "thawed in $group"
    ends
    for _ in $(seq 50); do
        rmdir "$group/memoir-$$" 2>/dev/null && break
        sleep 0.1
    done
done
begins zombie
asks 4 'has ended' zombie
kill -KILL "$shell"
begins headless
asks 4 'main thread has ended' headless
ends
begins vfork
asks 4 'wait in the kernel' vfork
ends

# it hears no signal for a moment, in which the client calls
begins moment
(
    sleep 0.4
    echo >&9
) &
asks 0 '' 'deaf for a moment'
ends

# it becomes another program while the client waits: it hears nothing before that
begins exec
(
    sleep 1
    echo >&9
) &
asks 4 'runs without memoir' exec
ends

# stopped when the request is there: the helper listens, then nothing moves
begins busy
"$MEMOIR_TOOL" ctl "$target" stats >/dev/null || fail "a plain process does not answer"
stops
asks 4 'is stopped' 'stopped with a helper'
ends

# SIGCONT would not help
if command -v gdb >/dev/null; then
    begins busy
    mkfifo debugger
    gdb -q -p "$target" <debugger >/dev/null 2>&1 &
    exec 8>debugger
    for _ in $(seq 100); do
        grep -q '^State:.t' "/proc/$target/status" && break
        sleep 0.1
    done
    # it may not be permitted
    ! grep -q '^State:.t' "/proc/$target/status" || asks 4 'stopped by a debugger' 'under a debugger'
    exec 8>&-
    ends
fi

# no thread can be started; then some can
if [ "$(id -u)" -eq 0 ] && command -v prlimit >/dev/null && command -v setpriv >/dev/null; then
    cp "$MEMOIR_LIB" lib.so
    user=$((20000 + $$ % 10000)) # of whom no other test has threads
    as="setpriv --reuid=$user --regid=$user --clear-groups"
    MEMOIR_LIB=$place/lib.so begins busy $as prlimit --nproc=1:100
    timeout 8 "$MEMOIR_TOOL" ctl "$target" stats >said 2>&1
    grep -q "can't start the two threads" said || fail "no threads: $(cat said)"
    $as prlimit --nproc=10:100 --pid "$target"
    "$MEMOIR_TOOL" ctl "$target" stats >said 2>&1 || fail "threads again: $(cat said)"
    ends
fi

# a root folder without /proc, from the start, where the library lies outside
if [ "$(id -u)" -eq 0 ]; then
    mkdir root
    begins chroot
    asks 4 'changed its root folder' chroot
    timeout 60 "$MEMOIR_TOOL" ps >said 2>&1
    grep -q "^ *$target .*does not answer" said || fail "ps, chroot: $(cat said)"
    ends
fi

# other namespaces, where there may be any
if unshare -U true 2>/dev/null; then
    begins busy unshare -U
    target=$(pgrep -P "$shell" -x target || echo "$shell")
    asks 4 'not mapped in its user namespace' 'no user map'
    ends
fi
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=54323 --clear-groups unshare -Ur true 2>/dev/null; then
    # a user's own namespace, where root and its /tmp belong to no user who has a number
    cp "$MEMOIR_LIB" "$MEMOIR_TOOL" .
    chmod 755 . memoir target lib*.so*
    set -- setpriv --reuid=54323 --regid=54323 --clear-groups
    MEMOIR_LIB=$place/$(basename "$MEMOIR_LIB") begins busy "$@" unshare -Ur
    timeout 8 "$@" ./memoir ctl "$target" stats >said 2>&1 || fail "a user's namespace: $(cat said)"
    timeout 8 "$@" nsenter --target "$target" --user --preserve-credentials \
        ./memoir ctl "$target" stats >said 2>&1 ||
        fail "in a user's namespace: $(cat said)"
    ends
    # its sockets' folder, which there is named after root
    find /tmp /dev/shm /var/tmp -maxdepth 1 -name memoir-0 -user 54323 -exec rm -r {} +
fi
if unshare -p -f true 2>/dev/null; then
    begins busy unshare -p -f
    target=$(pgrep -P "$shell" -x target)
    asks 0 '' "another namespace's /proc"
    ends
fi
finish
