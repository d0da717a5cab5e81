#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What takes longer than a moment says so on the terminal, in per cent where the size is known, and
# is gone afterwards; what is quick, quiet or no terminal says nothing.
. "$(dirname "$0")/../programs/common.sh"
need_terminal
settle
PATH=$(dirname "$MEMOIR_TOOL"):$PATH
terminal=$root/tests/golden/terminal/pty.py

# a pipe that is filled slowly, so that no machine is too fast for this test
cat >slow.py <<'E'
import random, sys, time
random.seed(1)
for part in range(int(sys.argv[1])):
    for _ in range(200):
        print(";".join("function_%d" % random.randint(0, 300) for _ in range(9)), random.randint(1, 99))
    sys.stdout.flush()
    time.sleep(float(sys.argv[2]))
E
python3 slow.py 5 0.2 >quick.folded
mkfifo pipe
began=$(date +%s%N)
python3 slow.py 5 0.2 >pipe &
python3 "$terminal" 80 PAGER=cat TERM=xterm memoir top pipe >said || fail "top of a pipe: $(cat said)"
wait
tenths=$((($(date +%s%N) - began) / 100000000))
# shown, rewritten ten times a second at most, and erased before the first line of the answer
python3 - $tenths <<'E' || fail "progress of a pipe: $(cat -v said)"
import sys
text = open("said", newline="").read()
shown = text.count("\r\x1b[Kloading  pipe")
last = text.rindex("\r\x1b[K")
assert 3 <= shown <= int(sys.argv[1]) + 2, shown
assert text[last:].startswith("\r\x1b[Kpipe    samples: "), text[last:last + 60]
E

# in per cent, where the size is known
python3 - <<'E'
import random
random.seed(1)
with open("big.folded", "w") as file:
    names = ["function_%d" % i for i in range(3000)]
    for _ in range(600000):
        file.write(";".join(random.choices(names, k=9)) + " 5\n")
E
python3 "$terminal" 60 PAGER=cat TERM=xterm memoir top big.folded >said || fail "top of a large file"
python3 - <<'E' || fail "per cent: $(head -c 2000 said | cat -v)"
import re
lines = open("said", newline="").read().split("\r\x1b[K")
shares = [int(share) for share in re.findall(r"reading  big.folded  \[[█░]{10}\] (\d+) %", " ".join(lines))]
assert shares and shares == sorted(shares) and shares[-1] <= 100, shares
assert all(len(line.split("\n")[0]) < 60 for line in lines), "too wide"
E
gzip -1 -k big.folded
python3 "$terminal" 80 PAGER=cat TERM=xterm memoir top big.folded.gz >said
grep -q 'big.folded.gz  \[' said || fail "no per cent of a packed file"

# not a word of it otherwise
python3 "$terminal" 80 PAGER=cat TERM=xterm memoir top quick.folded >said
grep -q 'ing  quick' said && fail "progress of what is quick: $(cat -v said)"
python3 "$terminal" 80 PAGER=cat TERM=xterm memoir -q top big.folded >said
grep -q 'ing  big' said && fail "progress with -q: $(cat -v said)"
memoir top big.folded >said 2>errors
[ -s errors ] && fail "progress without a terminal: $(cat errors)"
finish
