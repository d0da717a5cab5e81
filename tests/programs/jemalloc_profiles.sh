#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Everything that guides to jemalloc's profiler tell one to do, done with this library, and what it
# wrote read with jeprof.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
build "$root/tests/programs/leaking.c" -o leaking
unset MALLOC_CONF JE_MALLOC_CONF

run() { # OPTIONS COMMAND...
    options=$1
    shift
    rm -f ./*.heap
    MALLOC_CONF=$options preload "$@" 2>errors
}

count() { # PATTERN NUMBER
    # shellcheck disable=SC2086
    set -- "$2" $1
    [ -e "$2" ] || set -- "$1"
    [ $(($# - 1)) -ge "$1" ] || fail "$(($# - 1)) files, not $1 at least: $options"
}

# share FUNCTION LOW HIGH ARGUMENT...: percent of the memory that jeprof charges to the function
share() {
    command -v jeprof >/dev/null || return 0
    function=$1 low=$2 high=$3
    shift 3
    jeprof --text "$@" >shown 2>/dev/null
    percent=$(awk -v f="$function" '$6 == f { print int($2) }' shown)
    [ "${percent:-0}" -ge "$low" ] && [ "${percent:-0}" -le "$high" ] ||
        fail "$function has ${percent:-no} percent, not $low to $high: $options"
}

# What is left at the end.
run prof_leak:true,lg_prof_sample:0,prof_final:true ./leaking || fail "leak check: code $?"
grep -Eq '^<jemalloc>: Leak approximation summary: ~6[0-9]{6} bytes, ~120 objects, >= 2 contexts$' \
    errors || fail "no summary: $(cat errors)"
grep -Eq '^<jemalloc>: Run jeprof on "jeprof\.[0-9]+\.0\.f\.heap" for leak detail$' errors ||
    fail "no hint: $(cat errors)"
grep -q '^heap_v2/1$' jeprof.*.f.heap || fail "no exact profile"
share do_something 49 53 leaking jeprof.*.f.heap
share do_something_else 47 51 leaking jeprof.*.f.heap

# Stacks as deep as they may be.
deepest() { awk '$1 == "@" && NF - 1 > most { most = NF - 1 } END { print most + 0 }' jeprof.*.f.heap; }
[ "$(deepest)" -gt 2 ] || fail "stacks of $(deepest) frames"
run prof:true,lg_prof_sample:0,prof_final:true,prof_bt_max:2 ./leaking
[ "$(deepest)" -eq 2 ] || fail "prof_bt_max:2: stacks of $(deepest) frames"
MEMOIR=heap.depth:1 run prof:true,lg_prof_sample:0,prof_final:true ./leaking
[ "$(deepest)" -eq 1 ] || fail "heap.depth:1: stacks of $(deepest) frames"

# The same as an error, and nothing of what the program wrote is lost.
run prof_leak_error:true,lg_prof_sample:0,prof_final:true ./leaking print >output
[ $? -eq 1 ] || fail "leaks are no error"
[ "$(cat output)" = "not lost" ] || fail "output is lost"
grep -q 'Exiting with error code because memory leaks were detected' errors || fail "not said"
tail -n 1 jeprof.*.f.heap | grep -q . || fail "the dump is empty"
ended=$(echo jeprof.*.f.heap | cut -d. -f2)
[ ! -e "/dev/shm/memoir-$(id -u)-end-$ended" ] || fail "the recorder's file stays: $ended"
run prof_leak_error:true ./leaking || fail "an error without prof_final"
grep -q '^<jemalloc>: prof_leak_error is set w/o prof_final.$' errors || fail "no warning"

# A dump every megabyte, and at new maxima.
run prof:true,lg_prof_interval:20 ./leaking
count 'jeprof.*.i*.heap' 1
run prof:true,lg_prof_interval:20,lg_prof_sample:0 ./leaking
count 'jeprof.*.i*.heap' 6
first=$(echo jeprof.*.0.i0.heap)
if command -v jeprof >/dev/null; then
    jeprof --text leaking --base="$first" "$first" 2>/dev/null | grep -q do_something &&
        fail "a dump differs from itself"
fi
run prof:true,prof_gdump:true ./leaking
count 'jeprof.*.u*.heap' 1
run prof:true,prof_gdump:true,lg_prof_sample:0 ./leaking
count 'jeprof.*.u*.heap' 5
run prof:true,prof_prefix: ./leaking
set -- ./*.heap
[ ! -e "$1" ] || fail "dumps without a prefix"

# By calls; linked under jemalloc's name.
mkdir names
ln -s "$MEMOIR_LIB" names/libjemalloc.so
"$CC" -w -g -fno-builtin -I"$root/include/memoir/compat" "$root/tests/programs/leaking.c" \
    -Lnames -ljemalloc -ldl -o linked || fail "does not link with -ljemalloc"
rm -f ./*.heap
MALLOC_CONF=prof:true,prof_prefix:out LD_LIBRARY_PATH=$(dirname "$MEMOIR_LIB") ./linked mallctl ||
    fail "linked: code $?"
for name in 0.m0 1.m1 2.m2; do
    [ -s "$(echo out.*."$name".heap)" ] || fail "no dump $name"
done
run prof:true,prof_active:false,prof_prefix:steady,lg_prof_sample:12 ./leaking steady ||
    fail "steady: code $?"
share do_something_else 100 100 leaking steady.*.0.m0.heap
JE_MALLOC_CONF=prof:true,prof_prefix:other run "" ./leaking mallctl
count 'other.*.heap' 3
run "" ./leaking steady || fail "prof.active needs prof:true"

# Options of the program itself.
build -DBUILT_IN_OPTIONS='"prof:true,prof_final:true,prof_prefix:inside"' -rdynamic \
    "$root/tests/programs/leaking.c" -o inside
rm -f ./*.heap
preload ./inside
count 'inside.*.f.heap' 1
run prof_prefix:outside ./inside
count 'outside.*.f.heap' 1

# A program that is linked with the real one: it stays idle and sees no option.
if "$CC" -w -g "$root/tests/programs/leaking.c" -Wl,--no-as-needed -l:libjemalloc.so.2 -ldl -o real \
    2>/dev/null; then
    run prof:true,prof_final:true,lg_prof_sample:0,no_such:1 ./real mallctl || fail "real: code $?"
    [ "$(grep -c no_such errors)" -eq 1 ] || fail "said more than once: $(cat errors)"
    set -- ./*.heap
    [ $# -eq 4 ] || fail "$# files of a program linked with jemalloc"
    share do_something 48 53 real jeprof.*.f.heap
fi

# Complaints are jemalloc's.
run 'prof:true,lg_prof_interval:20,prof_log:true,log=.' ./leaking
grep -q '^<jemalloc>: Malformed conf string$' errors || fail "log=. is fine"
count 'jeprof.*.i*.heap' 1
run 'prof:1,no_such:2,lg_prof_interval:64,narenas:0,' ./leaking
cat >expected <<'END'
<jemalloc>: Invalid conf value: prof:1
<jemalloc>: Invalid conf pair: no_such:2
<jemalloc>: Out-of-range conf value: lg_prof_interval:64
<jemalloc>: Conf string ends with comma
<jemalloc>: Out-of-range conf value: narenas:0
END
diff expected errors >&2 || fail "other complaints"
run 'confirm_conf:true,thp:never' ./leaking
grep -q '^<jemalloc>: -- Set conf value: thp:never$' errors || fail "not confirmed"
run abort_conf:true,no_such:2 ./leaking
[ $? -eq 134 ] || fail "abort_conf does not abort"

# The log of blocks that ended: those of perl, all of them.
run prof:true,lg_prof_sample:0,prof_log:true,prof_prefix:log perl -e 'my @a = map { "x" x 5000 } 1 .. 50;
    undef @a; exit 0'
python3 - log.*.0.json <<'END' || fail "another log: $(head -c 300 log.*.json)"
import json, sys
log = json.load(open(sys.argv[1]))
assert log["info"]["lg_sample_rate"] == 0 and log["threads"][0]["thr_uid"] == 0
rows = log["allocations"]
assert sum(5000 <= row["usize"] < 6000 for row in rows) >= 50
for row in rows:
    assert row["alloc_timestamp"] <= row["free_timestamp"]
    assert len(log["stack_traces"][row["alloc_trace"]]) > 1
    assert len(log["stack_traces"][row["free_trace"]]) > 1
    assert row["alloc_thread"] < len(log["threads"])
assert sum(row["alloc_trace"] != row["free_trace"] for row in rows) > len(rows) / 2
END

# The blocks that were recorded last, and who freed them.
# The time in the names, by option.
MEMOIR=dump.time:on run prof:true,prof_final:true,prof_prefix:timed ./leaking || fail "timed: $?"
ls ./*.heap | grep -Eqx '\./timed\.20[0-9]{6}-[0-9]{6}\.[0-9]+\.0\.f\.heap' || fail "timed: $(ls ./*.heap)"

build "$root/tests/programs/jemalloc_recent.c" -o recent
run prof:true,lg_prof_sample:0,prof_recent_alloc_max:4 ./recent >recent.json || fail "recent: $?"
nm recent >recent.names || fail "no names"
python3 - recent.json recent.names <<'END' || fail "another dump: $(head -c 600 recent.json)"
import json, sys
lines = open(sys.argv[1]).read().splitlines()
dump, base = json.loads(lines[0]), int(lines[1], 16)
starts = {}
for line in open(sys.argv[2]):
    parts = line.split()
    if len(parts) == 3:
        starts[parts[2]] = int(parts[0], 16)
def calls(trace, name): # addresses of `main` on tell where the program lies
    low = base - starts["main"] + starts[name]
    return sum(low < int(pc, 16) <= low + 200 for pc in trace)
assert dump["sample_interval"] == 1 and dump["recent_alloc_max"] == 4
rows = dump["recent_alloc"]
assert [row["size"] for row in rows] == [5002, 5003, 5004, 90000], rows
assert [row["released"] for row in rows] == [True, True, False, False], rows
assert all(row["usize"] >= row["size"] for row in rows)
assert all(calls(row["alloc_trace"], "allocate") for row in rows[:3])
assert calls(rows[0]["dalloc_trace"], "release") and calls(rows[1]["dalloc_trace"], "enlarge")
assert calls(rows[3]["alloc_trace"], "enlarge") and "dalloc_trace" not in rows[2]
assert rows[0]["dalloc_trace"][-1] == rows[0]["alloc_trace"][-1]
assert rows[0]["alloc_time"] <= rows[0]["dalloc_time"]
END
run stats_print:true,stats_print_opts:J ./leaking
python3 -c 'import json; json.load(open("errors"))["jemalloc"]["stats"]["allocated"]' ||
    fail "no JSON"
# Values of options are whole, whatever their length.
long=/tmp/$(printf '%0900d' 7)
run "stats_print:true,stats_print_opts:J,prof_prefix:$long" ./leaking
grep '^{' errors >json # prof_prefix alone is commented on
python3 -c 'import json, sys; assert json.load(open("json"))["jemalloc"]["opt"]["prof_prefix"] == sys.argv[1]' "$long" ||
    fail "no JSON with a long prefix"
finish
