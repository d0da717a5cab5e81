#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated run-serial
# CPU profiles of programs that profilers find hard: fewer timers than threads, tiny stacks, alternate stacks
# that are small or shared, daemons, threads without libc, children that share memory, jumps, coroutines, stacks switched by assembler,
# blocked signals, Go. They run as without a profile, and each stack is right or cut, never wrong.
. "$(dirname "$0")/common.sh"
need python3
: "${MEMOIR_TOOL:?}"
build "$root/tests/programs/cpu_odd.c" -o "$place/odd"
settle
cat >judge.py <<'END2'
"""judge.py FUNCTION ONLY LEAST: stacks with FUNCTION hold, above it, only functions of the list ONLY (from the
outermost on, cut anywhere at the outer end), and stand for LEAST milliseconds or more."""
import sys
function, only, least = sys.argv[1], sys.argv[2].split(), float(sys.argv[3])
system = {"_start", "__libc_start_main_impl", "__libc_start_main", "__libc_start_call_main", "__clone3", "clone3",
          "__clone", "clone", "start_thread", "__start_context"}
total, wrong = 0, []
for line in open("folded"):
    stack, ns = line.rsplit(" ", 1)
    frames = stack.split(";")
    if function not in frames:
        continue
    total += int(ns)
    outer = [f for f in frames[:frames.index(function)] if f not in system and not f.startswith("[")]
    if outer != only[len(only) - len(outer):]:
        wrong.append(stack)
if total < least * 1e6:
    wrong.append("%s: %.0f ms, not %.0f" % (function, total / 1e6, least))
sys.exit("; ".join(wrong[:5]) if wrong else 0)
END2

# run MODE: 300 ms or so of its work under a profile of 1,000 samples a second
run() {
    what=$1
    rm -f run.memoir*
    timeout 60 env MEMOIR=cpu:on,cpu.rate:1000,heap:off,capture:"$place/run.memoir" LD_PRELOAD="$MEMOIR_LIB" ./odd "$what" 300 \
        >out 2>errors
    code=$?
    [ $code -ne 77 ] || return 1
    [ $code -eq 0 ] || fail "$what: exit code $code: $(cat out errors)"
    quiet errors
    fold run.memoir
}

fold() { # FILE
    "$MEMOIR_TOOL" export "$1" --metric cpu --format folded -o folded 2>message || fail "$what: $(cat message)"
}

holds() { # FUNCTION ONLY LEAST
    python3 judge.py "$@" 2>message || fail "$what: $(cat message)"
}

run shared && holds burn_thread run_shared 2000
run tiny && holds burn_thread run_thread 2000
run alternate && holds burn_main "main mode_alternate" 60 && holds burn_one \
    "main mode_alternate __GI_raise __pthread_kill_implementation __restore_rt on_user" 0
run clone && holds burn_thread run_clone 150 && holds burn_main "main mode_clone" 20
run clones && holds burn_thread run_clone 1300
run vfork && holds burn_thread run_clone 150
run spawn && holds burn_thread run_thread 200 && holds burn_main "main mode_spawn" 20
run jump && holds burn_one "main mode_jump jump_outer" 200
run context && holds burn_one co_one 80 && holds burn_two co_two 80
run assembler && holds burn_one asm_one 80 && holds burn_two asm_two 80

# Signals that the program has handlers for.
run handlers && holds burn_main "main mode_handlers" 200

# A signal that the program inherits as blocked (perf blocks SIGWINCH) is not the one that is used.
what=inherited
rm -f run.memoir*
python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})
os.execvp(sys.argv[1], sys.argv[1:])' env MEMOIR=cpu:on,cpu.rate:1000,heap:off,capture:"$place/run.memoir" \
    LD_PRELOAD="$MEMOIR_LIB" ./odd jump 300 >out 2>errors || fail "$what: exit code $?"
quiet errors
fold run.memoir
holds burn_one "main mode_jump jump_outer" 200

# Threads without a timer are counted and told of; the others are sampled.
what=pending
rm -f run.memoir
prlimit --sigpending=6 env MEMOIR=cpu:on,cpu.rate:1000,heap:off,capture:"$place/run.memoir" LD_PRELOAD="$MEMOIR_LIB" \
    ./odd pending 100 >out 2>errors || fail "$what: exit code $?"
"$MEMOIR_TOOL" top run.memoir >out 2>message
grep -q 'threads got no clock' out message || fail "$what: $(cat out message)"

# Threads that block all signals.
run blocked && holds burn_main "main mode_blocked" 500 && holds burn_thread run_thread 500
run aside && holds burn_main "main mode_aside" 480 && holds burn_one "main mode_aside" 250 &&
    holds burn_two "main mode_aside" 250 && holds burn_thread run_aside 500

# Those of which each one is too short to be noticed.
run brief && holds burn_thread run_brief 300

# Their signal neither reaches a handler on a stack without room for two, nor ends the waits of others.
run small
for what in 1 2 3 4 5 6 7 8 9 10 11 12; do
    MEMOIR=cpu:on,cpu.rate:1000,heap:off preload ./odd crowd 60 >out 2>errors || fail "crowd, run $what: exit code $?"
done
run waiting && holds burn_thread run_aside 1000

# A thread that blocks those of libc, too, is told of.
what=blocked_all
run blocked_all && "$MEMOIR_TOOL" top run.memoir >out 2>message
grep -q 'have no sample: it blocks' out message || fail "$what: $(cat out message)"

# A daemon: the process that goes on has the profile.
what=daemon
rm -f run.memoir* daemon.done
CPUPROFILE=$place/p.prof preload ./odd daemon 300 >out 2>errors || fail "daemon: exit code $?: $(cat errors)"
for _ in $(seq 100); do
    [ -s daemon.done ] && [ -s "p.prof_$(cat daemon.done)" ] && break
    sleep 0.1
done
fold "p.prof_$(cat daemon.done)"
grep -q 'mode_daemon;burn_main' folded || fail "daemon: $(cat folded)"

# Go has signals, stacks and threads of its own.
if command -v go >/dev/null 2>&1; then
    what=go
    mkdir go
    cat >go/main.go <<'END3'
package main

// #include <stdlib.h>
// #include <string.h>
// static unsigned long burn_in_c(unsigned long n) {
//     volatile unsigned long sum = 0;
//     for (unsigned long i = 0; i < n * 1000; i++) sum += i;
//     char *p = malloc(n); memset(p, 1, n); free(p);
//     return sum;
// }
import "C"
import "fmt"

func main() {
	done := make(chan uint64)
	for i := 0; i < 4; i++ {
		go func() {
			sum := uint64(0)
			for j := 0; j < 1500; j++ { // 100 samples: few are of Go alone
				sum += uint64(C.burn_in_c(500))
				for k := 0; k < 200000; k++ {
					sum += uint64(k)
				}
			}
			done <- sum
		}()
	}
	for i := 0; i < 4; i++ {
		<-done
	}
	fmt.Println("done")
}
END3
    if (cd go && HOME=$place GOCACHE=$place/cache GOFLAGS=-mod=mod CGO_ENABLED=1 CC=$CC \
        timeout 200 go build -o ../gone main.go) >message 2>&1; then
        "$MEMOIR_TOOL" run --cpu --no-summary -o go.memoir ./gone >out 2>errors || fail "go: exit code $?: $(cat errors)"
        grep -qx done out || fail "go: $(cat out)"
        fold go.memoir
        grep -q '^runtime.goexit;main.main.func1' folded || fail "go: no stack of a goroutine: $(cat folded)"
        holds burn_in_c "$(awk -F'[; ]' '/burn_in_c/ {
            for (i = 1; i < NF; i++) if ($i == "burn_in_c") break; else printf "%s ", $i; exit }' folded)" 100
    else
        echo "go does not build: $(tail -n 1 message)"
    fi
fi
finish
