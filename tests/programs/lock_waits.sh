#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# Waits for locks are counted, in which function, for how long and for which thread: as the program measures
# itself (lock_waits.c), for mutexes, rwlocks and C11 locks; condition variables apart from them. Off, the
# program's references lead to libc, before and after. Forked children, libraries that are opened later,
# cancelled waits, every kind of mutex; started and stopped from outside; a killed process.
. "$(dirname "$0")/common.sh"
need python3
cd "$place" || exit 2
build "$root/tests/programs/lock_waits.c" -o waits
build -shared -fPIC "$root/tests/programs/lock_waits_library.c" -o library.so

record() { # MODE...: told has what the program says, run.memoir what was recorded
    rm -f run*.memoir
    MEMOIR=locks:on,capture:run.memoir${mode:+,$mode} LD_PRELOAD=${lib:-$MEMOIR_LIB} ./waits "$@" >told 2>err ||
        fail "$*: exit code $?: $(cat err)"
    quiet err
}

shown() { # METRIC FILE: function and value of each row, to `rows`
    "$MEMOIR_TOOL" top --metric "$1" --by function --json "$2" >shown.json 2>err || fail "top $*: $(cat err)"
    python3 -c 'import json
for row in json.load(open("shown.json"))["rows"]:
    print(row["name"] if "name" in row else row["function"], row["self"])' >rows 2>&1 || fail "rows: $(cat rows)"
}

agrees() { # FUNCTION METRIC FILE [NAME]: what was recorded there is what the program says: no more, and on a
    # busy machine perhaps less, for a thread may lose its CPU between the two looks at the clock
    shown "$2" "$3"
    awk -v name="$1" -v told="$(sed -n "s/^${4:-$1} //p" told)" '
        $1 == name { ns = $2 }
        END { exit !(told > 0 && ns * 1e-9 > 0.5 * told - 0.005 && ns * 1e-9 < 1.02 * told + 0.005) }' rows ||
        fail "$1, $2: $(grep "^$1 " rows), but $(cat told)"
}

# ---- as long as the program measures, where it waits
record all
for function in enter_mutex enter_timed enter_write enter_mtx; do
    agrees $function wait run.memoir
done
shown waits run.memoir
[ "$(awk '{ sum += $2 } END { print (sum > 40 && sum <= 400) }' rows)" = 1 ] || fail "how often: $(cat rows)"
"$MEMOIR_TOOL" top --metric condition run.memoir >out 2>&1 && fail "conditions without any: $(cat out)"
"$MEMOIR_TOOL" threads --json run.memoir >threads.json 2>err || fail "threads: $(cat err)"
python3 - <<'END' || fail "threads: $(head -c 600 threads.json)"
import json
rows = [row for row in json.load(open("threads.json"))["threads"] if row["name"].startswith("worker")]
assert 8 <= len(rows) <= 16 and all(row["delay"] > 0 and row["contentions"] > 0 for row in rows)
END

# ---- the formats
"$MEMOIR_TOOL" export run.memoir -o run.contention >/dev/null 2>err || fail "export: $(cat err)"
head -3 run.contention | tr '\n' ' ' | grep -q '^--- contention: cycles/second = 1000000000 sampling period = 1 $' ||
    fail "the head: $(head -3 run.contention)"
agrees enter_mutex wait run.contention
"$MEMOIR_TOOL" export run.memoir -o run.pb.gz >/dev/null 2>err || fail "export: $(cat err)"
agrees enter_write wait run.pb.gz
"$MEMOIR_TOOL" export run.memoir --metric wait -o flame.svg >/dev/null 2>err || fail "flame graph: $(cat err)"
grep -q enter_timed flame.svg || fail "the flame graph lacks a function"
if command -v go >/dev/null 2>&1; then
    go tool pprof -top -sample_index=delay run.pb.gz >out 2>&1
    grep -q ' enter_mutex' out || fail "go tool pprof: $(head -5 out)"
    go tool pprof -raw run.pb.gz 2>&1 | grep -q 'contentions/count delay/nanoseconds' || fail "the types of pprof"
    go tool pprof -top ./waits run.contention >out 2>&1
    grep -q ' enter_mutex' out || fail "go tool pprof of the text: $(head -5 out)"
fi
if command -v google-pprof >/dev/null 2>&1; then
    google-pprof --text ./waits run.contention >out 2>/dev/null
    grep -q ' enter_mutex$' out || fail "google-pprof: $(head -5 out)"
fi

# ---- for whom
record held
agrees wait_for_holder wait run.memoir
"$MEMOIR_TOOL" top --metric wait --tag-focus holder=the_holder run.memoir >out 2>&1
grep -q wait_for_holder out || fail "which thread had the lock: $(cat out)"
"$MEMOIR_TOOL" top --metric wait --tag-focus holder=another run.memoir >out 2>&1
grep -q wait_for_holder out && fail "every name fits the holder: $(cat out)"

# ---- condition variables are apart; a thread can be cancelled in one
record conditions
agrees wait_for_signal condition run.memoir
agrees wait_for_time condition run.memoir
shown wait run.memoir
grep -E '^wait_for_(signal|time) [2-9][0-9]{7}' rows && fail "a condition counts as a lock: $(cat rows)"

# ---- every kind of lock answers as ever
record kinds

# ---- a forked child counts its own
record fork
agrees enter_mutex wait run.memoir parent
shown wait run.memoir
grep -q '^enter_write' rows && fail "the parent has the waits of its child: $(cat rows)"
child=$(ls run-*.memoir 2>/dev/null)
agrees enter_write wait "${child:-run-none.memoir}" child
grep -q '^enter_mutex' rows && fail "the child has the waits of its parent: $(cat rows)"

# ---- a library that is opened later, by its path or by the loader's search
record open ./library.so
agrees library_waits wait run.memoir
cp library.so libfound.so
LD_LIBRARY_PATH=$place record open libfound.so
agrees library_waits wait run.memoir

# ---- off: libc's own function; on: ours
for options in heap:on locks:off locks:on; do
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./waits where >"where_$options" 2>&1
done
grep -q '^start libc.so.6 same$' where_heap:on || fail "by default: $(cat where_heap:on)"
grep -q '^start libc.so.6 same$' where_locks:off || fail "off: $(cat where_locks:off)"
grep -q '^start libmemoir.so.* other$' where_locks:on || fail "on: $(cat where_locks:on)"
build -Wl,-z,now -Wl,-z,relro "$root/tests/programs/lock_waits.c" -o bound
build -Wl,-z,lazy "$root/tests/programs/lock_waits.c" -o lazy
build -fno-plt -no-pie "$root/tests/programs/lock_waits.c" -o fixed
for program in bound lazy fixed; do
    MEMOIR=locks:on,capture:$program.memoir LD_PRELOAD=$MEMOIR_LIB ./$program held >told 2>err || fail "$program: $?"
    agrees wait_for_holder wait $program.memoir
done
build -fno-pie -no-pie -Wl,-z,lazy "$root/tests/programs/lock_waits.c" -o stubs
timeout 60 env MEMOIR=locks:on,capture:stubs.memoir LD_PRELOAD="$MEMOIR_LIB" ./stubs addresses >told 2>err ||
    fail "stubs: exit code $?: $(cat err)"
agrees wait_for_holder wait stubs.memoir
agrees wait_for_signal condition stubs.memoir

# ---- from outside: on, off and on again
value() { # KEY: of the last answer
    sed -n "s/^$1://p" answer
}
ask() { # VERB...
    "$MEMOIR_TOOL" ctl "$program" "$@" >answer 2>err || fail "ctl $*: $(cat answer err)"
}
mkfifo lines
LD_PRELOAD=$MEMOIR_LIB ./waits asked <lines >told 2>said &
program=$! running="$running $program"
exec 3>lines
line() { # waits for the answer of the program
    before=$(wc -l <told)
    echo x >&3
    for _ in $(seq 100); do
        [ "$(wc -l <told)" -gt "$before" ] && break
        sleep 0.05
    done
    tail -1 told
}
line | grep -q '^asked libc.so.6 same$' || fail "before: $(cat told)"
ask locks
[ "$(value locks)" = off ] && [ "$(value locks.waits)" = 0 ] || fail "before: $(cat answer)"
ask locks start
[ "$(value locks)" = on ] || fail "start: $(cat answer)"
line | grep -q '^asked libmemoir.so.* other$' || fail "started: $(cat told)"
for _ in $(seq 100); do
    ask locks
    [ "$(value locks.waits)" -gt 5 ] && break
    sleep 0.05
done
[ "$(value locks.waits)" -gt 5 ] && [ "$(value locks.ns)" -gt 1000000 ] || fail "no waits: $(cat answer)"
ask locks stop
waits=$(value locks.waits)
line | grep -q '^asked libc.so.6 same$' || fail "stopped: $(cat told)"
sleep 0.2
ask locks
[ "$(value locks)" = off ] && [ "$(value locks.waits)" = "$waits" ] || fail "waits after the stop: $(cat answer)"
ask locks reset
[ "$(value locks.waits)" = 0 ] || fail "reset: $(cat answer)"
ask set locks=on
ask locks
[ "$(value locks)" = on ] || fail "set: $(cat answer)"
"$MEMOIR_TOOL" ctl "$program" locks sideways >answer 2>&1 && fail "an unknown word: $(cat answer)"
echo q >&3
exec 3>&-
wait $program || fail "exit code $? of the program that was asked"
quiet said

# ---- started from outside before the program has a second thread
LD_PRELOAD=$MEMOIR_LIB ./waits late <lines >told 2>said &
program=$! running="$running $program"
exec 3>lines
for _ in $(seq 100); do
    "$MEMOIR_TOOL" ctl "$program" locks >answer 2>&1 && break
    sleep 0.05
done
ask locks start
echo x >&3
for _ in $(seq 100); do
    [ -s told ] && break
    sleep 0.05
done
ask locks
[ "$(value locks.waits)" = 1 ] && [ "$(value locks.ns)" -gt 30000000 ] || fail "started early: $(cat answer told)"
echo q >&3
exec 3>&-
wait $program || fail "exit code $? of the program that was asked early"

# ---- from outside, where all threads are from thrd_create: it says what to do
LD_PRELOAD=$MEMOIR_LIB ./waits c11 <lines >told 2>said &
program=$! running="$running $program"
exec 3>lines
for _ in $(seq 100); do
    [ -s told ] && break
    sleep 0.05
done
"$MEMOIR_TOOL" ctl "$program" locks start >answer 2>&1 && fail "started where nothing is counted: $(cat answer)"
grep -q 'pthread_create: start it with memoir run --locks' answer || fail "what to do: $(cat answer)"
ask locks
[ "$(value locks)" = off ] || fail "on after the refusal: $(cat answer)"
echo q >&3
exec 3>&-
wait $program || fail "exit code $? of the program with threads of C11"

# ---- a killed process
rm -f run.memoir
"$MEMOIR_TOOL" run --locks -o run.memoir -- ./waits killed >told 2>err
agrees enter_mutex wait run.memoir
"$MEMOIR_TOOL" threads run.memoir >out 2>&1
grep -q worker2 out || fail "threads of a killed process: $(cat out)"

# ---- what can't be: one line, and the program runs
if "$CC" -static -O1 -w -D_GNU_SOURCE= "$root/tests/programs/lock_waits.c" -Wl,-u,malloc \
    "$MEMOIR_STATIC" -pthread -o static 2>err; then
    MEMOIR=locks:on ./static held >told 2>err || fail "static: exit code $?"
    [ "$(grep -c '^memoir: locks has no effect' err)" = 1 ] || fail "a static program is told: $(cat err)"
fi
finish
