#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Whatever the command writes: a symbolic link at the name is not followed, what it leads to stays as
# it is, and a new file can be read by its owner alone. Pipes, devices and descriptors are written as
# they are.
. "$(dirname "$0")/common.sh"
settle
build "$root/tests/programs/run_target.c" -o target
umask 022
memoir() { timeout 60 "$MEMOIR_TOOL" "$@"; }
memoir run -q --exact --output a.memoir ./target >/dev/null 2>errors || fail "no profile: $(cat errors)"

links() { # NAME COMMAND...: FILE in the command is the name to be written
    name=$1
    shift
    for kind in file nothing; do
        rm -f victim link.* made.*
        [ "$kind" = nothing ] || echo precious >victim
        ln -s victim "link.$name"
        got=0
        eval "$(echo "$*" | sed "s/FILE/link.$name/g")" >said 2>&1 || got=$?
        [ -L "link.$name" ] || fail "$name, $kind: the link is gone"
        [ "$kind" = nothing ] || [ "$(cat victim)" = precious ] || fail "$name: the victim has changed"
        [ "$kind" = file ] || [ ! -e victim ] || fail "$name: the victim was made"
        [ "$got" -ne 0 ] || [ "$name" = shell ] || fail "$name, $kind: exit code 0"
        grep -qi 'symbolic link\|File exists' said || fail "$name, $kind: $(cat said)"
    done
    rm -f link.*
    eval "$(echo "$*" | sed "s/FILE/made.$name/g")" >said 2>&1 || fail "$name: exit code $?: $(cat said)"
    [ "$(stat -c %a "made.$name")" = 600 ] || fail "$name: mode $(stat -c %a "made.$name")"
    [ -s "made.$name" ] || fail "$name: nothing in it"
}

links memoir 'memoir run -q --output FILE ./target'
links pb.gz 'memoir export -q a.memoir -o FILE'
links folded 'memoir export -q a.memoir -o FILE'
links html 'memoir report a.memoir -o FILE'
links svg 'memoir export -q a.memoir -o FILE'
links txt 'memoir top a.memoir -o FILE'
links shell 'echo "top > FILE" | memoir shell a.memoir'
LD_PRELOAD=$MEMOIR_LIB sleep 60 &
pid=$!
links dump "memoir ctl $pid dump FILE"
kill "$pid"

# a file that is there keeps its mode, and what is no file stays what it is
: >there.folded
chmod 640 there.folded
memoir export -q a.memoir -o there.folded || fail "a file that is there"
[ "$(stat -c %a there.folded)" = 640 ] && [ -s there.folded ] || fail "it has changed its mode"
# one that another user put there, as in /tmp, gives nobody rights; no file gets those to run as its owner
chmod 6777 there.folded
memoir export -q a.memoir -o there.folded || fail "a file that may run"
[ "$(stat -c %a there.folded)" = 777 ] || fail "a file that may run: mode $(stat -c %a there.folded)"
if [ "$(id -u)" -eq 0 ]; then
    : >other.folded
    chown 65534:65534 other.folded
    chmod 6666 other.folded
    memoir export -q a.memoir -o other.folded || fail "another user's file"
    [ "$(stat -c '%a %u' other.folded)" = '600 0' ] || fail "another user's file: $(ls -l other.folded)"
fi
memoir export -q a.memoir --format folded -o /dev/null || fail "/dev/null"
[ "$(memoir export -q a.memoir --format folded -o /dev/stdout | cksum)" = "$(cksum <there.folded)" ] || fail "/dev/stdout"
memoir export -q a.memoir --format folded -o /dev/fd/7 7>seven || fail "/dev/fd/7"
cmp -s seven there.folded || fail "what is in /dev/fd/7"
mkfifo pipe
timeout 60 cat pipe >piped &
memoir export -q a.memoir --format folded -o pipe || fail "a pipe"
wait $!
cmp -s piped there.folded || fail "what is in the pipe"
memoir run -q --output /dev/null ./target >/dev/null 2>errors || fail "run to /dev/null: $(cat errors)"
[ -c /dev/null ] || fail "/dev/null is gone"
# a link that is put there while the program runs
mkdir elsewhere
for to in elsewhere elsewhere/file; do
    : >elsewhere/file
    memoir run -q --output late.memoir sh -c "ln -s $to late.memoir" >/dev/null 2>errors
    [ "$(ls elsewhere)" = file ] && [ ! -s elsewhere/file ] || fail "a late link to $to was followed: $(ls -l elsewhere)"
    [ "$(find . -maxdepth 1 -name '*-peak*.memoir' | wc -l)" -eq 1 ] || fail "a late link to $to: no recording: $(ls; cat errors)"
    rm -f late.memoir ./*-peak*.memoir
done
mkdir folder
ln -s folder way
memoir run -q --output way ./target >/dev/null 2>errors || fail "run to a folder: $(cat errors)"
[ "$(ls folder | grep -c memoir)" = 1 ] || fail "nothing in the folder that a link leads to"
finish
