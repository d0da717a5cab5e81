# SPDX-License-Identifier: MIT
# helper
"""Programs whose leaks are known: leak_truth.py FIRST COUNT [--planted] [--only PIECE] [--built].

Makes program after program from pieces (leak_truth.h and leak_truth_hidden.h), each kept or lost by
a random choice of the program's number, at a random level of optimisation, and runs it: the scan
must find exactly what was lost. With --planted the truth is wrong by one block, and every program
must fail. The pieces are built once for each level; a program is a list of them. With --built, the
programs of an earlier run are there. Hardened blocks of no byte have no memory, and are not looked at.
Reads MEMOIR_ROOT, MEMOIR_LIB, CXX. Exit status: 0, or 1 if a program disagrees."""
import os
import random
import subprocess
import sys

ROOT, LIB = os.environ["MEMOIR_ROOT"], os.path.dirname(os.environ["MEMOIR_LIB"])
EITHER = """list ring tree graph hash tagged interior large inheritance virtual_base array_new vectors maps
hash_maps shared_pointers functions mapped coroutine library made_shared weak_pointers intrusive xor_list aligned
huge empty moved containers smart_pointers exceptions generators mapped_read_only mapped_unreadable mapped_shared
mapped_file heap_coroutine library_locals ignored registered""".split()
ALWAYS_KEPT = """thread_stack thread_locals registers returned keys vector_register thread_keys thread_library_locals
signal_stack in_handler deaf pooled_stack""".split()
ALWAYS_LOST = "ended exited detached cancelled unguarded_stack".split()
LEVELS = ["-O0", "-O1", "-O2", "-O3"]
RATES = ["-1", "0", "4096"]  # the verdict does not depend on what is recorded
# Programs that disagreed once, run each time.
ONCE_WRONG = {
    # pause() of ours left old words of the stack in its frame, where the thread slept.
    "sleeping": "./truth-O0 -1 0 large 0 46 24 keys 1 11 1000 keys 1 31 40000 thread_locals 1 50 100",
    # A stack without a guard page joined one that libc keeps, and hid what libc keeps there.
    "unguarded": "./truth-O2 0 0 unguarded_stack 0 4 100",
    # A variable of a thread described the pool that its stack was part of, and all of that below was dead.
    # The end of a vector's memory was the start of the next block, which was lost.
    "vector": "./truth-O1 -1 0 vectors 1 6 1000 exceptions 0 13 40 weak_pointers 0 16 8",
    # The compiler left out what cleared a table of pointers before it was freed, and the loader got its memory.
    "cleared": "./truth-O1 0 0 containers 0 60 1 library 1 59 1",
    "pooled": "./truth-O2 0 0 pooled_stack 1 4 100 pooled_stack 1 5 100",
}
FLAGS = ["-std=c++20", "-g", "-pthread", f"-I{ROOT}", f"-I{ROOT}/tests/programs", "-Wno-unused-function"]


def source():
    rows = "\n".join(f'    {{"{piece}", {piece}}},' for piece in EITHER + ALWAYS_KEPT + ALWAYS_LOST)
    return f"""#include "leak_truth.h"
#include "leak_truth_hidden.h"
static const struct {{
    const char *name;
    void (*run)(bool kept, unsigned count, size_t size);
}} pieces[] = {{
{rows}
}};
/* RATE PLANTED, then PIECE KEPT COUNT SIZE again and again */
int main(int count, char **args)
{{
    struct memoir_leaks before;
    if (atol(args[1]) >= 0)
        memoir_start((size_t)atol(args[1]));
    wipe();
    if (!memoir_leaks(&before, sizeof before, nullptr, nullptr))
        return 2;
    for (int i = 3; i + 3 < count; i += 4)
        for (const auto &piece : pieces)
            if (strcmp(piece.name, args[i]) == 0)
                piece.run(args[i + 1][0] == '1', (unsigned)atoi(args[i + 2]), (size_t)atol(args[i + 3]));
    lost += (unsigned long)atol(args[2]);
    wipe(); /* where the frame of `verdict` will be */
    int status = verdict(&before);
    fflush(stdout);
    _exit(status);
}}
"""


def build(needed):
    with open("truth.cc", "w") as file:
        file.write(source())
    with open("holder.c", "w") as file:
        file.write("void *holder; static __thread void *local[1000];\n"
                   "void **holder_local(void) { return &local[500]; }\n")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", "holder.c", "-o", "holder.so"], check=True)
    for level in needed:
        subprocess.run([*os.environ.get("CXX", "c++").split(), level, *FLAGS, "truth.cc", "-o", "truth" + level,
                        f"-L{LIB}", f"-Wl,-rpath,{LIB}", "-lmemoir", "-ldl"], check=True)


def program(number, planted, only):
    dice = random.Random(number)
    args = [dice.choice(RATES), str(int(planted))]
    for _ in range(dice.randint(3, 9)):
        piece = only or dice.choice(EITHER * 2 + ALWAYS_KEPT * 2 + ALWAYS_LOST * 3)
        if piece == "empty" and "harden:on" in os.environ.get("MEMOIR", ""):
            piece = "list"
        kept = piece in ALWAYS_KEPT or (piece in EITHER and dice.random() < 0.5)
        size = dice.choice([1, 8, 24, 40, 100, 300, 1000, 5000, 40000])
        args += [piece, str(int(kept)), str(dice.randint(2, 60)), str(size)]
    return ["./truth" + dice.choice(LEVELS), *args]


def run(number, command, planted):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        status, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        status, said = -1, "it hangs\n"
    if (status != 0) == planted:
        return True
    print(f"program {number}: status {status}: {said.strip()}\n    {' '.join(command)}", flush=True)
    return False


def main():
    first, count, planted = int(sys.argv[1]), int(sys.argv[2]), "--planted" in sys.argv
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None
    programs = {number: program(number, planted, only) for number in range(first, first + count)}
    if not planted and not only:
        programs.update({name: line.split() for name, line in ONCE_WRONG.items()})
    if "--built" not in sys.argv:
        build(sorted({command[0].removeprefix("./truth") for command in programs.values()}))
    wrong = sum(not run(number, command, planted) for number, command in programs.items())
    if wrong:
        print(f"{wrong} of {len(programs)} programs disagree")
    return wrong > 0


sys.exit(main())
