#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Dumps by HEAP_PROFILE_ALLOCATION_INTERVAL, _DEALLOCATION_INTERVAL and _INUSE_INTERVAL count the
# bytes that the program asked for, whatever a block takes: as many dumps as the program's bytes
# say, at the same calls as with gperftools' own library, where there is one.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
cat >sizes.c <<'END'
#include <stdlib.h>
static void *volatile kept[400000];
int main(int count, char **args) /* keep|pass|turn SIZE BYTES; SIZE 0: any */
{
    size_t size = strtoul(args[2], NULL, 10), bytes = strtoul(args[3], NULL, 10);
    unsigned number = 0, seed = 1;
    for (size_t done = 0, now; done < bytes; done += now) {
        now = size ? size : 1 + (seed = seed * 1103515245 + 12345) / 65536 % 3000;
        unsigned i = number++ % (args[1][0] == 'k' ? 400000 : args[1][0] == 't' ? 1000 : 1);
        if (args[1][0] != 'k')
            free(kept[i]);
        kept[i] = malloc(now);
    }
    return 0;
}
END
build sizes.c -o sizes

dumps() { # OUT LIBRARY VARIABLE INTERVAL ARGUMENTS...: the first line of each dump
    out=$1 library=$2 setting=HEAP_PROFILE_$3_INTERVAL=$4
    shift 4
    rm -rf dumps
    mkdir dumps
    env HEAPPROFILE=dumps/g HEAP_PROFILE_INUSE_INTERVAL=0 "$setting" LD_PRELOAD="$library" ./sizes "$@" 2>/dev/null
    head -qn 1 dumps/*.heap | tr -s ' ' | sed 's/ @.*//; s/\[ /[/' >"$out"
}

# number COUNT VARIABLE INTERVAL ARGUMENTS...: and the one at the end
number() {
    wanted=$(($1 + 1))
    shift
    dumps ours "$MEMOIR_LIB" "$@"
    [ "$(wc -l <ours)" -eq $wanted ] || fail "$*: $(wc -l <ours) dumps, not $wanted"
}
for way in keep pass turn; do
    number 10 ALLOCATION 30000 $way 1 300000
    number 10 ALLOCATION 300000 $way 24 3000000
    number 12 ALLOCATION 1000000 $way 1000 12000000
done
number 9 INUSE 30000 keep 1 300000
number 0 INUSE 30000 turn 24 3000000
number 9 DEALLOCATION 300000 turn 24 3000000

theirs=''
for folder in /usr/lib/*-linux-gnu /usr/lib64 /usr/lib /usr/local/lib; do
    library=$folder/libtcmalloc.so.4
    [ -z "$theirs" ] && [ -e "$library" ] && ! readlink -f "$library" | grep -q memoir && theirs=$library
done
[ -n "$theirs" ] || finish
for interval in ALLOCATION DEALLOCATION INUSE; do
    for way in keep pass turn; do
        for size in 24 1000 0; do
            dumps ours "$MEMOIR_LIB" $interval 1000000 $way $size 8000000
            dumps others "$theirs" $interval 1000000 $way $size 8000000
            cmp -s ours others || fail "$interval, $way, blocks of $size: $(diff others ours | head -n 6)"
        done
    done
done
finish
