#!/bin/sh
# SPDX-License-Identifier: MIT
# Every option of mimalloc 2.4 and 3.4, by number: the initial value and what variables with two dozen values make
# of it, by mi_option_get and mi_option_get_size, are mimalloc's own. The real libraries are those of the
# folder MEMOIR_PEERS (mi2.so, mi3.so), or the system's if it is of one of these releases.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
cat >options.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int mi_version(void) __attribute__((weak));
long mi_option_get(int) __attribute__((weak));
size_t mi_option_get_size(int) __attribute__((weak));
long mi_option_get_clamp(int, long, long) __attribute__((weak));
int main(int count, char **words)
{
    if (count > 1)
        return printf("%d\n", mi_version() / 100) < 0;
    setvbuf(stdout, NULL, _IONBF, 0); /* destroy_on_exit takes a buffer away */
    for (int i = 0; i < 40; i++)
        printf("%d: %ld %zu %ld\n", i, mi_option_get(i), mi_option_get_size(i), mi_option_get_clamp(i, 1, 5));
    return 0;
}
C
build options.c -o options
names_folder=$(dirname "$MEMOIR_LIB")/compat
names=$(sed -n 's/^OPTION(\([a-z_]*\),.*/\1/p' "$root/lib/faces/mimalloc/mimalloc_options.def" | grep -v 'reserve_\|deprecated\|disallow_os')
compared=0
# agree LIBRARY OURS
agree() {
    for option in none $names; do
        for value in 1 0 '' yes No TRUE off 17 -3 5K 3GiB 2mb nonsense 99999999999; do
            setting=MIMALLOC_$(echo $option | tr a-z A-Z)=$value
            case $setting in *VERBOSE=* | *SHOW_*) continue ;; esac
            env "$setting" LD_PRELOAD="$1" ./options >theirs 2>/dev/null
            env "$setting" LD_PRELOAD="$2" ./options >ours 2>/dev/null
            cmp -s theirs ours || fail "$1, $setting: $(diff theirs ours | head -n 4)"
            compared=$((compared + 1))
            [ $option != none ] || break
        done
    done
}
for library in ${MEMOIR_PEERS:+"$MEMOIR_PEERS"/mi2.so "$MEMOIR_PEERS"/mi3.so} /usr/lib/*/libmimalloc.so.[23]; do
    [ -e "$library" ] || continue
    case $(LD_PRELOAD=$library ./options version 2>/dev/null) in
    204) agree "$library" "$names_folder/libmimalloc.so.2" ;;
    304) agree "$library" "$names_folder/libmimalloc.so.3" ;;
    esac
done
[ $compared -gt 0 ] || skip "there is no libmimalloc of 2.4 or 3.4 (MEMOIR_PEERS)"
finish
