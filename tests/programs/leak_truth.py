# SPDX-License-Identifier: MIT
# helper
"""Programs whose leaks are known: leak_truth.py FIRST COUNT [--planted].

Makes program after program from pieces (leak_truth.h), each kept or lost by a random choice of the
program's number, builds each at a random level of optimisation, and runs it: the scan must find
exactly what was lost. With --planted the truth is wrong by one block, and every program must fail.
Reads MEMOIR_ROOT, MEMOIR_LIB, CXX. Exit status: 0, or 1 if a program disagrees."""
import os
import random
import subprocess
import sys

ROOT, LIB = os.environ["MEMOIR_ROOT"], os.path.dirname(os.environ["MEMOIR_LIB"])
EITHER = """list ring tree graph hash tagged interior large inheritance virtual_base array_new vectors maps
hash_maps shared_pointers functions mapped coroutine library""".split()
ALWAYS_KEPT = "thread_stack thread_locals registers returned keys".split()
ALWAYS_LOST = ["ended"]
FLAGS = ["-std=c++17", "-g", "-pthread", f"-I{ROOT}", f"-I{ROOT}/tests/programs"]


def source(number, planted):
    dice = random.Random(number)
    calls = []
    for _ in range(dice.randint(3, 9)):
        piece = dice.choice(EITHER * 2 + ALWAYS_KEPT + ALWAYS_LOST * 2)
        kept = piece in ALWAYS_KEPT or (piece in EITHER and dice.random() < 0.5)
        size = dice.choice([1, 8, 24, 40, 100, 300, 1000, 5000, 40000])
        calls.append(f"    {piece}({str(kept).lower()}, {dice.randint(2, 60)}, {size});")
    body = "\n".join(calls)
    return f"""#include "leak_truth.h"
int main()
{{
    struct memoir_leaks before;
    memoir_start(0);
    wipe();
    if (!memoir_leaks(&before, sizeof before, nullptr, nullptr))
        return 2;
{body}
    lost += {int(planted)};
    wipe(); /* where the frame of `verdict` will be */
    int status = verdict(&before);
    fflush(stdout);
    _exit(status);
}}
""", dice.choice(["-O0", "-O1", "-O2", "-O3"]), body


def run(number, planted):
    text, level, body = source(number, planted)
    name = f"truth{number}"
    with open(name + ".cc", "w") as file:
        file.write(text)
    unused = ["-Wno-unused-function"]
    subprocess.run([*os.environ.get("CXX", "c++").split(), level, *FLAGS, *unused, name + ".cc", "-o", name,
                    f"-L{LIB}", f"-Wl,-rpath,{LIB}", "-lmemoir", "-ldl"], check=True)
    try:
        done = subprocess.run(["./" + name], capture_output=True, text=True, timeout=60)
        status, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        status, said = -1, "it hangs\n"
    if (status != 0) != planted:
        print(f"program {number}, {level}: status {status}: {said}{body}")
        return False
    os.remove(name)
    os.remove(name + ".cc")
    return True


def main():
    first, count, planted = int(sys.argv[1]), int(sys.argv[2]), "--planted" in sys.argv
    with open("holder.c", "w") as file:
        file.write("void *holder;\n")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", "holder.c", "-o", "holder.so"], check=True)
    wrong = sum(not run(number, planted) for number in range(first, first + count))
    if wrong:
        print(f"{wrong} of {count} programs disagree")
    return wrong > 0


sys.exit(main())
