#!/bin/sh
# SPDX-License-Identifier: MIT
# run-serial
# Small address spaces, strict overcommit, little memory: what fits is had, what does not is refused
# with ENOMEM, and nothing breaks. Limits that this machine does not let us set are left out.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/limits.c" -o "$place/program"
build -static "$root/tests/programs/limits.c" "$MEMOIR_STATIC" -o "$place/static"
build "$root/tests/programs/fork_while_threads_allocate.c" -o "$place/threads"

ends() { # ANSWER NAME COMMAND...
    wanted=$1 name=$2
    shift 2
    said=$("$@" 2>"$place/errors")
    code=$?
    [ $code -eq 0 ] || fail "$name: exit code $code: $(head -n 2 "$place/errors")"
    [ "$said" = "$wanted" ] || fail "$name: said \"$said\", not \"$wanted\""
    quiet "$place/errors"
}
limited() { # OPTION VALUE COMMAND...
    option=$1 value=$2
    shift 2
    (
        ulimit "$option" "$value" || exit 99
        LD_PRELOAD=$MEMOIR_LIB exec "$@"
    )
}

# Address space (KiB): what a program needs to exist is some 10 MiB.
for kib in 30000 60000 200000 1000000 4000000; do
    ends "refused" "address space of $kib KiB" limited -v $kib "$place/program" $((kib / 1024 + 1))
    ends "had all" "half of an address space of $kib KiB" \
        limited -v $kib "$place/program" $(((kib / 1024 - 12) / 2))
done
ends "had all" "static, address space of 60000 KiB" limited -v 60000 "$place/static" 30
limited -v 700000 "$place/threads" 2>"$place/errors" || fail "threads and forks in 700 MB: exit code $?"
# Data: private writable memory counts.
ends "refused" "data of 100000 KiB" limited -d 100000 "$place/program" 120
ends "had all" "data of 100000 KiB" limited -d 100000 "$place/program" 50

# Strict overcommit is the whole machine's: only where it has room to spare, and only for a moment.
strict=/proc/sys/vm/overcommit_memory
spare=$(awk '/^CommitLimit:/ { limit = $2 } /^Committed_AS:/ { used = $2 } END { print int((limit - used) / 1024) }' \
    /proc/meminfo)
if [ "$(id -u)" -eq 0 ] && [ "${spare:-0}" -gt 2000 ] && before=$(cat $strict) && echo 2 2>/dev/null >$strict; then
    trap 'echo "$before" >$strict; rm -rf "$place"' EXIT
    ends "had all" "strict overcommit" preload "$place/program" 50
    ends "refused" "strict overcommit, far too much" preload "$place/program" $((spare * 2 + 10000))
    echo "$before" >$strict
    trap 'rm -rf "$place"' EXIT
else
    echo "left out: strict overcommit"
fi
if [ "$(id -u)" -eq 0 ]; then
    # A cgroup that holds the program only.
    for group in /sys/fs/cgroup/memory /sys/fs/cgroup; do
        folder=$group/memoir-limits-$$
        mkdir "$folder" 2>/dev/null || continue
        limit=
        for file in memory.max memory.limit_in_bytes; do
            [ -w "$folder/$file" ] && echo 157286400 >"$folder/$file" 2>/dev/null && limit=$file
        done
        if [ -n "$limit" ]; then
            ends "had all" "cgroup of 150 MiB" sh -c 'echo $$ >"$1/cgroup.procs" &&
                LD_PRELOAD=$2 exec "$3" 100 touch' sh "$folder" "$MEMOIR_LIB" "$place/program"
        fi
        rmdir "$folder"
        [ -z "$limit" ] || break
    done
fi
finish
