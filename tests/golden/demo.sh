#!/bin/sh
# SPDX-License-Identifier: MIT
#
# ./dev demo shows what it says: the leak and the cache are told apart, every command is printed as it
# must be typed and works when it is typed again, memory and time of one program stand side by side, and
# the page and the flame graphs are there.
. "$(dirname "$0")/../programs/common.sh"
settle
mkdir build
ln -s "$MEMOIR_TOOL" build/memoir
ln -s "$MEMOIR_LIB" build/libmemoir.so
# On a terminal, where commands use a pager: the demo must not wait for a key.
printf '#!/bin/sh\necho >%s/paged\ncat\n' "$place" >pager
chmod +x pager
python3 "$root/tests/golden/terminal/pty.py" 200 NO_COLOR=1 PAGER="$place/pager" MEMOIR_BUILD="$place/build" \
    "$root/bench/demo" </dev/null >said 2>errors || fail "status $?: $(tail -n 3 errors said)"
[ ! -e paged ] || fail "a step waits in the pager"
shown() { # PATTERN
    grep -q -- "$1" said || fail "no '$1' in: $(cat said)"
}
shown '^peak memory  *[0-9.]* MiB'
shown '^ 1\. .*linear$'
shown '^ *session_begin '
shown '^     *[0-9.]* MiB  cache_find .*bounded$'
shown '^✗ leaks '
shown '^definitely lost: .* at 1 site '
shown '^    the largest of 2 processes, .*ended by signal 9'
shown '^    #0  order_bill  .*demo_orders.c:[0-9]*$'
shown '^    #0  order_close  .*demo_orders.c:[0-9]*$'
grep -q ' 0x[0-9a-f]*  /\|^Killed$\|^Segmentation fault' said && fail "addresses without names, or the shell's words: $(cat said)"
shown '^ *[0-9.]*MB .*cache_find$' # of the dump while it ran
grep -q session_begin build/bench/report.html || fail "no page"
grep -q '<svg' build/bench/flame.svg && grep -q session_begin build/bench/flame.svg || fail "no flame graph"
grep '^[$] .*/memoir ' said >commands
shown '^    most CPU time  *[0-9.]* m*s .* [a-z_]*'
shown '^ *self .* total  *allocated  *samples  function$'
shown '^  *[0-9.]* m*s  *[±<>0-9%]* *[0-9.]* % .* demo  [0-9]*$'
grep -q 'CPU time.* in [0-9.]* *K* *samples' build/bench/cpu.svg || fail "no flame graph of time"
[ "$(wc -l <commands)" -eq 16 ] || fail "commands: $(cat commands)"
sed -n 's/^[$] //; / leaks [^0-9]\| time \| list \| check /p' commands >again
while read -r line; do
    sh -c "$line" >out 2>&1
    [ $? -le 1 ] || fail "$line: $(cat out)"
done <again
finish
