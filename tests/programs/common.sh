#!/bin/sh
# SPDX-License-Identifier: MIT
# helper: what the scripts here share. Source it first; it makes $place, an empty folder that goes
# away.
#   build FLAGS... SOURCE -o NAME   compiles like the C tests do
#   preload COMMAND...              runs it with the library under test
#   launch COMMAND...               starts it, waits until it prints "ready"; $pid, $place/out and $place/errors
#   storm_library                   builds library.so, which calls back: threads load and unload it
#   expect CODE COMMAND...          runs it and complains unless it exits with CODE
#   open_place                      lets other users enter $place; call it before anything is in there
#   quiet FILE                      complains if FILE holds a line of ours
#   settle                          goes to $place, where no setting of the user's reaches the command
#   serve                           starts server.py, which writes its port to `port`; then it is $at
#   browse TEXT                     runs drive.py with browser.py; TEXT: what does not work if it fails
#   cxx_named LIBRARY SOURCE -o NAME   compiles C++ and links it with our library of that name
#   answers NAME COMMAND...         runs it; its output is in NAME, and no line of it says NO
#   fail TEXT                       complains; the script goes on and `finish` exits with 1
set -u
root=${MEMOIR_ROOT:-$(cd "$(dirname "$0")" && pwd)}
while [ ! -e "$root/tests/programs/common.sh" ]; do
    root=$(dirname "$root")
done
: "${MEMOIR_LIB:=$root/build/libmemoir.so}" "${MEMOIR_STATIC:=$root/build/libmemoir.a}"
: "${MEMOIR_TOOL:=$root/build/memoir}" "${CC:=cc}" "${CXX:=c++}"
place=$(mktemp -d) || exit 2
running='' # processes that end with the script
trap 'for p in $running; do kill "$p" 2>/dev/null; done; forget; rm -rf "$place"' EXIT
trap 'exit 2' INT TERM
unset MEMOIR
mode=${MEMOIR_TEST_OPTIONS-} # what the campaign wants MEMOIR to be wherever the library is in
failures=0

# Recorder files of programs that the test let die while they were to write something to $place.
forget() {
    for kept in /dev/shm/memoir-*-end-* /dev/shm/.memoir-*-end-*.paths; do
        # another's pipe under such a name would hold grep up
        if [ -f "$kept" ] && grep -qF "$place" "$kept" 2>/dev/null; then
            rm -f "$kept"
        fi
    done
}

fail() {
    echo "$*"
    failures=$((failures + 1))
}

finish() {
    [ "$failures" -eq 0 ] || exit 1
    exit 0
}

skip() {
    echo "skipped: $*"
    exit 77
}

need() {
    for program in "$@"; do
        command -v "$program" >/dev/null 2>&1 || skip "$program is not installed"
    done
}

need_terminal() {
    need python3
    python3 -c 'import os; os.openpty()' 2>/dev/null || skip "there are no terminals: /dev/pts is not mounted"
}

# A clone may lie below a folder that only its owner enters, as /root: then $place moves to /tmp. Anywhere
# it is an error if something has been written to $place already.
open_place() {
    rmdir "$place" && mkdir -m 755 "$place" || exit 2
    [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null 2>&1 || return 0
    setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$place" && return 0
    rmdir "$place"
    place=$(mktemp -d /tmp/memoir-test-XXXXXX) || exit 2
    chmod 755 "$place"
}

build() {
    "$CC" -O1 -g -fno-builtin -w -D_GNU_SOURCE= -I"$root" -I"$root/include" "$@" -pthread -ldl -lm || {
        echo "cannot compile: $*"
        exit 2
    }
}

cxx_named() { # LIBRARY FLAGS... SOURCE -o NAME
    names=$(dirname "$MEMOIR_LIB")/compat library=$1
    shift
    "$CXX" -I"$root/include/memoir/compat" -fno-builtin "$@" -pthread -L"$names" -l"$library" -Wl,-rpath,"$names" ||
        fail "it does not link with our library $library: $*"
}

answers() { # NAME COMMAND...
    name=$1
    shift
    "$@" >"$name" 2>errors || fail "$name: exit code $?: $(tail -n 3 errors) $(tail -n 1 "$name")"
    [ -s "$name" ] || fail "$name: nothing was printed"
    ! grep NO "$name" || fail "$name: $(grep NO "$name")"
}

preload() {
    MEMOIR=${MEMOIR-$mode} LD_PRELOAD=$MEMOIR_LIB "$@"
}

storm_library() {
    cat >library.c <<'END'
static int depth;
void call(void (*what)(void))
{
    volatile char room[300] = {0};
    if (++depth % 5 == 0)
        what();
    else
        call(what);
    room[1] = (char)depth;
}
END
    build -O2 -fPIC -shared library.c -o library.so
}

launch() { # COMMAND...
    : >"$place/out"
    "$@" >"$place/out" 2>"$place/errors" &
    pid=$!
    running="$running $pid"
    for _ in $(seq 100); do
        grep -q ready "$place/out" && return
        sleep 0.1
    done
    fail "not ready: $*"
}

expect() { # CODE COMMAND...
    wanted=$1
    shift
    "$@"
    got=$?
    [ "$got" -eq "$wanted" ] || fail "exit code $got, not $wanted: $*"
}

quiet() { # FILE
    if grep -q '^memoir:' "$1"; then
        fail "the library said: $(grep '^memoir:' "$1" | head -n 1)"
    fi
}

# The tests of these real programs pass in this mode, too.
real_programs() { # OPTIONS NAME...
    options=$1
    shift
    for name; do
        MEMOIR_TEST_OPTIONS=$options "$root/tests/programs/real_$name.sh" >"$place/said" 2>&1
        got=$?
        [ "$got" -eq 0 ] || [ "$got" -eq 77 ] || {
            fail "real_$name.sh with $options: exit status $got"
            cat "$place/said"
        }
    done
}

settle() {
    cd "$place" || exit 2
    export LC_ALL=C.UTF-8 XDG_CACHE_HOME="$place/cache"
    unset NO_COLOR CLICOLOR_FORCE MEMOIR LD_PRELOAD PAGER MEMOIR_PAGER LESS GITHUB_STEP_SUMMARY
}

serve() { # it ends with the script
    python3 server.py 2>server.err &
    running="$running $!"
    for _ in $(seq 100); do
        [ -e port ] && break
        sleep 0.1
    done
    at=127.0.0.1:$(cat port)
}

browse() { # TEXT
    PYTHONPATH=$root/tests/programs PYTHONDONTWRITEBYTECODE=1 python3 drive.py
    case $? in
    0) ;;
    77) skip "the browser does not start" ;;
    *) fail "$1" ;;
    esac
}
