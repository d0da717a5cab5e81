#!/bin/sh
# SPDX-License-Identifier: MIT
# jemalloc's options junk, zero, xmalloc, abort and san_guard_* do what they say: the same program with
# jemalloc's own library, where it has them, and with ours, also in modes of ours that fill blocks.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
names=$(dirname "$MEMOIR_LIB")/compat
build "$root/tests/programs/jemalloc_fills_and_ends.c" -o fills -L"$names" -ljemalloc -Wl,-rpath,"$names"
unset MALLOC_CONF

holds() { # CONF NEW FREED COMMAND...
    conf=$1 new=$2 freed=$3
    shift 3
    env MALLOC_CONF="$conf" "$@" ./fills fill "$new" "$freed" >output 2>&1 || fail "$conf $*: exit code $?"
    [ "$(cat output)" = "all holds" ] || fail "$conf $*: $(cat output)"
}
fills() { # COMMAND...
    holds junk:true 0xa5 0x5a "$@"
    holds junk:alloc 0xa5 -1 "$@"
    holds zero:true 0 -1 "$@"
}
for library in /usr/lib/*/libjemalloc.so.2; do
    [ ! -e "$library" ] || fills env LD_LIBRARY_PATH="$(dirname "$library")"
done
fills env
holds junk:free -1 0x5a env
holds junk:false -1 -1 env
holds junk:alloc 0xa5 -1 env MEMOIR=heap.rate:0
holds zero:true 0 -1 env MEMOIR=heap.rate:0
holds junk:alloc 0xa5 -1 env MEMOIR=harden:on
holds zero:true 0 -1 env MEMOIR=harden:on

said() { # CONF CALL LINE
    MALLOC_CONF=$1 ./fills out "$2" >output 2>errors
    code=$?
    [ "$code" -eq 134 ] || fail "$1, $2: exit code $code: $(cat output errors)"
    [ "$(head -n 1 errors)" = "$3" ] || fail "$1, $2: $(cat errors)"
}
aligned='<jemalloc>: Error allocating aligned memory:'
for call in malloc calloc realloc rallocx mallocx; do
    said xmalloc:true "$call" "<jemalloc>: Error in $call(): out of memory"
done
said xmalloc:true aligned "$aligned out of memory"
said xmalloc:true posix "$aligned out of memory"
said xmalloc:true alignment "$aligned invalid alignment"
for call in malloc calloc realloc rallocx mallocx aligned; do
    [ "$(MALLOC_CONF=xmalloc:false ./fills out "$call" 2>&1)" = "went on: 1" ] || fail "$call without xmalloc"
done

# A dump that fails is a warning; with abort it is the end. One that the program asks for is not.
dump="prof:true,prof_final:true,prof_prefix:$place/nowhere/x"
MALLOC_CONF=$dump ./fills out malloc >output 2>errors || fail "a failed dump: exit code $?"
grep -q '^memoir: no dump' errors || fail "nothing is said about a failed dump: $(cat errors)"
MALLOC_CONF=$dump,abort:true ./fills out malloc >output 2>errors
[ $? -eq 134 ] || fail "abort:true does not abort"
[ "$(grep -c '^memoir: no dump' errors)" -eq 1 ] || fail "abort:true says: $(cat errors)"

# Guard pages: the blocks behind which there is one are found by the program's death.
found() { # CONF SIZE COUNT
    MALLOC_CONF=$1 MEMOIR=guard.file:"$place/report" ./fills over "$2" "$3" >output 2>errors
    code=$?
    [ "$code" -eq 139 ] || fail "$1: exit code $code: $(cat output errors)"
    grep -q '^memoir: guard: .*overflow' errors || fail "$1: no report: $(cat errors)"
}
found san_guard_large:1 100000 1
found san_guard_large:3 100000 3
found san_guard_small:1 64 10000
MALLOC_CONF=san_guard_large:3 ./fills over 100000 2 >output 2>&1 || fail "two of three large blocks: $(cat output)"
MALLOC_CONF=san_guard_small:1000000 ./fills over 64 10000 >output 2>&1 || fail "no span of a million: $(cat output)"

# Statistics after each N bytes, in the sections and the format that the options say.
cat >interval.c <<'C'
#include <stdlib.h>
int main(void)
{
    for (int i = 0; i < 30; i++)
        free(opaque = malloc(1 << 20));
    return 0;
}
C
sed -i '1i void *volatile opaque;' interval.c
build interval.c -o interval
for bytes in 10485760=3 1048576=30 100000000=0; do
    MALLOC_CONF=stats_interval:${bytes%=*},stats_interval_opts:gmdabl preload ./interval 2>errors ||
        fail "stats_interval: exit code $?"
    count=$(grep -c '^___ Begin jemalloc statistics ___$' errors)
    [ "$count" -eq "${bytes#*=}" ] || [ "$count" -eq $((${bytes#*=} - 1)) ] ||
        fail "stats_interval:$bytes: $count times: $(head -5 errors)"
done
MALLOC_CONF=stats_interval:20000000,stats_interval_opts:J preload ./interval 2>errors
grep -q '^{"jemalloc":{"version":' errors || fail "stats_interval_opts:J: $(head -c 100 errors)"
finish
