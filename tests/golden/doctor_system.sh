#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too quick-too
#
# `memoir doctor --system` reads the kernel's settings as they are, says what each means and how to
# set and restore it, and writes nothing. Values that this machine does not have come from a folder
# (--sysroot); a setting that is not there is "not visible here".
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
settle
thp=/sys/kernel/mm/transparent_hugepage
vm=/proc/sys/vm

doctor() {
    "$MEMOIR_TOOL" doctor --system "$@" >out 2>errors || fail "doctor --system $*: status $?: $(cat errors)"
    [ -s errors ] && fail "doctor --system $*: $(cat errors)"
}
says() { grep -qF -- "$1" out || fail "no '$1' in: $(cat out)"; }
shown() { # FILE: its value, the one in brackets if there are several
    sed -n -e 's/.*\[\([^]]*\)\].*/\1/p' -e '/\[/!p' "$1"
}

# the machine as it is
before=$(cat $thp/enabled $thp/defrag $thp/khugepaged/max_ptes_none $vm/overcommit_* 2>/dev/null)
doctor
real() { # TITLE FILE RESTORE...
    title=$1 file=$2
    shift 2
    if value=$(shown "$file" 2>/dev/null) && [ -n "$value" ]; then
        says " $title: $value"
        says "→ to restore $value:   $(printf "$1" "$value")"
    else
        says "• $title: not visible here ($file)"
    fi
}
real 'transparent huge pages' $thp/enabled "echo %s | sudo tee $thp/enabled"
real 'making huge pages at a page fault' $thp/defrag "echo %s | sudo tee $thp/defrag"
real 'missing pages that khugepaged fills in' $thp/khugepaged/max_ptes_none "echo %s | sudo tee $thp/khugepaged/max_ptes_none"
real overcommit $vm/overcommit_memory 'sudo sysctl -w vm.overcommit_memory=%s'
[ "$before" = "$(cat $thp/enabled $thp/defrag $thp/khugepaged/max_ptes_none $vm/overcommit_* 2>/dev/null)" ] ||
    fail "a setting was changed"
if command -v strace >/dev/null 2>&1; then
    # LeakSanitizer can't look for leaks while strace does
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
        strace -f -o calls -e trace=open,openat,creat "$MEMOIR_TOOL" doctor --system >/dev/null 2>&1
    grep -E '"/(sys|proc/sys)/' calls | grep -E 'O_WRONLY|O_RDWR|O_CREAT' && fail "it was opened for writing"
fi

# a kernel with other values
mkdir -p root$thp/khugepaged root$thp/hugepages-2048kB root$vm
set_to() { # ENABLED DEFRAG HOLES OVERCOMMIT
    echo "$1" >root$thp/enabled
    echo "$2" >root$thp/defrag
    echo "$3" >root$thp/khugepaged/max_ptes_none
    echo "$4" >root$vm/overcommit_memory
}
set_to '[always] madvise never' 'always [defer] defer+madvise madvise never' 0 1
doctor --sysroot root
says '• transparent huge pages: always'
says 'memoir keeps a heap below 64 MiB on small pages'
says "→ to set madvise:   echo madvise | sudo tee $thp/enabled"
says "→ to restore always:   echo always | sudo tee $thp/enabled"
says '✓ making huge pages at a page fault: defer'
says "→ to set defer+madvise:   echo defer+madvise | sudo tee $thp/defrag"
says '✓ missing pages that khugepaged fills in: 0'
says "→ to set 511:   echo 511 | sudo tee $thp/khugepaged/max_ptes_none"
says '• overcommit: 1'
says '→ to set 0:   sudo sysctl -w vm.overcommit_memory=0'
grep -q 'limit of strict overcommit' out && fail "the limit does not count: $(cat out)"

# the setting of the one size overrides the common one
echo 2097152 >root$thp/hpage_pmd_size
echo 'always inherit madvise [never]' >root$thp/hugepages-2048kB/enabled
doctor --sysroot root
says "But $thp/hugepages-2048kB/enabled says never, which takes precedence."
echo 'always [inherit] madvise never' >root$thp/hugepages-2048kB/enabled

# strict overcommit: its limit is shown, as a share or as a number
set_to 'always madvise [never]' '[always] defer defer+madvise madvise never' 511 2
echo 0 >root$vm/overcommit_kbytes
echo 50 >root$vm/overcommit_ratio
printf 'MemTotal: 4096000 kB\nCommitLimit:     2048000 kB\nCommitted_AS:    1945600 kB\n' >root/proc/meminfo
doctor --sysroot root
says '• transparent huge pages: never'
says '• making huge pages at a page fault: always'
says '511 of its pages missing'
says '• overcommit: 2'
says 'fork needs the size of the heap again'
says '• limit of strict overcommit, % of memory: 50'
says 'this is 2000 MiB for all processes, of which 1900 MiB are in use'
says '→ to restore 50:   sudo sysctl -w vm.overcommit_ratio=50'
echo 1000000 >root$vm/overcommit_kbytes
doctor --sysroot root
says 'limit of strict overcommit, KiB: 1000000'
says '→ to restore 1000000:   sudo sysctl -w vm.overcommit_kbytes=1000000'

# nothing is there, or nothing that makes sense; and ASCII
doctor --sysroot nowhere
[ "$(grep -c '^• .*: not visible here (/' out)" -eq 4 ] || fail "four are not visible: $(cat out)"
set_to '' '[; rm -r .] never' 12x '-'
doctor --sysroot root
[ "$(grep -c ': not visible here (/' out)" -eq 4 ] || fail "four make no sense: $(cat out)"
set_to '[perhaps] never' '[always]' 100 7
LC_ALL=C doctor --sysroot root
says 'ok transparent huge pages: perhaps'
says '-> to restore 7:   sudo sysctl -w vm.overcommit_memory=7'

# JSON, and what can't be asked
"$MEMOIR_TOOL" doctor --system --sysroot nowhere --json >none.json || fail "JSON of nothing"
"$MEMOIR_TOOL" doctor --system --sysroot root --json >some.json || fail "JSON"
python3 - <<'P' || fail "JSON differs"
import json
none, some = json.load(open("none.json")), json.load(open("some.json"))
assert none["schema"] == "memoir.doctor/1" and len(none["checks"]) == 4
assert all(c["result"] == "note" and "value" not in c for c in none["checks"])
assert [c["value"] for c in some["checks"]] == ["perhaps", "always", "100", "7"]
assert all(c["restore"].startswith(("echo ", "sudo sysctl")) for c in some["checks"])
P
"$MEMOIR_TOOL" doctor --system ./program >out 2>errors
[ $? -eq 2 ] && grep -q 'memoir doctor --system' errors || fail "a word with --system: $(cat out errors)"
"$MEMOIR_TOOL" doctor --system -o said.txt >out || fail "-o: status $?"
[ ! -s out ] && grep -q 'overcommit' said.txt || fail "-o: $(cat said.txt out)"
finish
