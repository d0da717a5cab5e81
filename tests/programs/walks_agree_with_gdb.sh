#!/bin/sh
# SPDX-License-Identifier: MIT
# A debugger, which looks at the program from outside, sees the same frames as our walks do.
. "$(dirname "$0")/common.sh"

cd "$place" || exit 2
need gdb
gdb -batch -ex 'python print(1)' >/dev/null 2>&1 || skip "this gdb has no Python"
build -O2 "$root/tests/programs/walks_agree_with_gdb.c" \
    "$root/lib/watch/unwind.c" "$root/lib/watch/rules.c" "$root/lib/watch/own_stack.c" "$root/lib/watch/code.c" "$root/base/call.c" \
    "$root/base/cfi.c" "$root/base/cfi_expression.c" "$root/base/object.c" "$root/base/loaded.c" "$root/base/os.c" "$root/base/os_clock.c" "$root/base/os_thread.c" "$root/base/os_memory.c" \
    "$root/base/confine.c" "$root/base/alternate.c" -o walks
cat >compare.py <<'END'
import gdb

def seen():
    frame, pcs, after_signal = gdb.newest_frame(), [], False
    while frame is not None:
        # Inlined functions, and those that left by a jump, have no frame: gdb infers them.
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            signal = frame.type() == gdb.SIGTRAMP_FRAME
            pcs.append(frame.pc() + (1 if signal or after_signal else 0))
            after_signal = signal
        frame = frame.older()
    return pcs[2:]  # without `stop_here` and its caller

for command in ("set pagination off", "set backtrace past-main on", "set backtrace past-entry on",
                "set debuginfod enabled off", "handle SIGUSR1 nostop noprint", "break stop_here",
                "run"):
    gdb.execute(command)
stops = 0
while gdb.selected_inferior().pid != 0:
    walk = gdb.parse_and_eval("walk")
    ours = [int(walk["pcs"][i]) for i in range(int(walk["count"]))][::-1]
    theirs = seen()
    stops += 1
    print("%s: %d frames, gdb sees %d" % ("same" if ours == theirs else "DIFFERENT", len(ours),
                                          len(theirs)))
    if ours != theirs:
        print([hex(pc) for pc in ours], [hex(pc) for pc in theirs])
    gdb.execute("continue")
print("stops: %d" % stops)
END
gdb -batch -x compare.py ./walks >out 2>&1
grep -E '^(same|DIFFERENT|stops)' out
if grep -q 'ptrace: Operation not permitted' out; then
    skip "programs may not be traced here"
fi
if [ "$(grep -c '^same' out)" -ne 4 ] || grep -q '^DIFFERENT' out; then
    fail "$(tail -n 20 out)"
fi
finish
