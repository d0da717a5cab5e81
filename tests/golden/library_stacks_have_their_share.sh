#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A function that allocates through several library functions, counted by the program: with -v,
# `memoir top` and `memoir traces` show each way with its own part of the memory, not one of them
# with all of it. A budget counts only the part that went through the library it names. -v changes no
# number of the JSON of top.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
settle
set -e
export MEMOIR_TOOL TERM=dumb

cat >ways.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *volatile keep[3000];
static int kept;
__attribute__((noinline)) static void site(int way)
{
    static char text[2000];
    char *printed;
    memset(text, 'a', sizeof text - 1);
    if (way == 0)
        keep[kept++] = strdup(text);
    else if (way == 1 && asprintf(&printed, "%.100s", text) > 0)
        keep[kept++] = printed;
    else if (way == 2)
        keep[kept++] = malloc(500);
}
int main(void)
{
    for (int i = 0; i < 600; i++)
        site(i < 100 ? 0 : i < 300 ? 1 : 2);
    return 0;
}
END
${CC:-cc} -g -O1 -fno-builtin ways.c -o ways
"$MEMOIR_TOOL" run --exact --lib "$MEMOIR_LIB" --output ways.memoir ./ways 2>run.log
python3 - <<'END'
import json, os, re, subprocess

def memoir(*words):
    return subprocess.run([os.environ["MEMOIR_TOOL"], *words], check=True, capture_output=True,
                          text=True).stdout

def part(stack):
    names = [frame["name"] for frame in stack["frames"]]
    assert "site" in names
    below = " ".join(names[:names.index("site")])
    return "strdup" if "strdup" in below else "printf" if "printf" in below else "own"

flags = ["ways.memoir", "--metric", "objects", "--by", "function"]
stacks = [stack for stack in json.loads(memoir("traces", *flags, "-v", "--json"))["stacks"]
          if any(frame["name"] == "site" for frame in stack["frames"])]
assert len(stacks) == 3, stacks
assert {part(stack): stack["value"] for stack in stacks} == {"strdup": 100, "printf": 200, "own": 300}
# Without -v they are one stack.
whole = [stack for stack in json.loads(memoir("traces", *flags, "--json"))["stacks"]
         if stack["frames"][0]["name"] == "site"]
assert [stack["value"] for stack in whole] == [600], whole

text = memoir("traces", *flags, "-v")
assert re.search(r"^ +100  \S*strdup", text, re.M), text
assert re.search(r"^ +300  site ", text, re.M), text
text = memoir("top", *flags, "-v")
rows = text[text.index(" site "):].splitlines()[1:]
found = {}
for row in rows:
    match = re.match(r" +(\d+) +(\d+) % +└ (.*)", row)
    if not match:
        if re.match(r" +\d", row):
            break
        continue
    found["strdup" if "strdup" in match[3] else "printf" if "printf" in match[3] else "own"] = (
        int(match[1]), int(match[2]))
assert found == {"strdup": (100, 17), "printf": (200, 33), "own": (300, 50)}, (found, text)

plain, verbose = (memoir("top", *flags, "--json", *more) for more in ([], ["-v"]))
assert plain == verbose
site = next(row for row in json.loads(plain)["rows"] if row["name"] == "site")
assert (site["self"], site["stacks"]) == (600, 3), site

with open("budget", "w") as file:
    file.write("strdup 100 allocs\n")
memoir("check", "ways.memoir", "--budget", "budget")
END
