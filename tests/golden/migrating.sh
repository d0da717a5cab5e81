#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
#
# docs/MIGRATING.md quotes what the library says of variables that are not served, to the letter; and
# what it calls "the same" is: each option and variable of its tables is one that the library knows.
. "$(dirname "$0")/../programs/common.sh"
need python3
settle
python3 - "$root/docs/MIGRATING.md" >cases <<'END' || exit 2
import re, sys
text = open(sys.argv[1]).read()
rows = re.search("<!-- said -->\n(.*?)<!-- end -->", text, re.S).group(1).split("\n")[2:]
for row in filter(None, rows):
    setting, said = re.match(r"\| `(.*?)` \| (.*?) ?\|$", row).groups()
    print(setting + "\t" + said)
END
[ "$(wc -l <cases)" -ge 5 ] || fail "the table has $(wc -l <cases) rows"
tab=$(printf '\t')
while IFS=$tab read -r setting said; do
    # shellcheck disable=SC2086 # words
    env $setting LD_PRELOAD="$MEMOIR_LIB" true 2>errors || fail "$setting: status $?"
    [ -z "$said" ] || said="memoir: $said"
    [ "$(cat errors)" = "$said" ] || fail "$setting: the library says '$(cat errors)', the page '$said'"
done <cases

# A variable or an option that were unknown would be a line on standard error.
build "$root/tests/programs/leaking.c" -o leaking 2>/dev/null || exit 2
for setting in MALLOC_CONF=prof_leak:true,lg_prof_sample:0,prof_final:true \
    MALLOC_CONF=prof:true,lg_prof_interval:20,prof_prefix:x MALLOC_CONF=prof:true,prof_gdump:true,prof_final:true \
    MALLOC_CONF=prof:true,prof_active:false,prof_final:true MALLOC_CONF=prof:true,lg_prof_sample:17,prof_accum:true,prof_final:true \
    JE_MALLOC_CONF=prof:true,prof_log:true HEAPPROFILE=h 'HEAPPROFILE=h HEAP_PROFILE_ALLOCATION_INTERVAL=1048576' \
    'HEAPPROFILE=h HEAP_PROFILE_INUSE_INTERVAL=0' 'HEAPPROFILE=h HEAP_PROFILE_TIME_INTERVAL=1' \
    'HEAPPROFILE=h HEAPPROFILESIGNAL=12' 'HEAPPROFILE=h HEAP_PROFILE_MMAP=true' MALLOCSTATS=1 \
    MEMOIR=dump.every:1M,dump.peak:1M,dump.growth:1M,dump.interval:1s,dump.signal:12,dump.prefix:d,heap.rate:128K \
    MEMOIR=cache:1M,return.delay:10ms,numa.nodes:1,thp:auto,verbose:off; do
    # shellcheck disable=SC2086 # words
    env $setting LD_PRELOAD="$MEMOIR_LIB" ./leaking >/dev/null 2>errors
    grep -q 'memoir: \|Invalid\|Malformed\|not served' errors && fail "$setting: $(cat errors)"
done
finish
