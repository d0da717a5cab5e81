#!/bin/sh
# SPDX-License-Identifier: MIT
# Ctrl-C, kill and a closed terminal while `memoir run` records: the recording goes to the end, the
# summary is printed, the exit status is the signal's; and programs that do something about these
# signals themselves do it as ever.
. "$(dirname "$0")/common.sh"
need python3 bash
open_place
build "$root/tests/programs/ctrl_c_target.c" -o "$place/target"
mkdir "$place/here"
cd "$place/here" || exit 2
LC_ALL=C
export LC_ALL

press() { # EVENTS COMMAND...
    rm -rf "$place/here/"* "$place/here"/.memoir-*
    python3 "$root/tests/programs/ctrl_c.py" "$@" >"$place/out" 2>"$place/errors"
}
said() { # PATTERN: on standard error
    grep -Eq -- "$1" "$place/errors" || fail "$what: no line '$1' in: $(cat "$place/errors")"
}
printed() { # LINE
    grep -Eqx -- "$1" "$place/out" || fail "$what: no line '$1' in: $(cat "$place/out")"
}
recorded() { # SIGNAL
    printed "status -$1 after .*"
    said "^memoir: .* ended by signal $1 "
    said '^ +peak '
    found=$(find . -name '*.memoir' | wc -l)
    [ "$found" -eq 1 ] || fail "$what: $found files"
    [ -z "$(find . -name '.memoir-*')" ] || fail "$what: a folder was left"
}

# C: idle, busy in malloc, with threads; each signal
for event in hangup c 15 1 2; do
    case $event in
    hangup) number=1 ;;
    c) number=2 ;;
    *) number=$event ;;
    esac
    for way in idle busy threads; do
        what="$way, $event"
        press $event "$MEMOIR_TOOL" run --exact "$place/target" $way
        recorded $number
        said '^ +peak .* last seen (7[89]|8[0-9])\.?[0-9]* KiB|MiB'
    done
done

# the same signal several times at once (timeout sends two) does not spoil it
what=twice
press group15,15@0.01,1@0.01 "$MEMOIR_TOOL" run --exact "$place/target" idle
recorded 15

# a daemon, in a session of its own: its capture is that of a forked child
what=daemon
rm -rf "$place/here/"*
MEMOIR=capture:run.memoir,heap.rate:0 LD_PRELOAD=$MEMOIR_LIB "$place/target" daemon >"$place/out"
daemon=
while [ -z "$daemon" ]; do
    sleep 0.1
    daemon=$(sed -n 's/^ready //p' "$place/out")
done
kill -TERM "$daemon"
for _ in $(seq 100); do
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
done
"$MEMOIR_TOOL" top "run-$daemon.memoir" >"$place/errors" 2>&1
said ' main '

# handlers of its own, and none again
what=handlers
press c,c@0.5,c@0.5 "$MEMOIR_TOOL" run --exact "$place/target" handler
printed 'handled 2'
recorded 2

# what a program starts has nothing of it
what=children
press c@1 "$MEMOIR_TOOL" run --exact "$place/target" children
for how in spawned 'after vfork' 'after fork' 'of system'; do
    printed "caught in a child, $how: 0"
done
recorded 2

# python3
cat >"$place/script.py" <<'END'
import signal, sys, time
kept = [bytearray(1000) for _ in range(10000)]
if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL or \
        signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
    sys.exit("not the signals of before")
print("ready", flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("caught", flush=True)
if len(sys.argv) > 1:
    sys.exit(7)
time.sleep(60)
END
what='python3, caught'
press c@0.5 "$MEMOIR_TOOL" run --exact python3 "$place/script.py" leave
printed caught
printed 'status 7 after .*'
what='python3, caught and then not'
press c@0.5,c@0.5 "$MEMOIR_TOOL" run --exact python3 "$place/script.py"
printed caught
said '^KeyboardInterrupt'
recorded 2

if command -v ruby >/dev/null; then
    what=ruby
    cat >"$place/script.rb" <<'END'
kept = (0...10000).map { |i| "x" * 1000 }
puts "ready"
$stdout.flush
begin
  sleep 60
rescue Interrupt
  puts "caught"
  $stdout.flush
end
sleep 60
END
    press c@0.5,15@0.5 "$MEMOIR_TOOL" run ruby "$place/script.rb"
    printed caught
    recorded 15
fi

# shells
what='bash, trap'
press c@0.3,15@1 "$MEMOIR_TOOL" run --exact bash -c "trap 'echo trapped' INT
echo ready; sleep 0.6; echo after; while :; do :; done"
printed trapped
printed after
recorded 15
what='bash, without a trap'
press c@0.3 "$MEMOIR_TOOL" run --exact bash -c 'echo ready; sleep 5; echo after'
grep -q '^after' "$place/out" && fail "$what: it went on"
recorded 2
what=sh
press c@0.3 "$MEMOIR_TOOL" run --exact sh -c 'trap "" HUP; echo ready; kill -HUP $$; echo alive; sleep 5; :'
printed alive
recorded 2

# ignored signals stay ignored
what=nohup
press 1,15@0.3 nohup "$MEMOIR_TOOL" run --exact "$place/target" idle
printed 'status -15 after .*'
said 'ended by signal 15 '

# no thread to be had: as it ever was, and a line
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && command -v prlimit >/dev/null; then
    what='no thread'
    mkdir "$place/open"
    chmod 777 "$place/open"
    cp "$(readlink -f "$MEMOIR_LIB")" "$place/libmemoir.so"
    # a user of its own: with processes of another test it would be above the limit at once
    user=$((200000 + $$ % 100000))
    press 15 prlimit --nproc=0 setpriv --reuid $user --regid $user --clear-groups env \
        "LD_PRELOAD=$place/libmemoir.so" "MEMOIR=capture:$place/open/run.memoir" "$place/target" idle
    printed 'status -15 after .*'
    said '^memoir: the capture lacks the end of the run: '
fi

# Go, which asks the kernel itself and calls what it found there
if command -v go >/dev/null; then
    what=go
    mkdir "$place/go"
    cat >"$place/go/main.go" <<'END'
package main

// #include <stdio.h>
// #include <stdlib.h>
import "C"
import "time"

func main() {
	for i := 0; i < 100; i++ {
		C.malloc(100000)
	}
	C.puts(C.CString("ready"))
	C.fflush(nil)
	time.Sleep(time.Minute)
}
END
    if (cd "$place/go" && CC=cc HOME=$place GOFLAGS=-mod=mod GO111MODULE=off go build -o main main.go) >"$place/errors" 2>&1; then
        for event in c 15; do
            press $event "$MEMOIR_TOOL" run "$place/go/main"
            case $event in c) recorded 2 ;; *) recorded 15 ;; esac
            said 'allocated 9\.[0-9]* MiB|allocated 10\.[0-9]* MiB'
        done
    else
        echo "no Go program: $(tail -n 1 "$place/errors")"
    fi
fi

# a snapshot that takes long: two seconds of it, or none when the signal comes again. strace holds
# the writer up, and what is left of the process for as long.
slowly() { # TENTHS...: of a second between signals; $spent: tenths from the last one to the end
    rm -f "$place/slow.memoir"
    : >"$place/out"
    strace -f -qq -o /dev/null -e trace=openat -P /proc/self/maps \
        -e inject=openat:delay_enter=9000000 -E "MEMOIR=capture:$place/slow.memoir" \
        -E "LD_PRELOAD=$MEMOIR_LIB" "$place/target" idle >"$place/out" 2>/dev/null &
    job=$!
    pid=
    while [ -z "$pid" ]; do
        sleep 0.1
        pid=$(sed -n 's/^ready //p' "$place/out")
    done
    for wait in "$@"; do
        sleep "0.$wait"
        kill -TERM "$pid"
    done
    spent=0
    while grep -q '^State:.[^ZX]' "/proc/$pid/status" 2>/dev/null; do
        sleep 0.1
        spent=$((spent + 1))
    done
    kill -KILL "$job" 2>/dev/null
    wait "$job" 2>/dev/null
}
if strace -f -qq true 2>/dev/null; then
    slowly 1
    [ "$spent" -ge 10 ] && [ "$spent" -lt 60 ] || fail "a slow snapshot: $spent tenths of a second"
    slowly 1 6
    [ "$spent" -lt 10 ] || fail "a slow snapshot and a second signal: $spent tenths of a second"
fi
finish
