#!/bin/sh
# SPDX-License-Identifier: MIT
# Every variable and option of another allocator, from the library's own tables: what is not served
# has one line that says so, what is a hint or works has none. Values that mean "off" have none;
# programs that a process starts do not repeat it; secure programs and processes whose malloc is
# another one say nothing.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/variables_table.c" -o "$place/table"
cat >"$place/tiny.c" <<'END'
#include <stdlib.h>
int main(void) { free(malloc(100)); return 0; }
END
build "$place/tiny.c" -o "$place/tiny"
"$place/table" >"$place/lines" || exit 2
cd "$place" || exit 2
unset MEMOIR_TOLD

# said NAME=VALUE...: runs the program with these and leaves our lines in `said`
said() {
    env "$@" LD_PRELOAD="$MEMOIR_LIB" ./tiny 2>err
    code=$?
    [ "$code" -eq 0 ] || fail "exit code $code with $*"
    grep '^memoir:' err >said || :
}
# lines COUNT WHAT
lines() {
    count=$(wc -l <said)
    [ "$count" -eq "$1" ] || fail "$2: $count lines of ours, not $1: $(cat said)"
}

tab=$(printf '\t')
while IFS=$tab read -r of name status when text; do
    example=$(printf '%s' "$name" | sed 's/\*$/X/')
    case $of:$when in
    option:*)
        # A value that each kind takes and that is not the initial one.
        for value in true 7 . default; do
            [ "$value" != "$when" ] || continue
            said MALLOC_CONF="abort_conf:false,$name:$value"
            grep -q '<jemalloc>' err || break
        done
        case $name in # their values are words of their own
        *prof*) said MALLOC_CONF="prof:true,prof_final:true,prof_prefix:,$name:$value" ;;
        junk) said MALLOC_CONF=junk:free ;;
        zero_realloc) said MALLOC_CONF=zero_realloc:abort ;;
        esac
        ;;
    *:PERTURB) said "$example=glibc.malloc.check=1:glibc.malloc.perturb=5" ;;
    gperftools:*)
        [ "$name" != HEAPCHECK ] || example=HEAPCHECK_OF # 1 is no mode, and ends the program
        said "$example=1"
        ;;
    *) said "$example=1" ;;
    esac
    case $status in
    UNSERVED)
        lines 1 "$name"
        grep -qF "$text" said || fail "$name: the line does not say what serves: $(cat said)"
        grep -q "^memoir: $example" said || fail "$name: the line does not name it: $(cat said)"
        ;;
    *) lines 0 "$name" ;;
    esac
    # What asks for nothing is answered by nothing.
    case $of:$when in
    option:-) said MALLOC_CONF="prof:false,$name:"; lines 0 "$name:" ;;
    option:*) said MALLOC_CONF="prof:false,$name:$when"; lines 0 "$name:$when" ;;
    *:SET) said "$example="; lines 0 "$example set and empty" ;;
    *:ON)
        for value in 0 000 false no off OFF; do
            said "$example=$value"
            lines 0 "$example=$value"
        done
        ;;
    *:PERTURB) said "$example=glibc.malloc.perturb=0:glibc.malloc.arena_max=3"; lines 0 "$example" ;;
    esac
done <lines
[ "$(grep -c UNSERVED lines)" -gt 10 ] || fail "the table has few rows"

# Variables of one row share a line.
said TCMALLOC_ONE=x TCMALLOC_TWO=5 TCMALLOC_SKIP_MMAP=1
lines 2 "three variables of two rows"
grep -q '^memoir: TCMALLOC_ONE, TCMALLOC_TWO: \|^memoir: TCMALLOC_TWO, TCMALLOC_ONE: ' said ||
    fail "two variables of a row do not share its line: $(cat said)"
said TCMALLOC_SKIP_SBRK=1 TCMALLOC_SKIP_MMAP=0
lines 0 "what is so anyway, and what is off"

# Hostile: a name with bytes of a terminal, a long one, many of them, a list that is full.
said "TCMALLOC_$(printf '\033[31m\n')X=1"
lines 1 "a name with control characters"
! grep -q "$(printf '\033')" err || fail "control characters of a name reach the terminal"
said "TCMALLOC_$(head -c 100000 /dev/zero | tr '\0' A)=1"
lines 1 "a long name"
[ "$(wc -c <err)" -lt 1200 ] || fail "a long name makes a long line"
set --
for number in $(seq 200); do set -- "$@" "TCMALLOC_NUMBER_$number=1"; done
said "$@"
lines 1 "200 variables of a row"
grep -q 'TCMALLOC_NUMBER_8 and 192 more: not served: memoir has' said || fail "200 variables: $(cat said)"
said MEMOIR_TOLD="$(head -c 100000 /dev/zero | tr '\0' A)" TCMALLOC_ONE=x
lines 1 "a long MEMOIR_TOLD"
said MEMOIR_TOLD=TCMALLOC_SKIP_MMAP,TCMALLOC_ONE TCMALLOC_ONE=x
lines 0 "told before"
said MEMOIR_TOLD=TCMALLOC_TWO TCMALLOC_ONE=x
lines 1 "another one told before"

# A process that spoke answers for those that it starts; what is new there is still said.
TCMALLOC_ONE=x LD_PRELOAD=$MEMOIR_LIB sh -c './tiny; ./tiny; TCMALLOC_SKIP_MMAP=1 ./tiny; ./tiny' 2>err
grep '^memoir:' err >said
lines 2 "a shell and its programs"
[ "$(grep -c TCMALLOC_SKIP_MMAP said)" -eq 1 ] || fail "a variable that a program got later: $(cat said)"
[ "$("$MEMOIR_TOOL" run --no-summary --lib "$MEMOIR_LIB" env TCMALLOC_ONE=x ./tiny 2>&1 | grep -c TCMALLOC_ONE)" -eq 1 ] ||
    fail "memoir run and the library both speak, or none"
TCMALLOC_ONE=x LD_PRELOAD=$MEMOIR_LIB env >out 2>err
[ "$(grep -c '^MEMOIR_TOLD=TCMALLOC_ONE$' out)" -eq 1 ] || fail "MEMOIR_TOLD is not passed on"
LD_PRELOAD=$MEMOIR_LIB env >out 2>err
! grep -q MEMOIR_TOLD out || fail "MEMOIR_TOLD without a reason"
[ ! -s err ] || fail "something is said of nothing: $(cat err)"

# Where another library serves: gperftools' profiler beside us; another malloc before us.
profiler=$(ldconfig -p 2>/dev/null | awk '$1 == "libprofiler.so.0" { print $NF; exit }')
if [ -n "$profiler" ]; then
    for order in "$MEMOIR_LIB $profiler" "$profiler $MEMOIR_LIB"; do
        rm -f cpu.prof
        CPUPROFILE=cpu.prof LD_PRELOAD=$order ./tiny 2>err
        quiet err
        [ -s cpu.prof ] || fail "no CPU profile with libprofiler beside the library"
    done
fi
mimalloc=$(ldconfig -p 2>/dev/null | awk '$1 == "libmimalloc.so.2" { print $NF; exit }')
if [ -n "$mimalloc" ]; then
    MIMALLOC_SHOW_STATS=1 TCMALLOC_ONE=x LD_PRELOAD="$mimalloc $MEMOIR_LIB" ./tiny 2>err
    quiet err
    grep -q 'peak' err || fail "mimalloc does not print its statistics"
fi
# A libtcmalloc that the program is linked with and that is idle would end it: "start so late".
if "$CC" tiny.c -Wl,--no-as-needed -ltcmalloc -o with_tcmalloc 2>/dev/null; then
    HEAPCHECK=normal LD_PRELOAD=$MEMOIR_LIB ./with_tcmalloc 2>err || fail "HEAPCHECK ends a program: $(cat err)"
    [ "$(wc -l <err)" -eq 2 ] || fail "HEAPCHECK with an idle libtcmalloc: $(cat err)"
fi

# Without an environment, and with one that is not yet known when malloc is first called.
env -i LD_PRELOAD="$MEMOIR_LIB" ./tiny 2>err
[ ! -s err ] || fail "something is said without variables: $(cat err)"
finish
