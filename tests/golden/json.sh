#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too quick-too
#
# docs/JSON.md tells the truth: every key that a verb prints is in its table, and every schema that
# the sources name has one. Verbs that are no table refuse --csv, the others print one.
. "$(dirname "$0")/../programs/common.sh"
need python3
root=${MEMOIR_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$place" || exit 2
unset NO_COLOR CLICOLOR_FORCE MEMOIR PAGER
memoir() { "$MEMOIR_TOOL" "$@"; }

cat >work.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *kept[64];
void keep(int i) { kept[i] = malloc(100000); memset(kept[i], 1, 100000); }
char *early(void) { return memset(malloc(1000000), 1, 1000000); }
int main(int count, char **words)
{
    char *gone = early();
    int limit = count > 1 ? atoi(words[1]) : 20;
    for (int i = 0; i < limit; i++) {
        keep(i);
        for (int k = 0; k < 100; k++)
            free(strdup("short"));
        usleep(20000);
    }
    free(gone);
    return 0;
}
END
build -O0 -g -w work.c -o work
memoir run --exact --every 100ms -o one.memoir ./work >/dev/null 2>&1 || fail "no capture"
memoir run --exact --every 100ms -o two.memoir ./work 40 >/dev/null 2>&1 || fail "no second capture"

mkdir out
for verb in report top peak tree traces leaks churn frag sizes threads time symbols doctor; do
    memoir $verb two.memoir --json >out/$verb.json 2>errors
    [ $? -le 1 ] || fail "$verb: $(cat errors)"
done
for verb in peek list disasm; do
    memoir $verb two.memoir keep --json >out/$verb.json 2>errors || fail "$verb: $(cat errors)"
done
memoir diff one.memoir two.memoir --json >out/diff.json || fail "diff"
memoir top two.memoir --base one.memoir --json >out/base.json || fail "top --base"
memoir leaks one.memoir two.memoir --json >out/growth.json
memoir check two.memoir --base one.memoir --max-peak 1K --json >out/check.json
memoir doctor ./work --json >out/program.json
memoir doctor --system --json >out/system.json
memoir options --json >out/options.json
memoir version --json >out/version.json

python3 - "$root" out/*.json <<'END' || fail "docs/JSON.md and what is printed differ"
import json, os, re, subprocess, sys
root = sys.argv[1]
known, section = {}, None
for line in open(os.path.join(root, "docs/JSON.md")):
    if line.startswith("## "):
        section = re.findall(r"memoir\.\w+/\d", line) or ["head"]
    if section:
        words = re.findall(r"`([a-z_]+)`", line)
        for name in section:
            known.setdefault(name, set()).update(words)
wrong = 0
def keys(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)
for path in sys.argv[2:]:
    report = json.load(open(path))
    schema = report["schema"]
    for key in sorted(set(keys(report)) - known.get(schema, set()) - known["head"]):
        print("%s: '%s' of %s is not in docs/JSON.md" % (path, key, schema))
        wrong = 1
for folder, _, names in os.walk(os.path.join(root, "tool")):
    for name in names:
        for schema in re.findall(r"memoir\.\w+/\d", open(os.path.join(folder, name)).read()):
            if schema not in known:
                print("%s of %s is not in docs/JSON.md" % (schema, name))
                wrong = 1
sys.exit(wrong)
END

for verb in top peak traces leaks churn sizes threads time; do
    memoir $verb two.memoir --csv 2>errors | head -n 1 | grep -q '^[a-z_]*,[a-z_]*,' || fail "$verb has no CSV"
done
for verb in report tree symbols doctor; do
    memoir $verb two.memoir --csv >said 2>errors && fail "$verb --csv is taken for text"
    grep -q 'there is no CSV' errors || fail "$verb --csv: $(cat errors)"
done

# A part of the run: what was allocated in it, and before it, is what was allocated until its end.
cat >parts.py <<'END'
import json, sys
until, whole = json.load(open("until.json")), json.load(open("window.json"))
sums = {row["name"]: row["total"] for row in until["rows"]}
rows = {row["name"]: (row["total"], row["total_base"]) for row in whole["rows"]}
keep = rows.get("keep")
if not keep or keep[0] != sums.get("keep") or not 0 < keep[1] < keep[0]:
    sys.exit("keep: %s of %s" % (keep, sums.get("keep")))
END
memoir top two.memoir --until 600ms --metric alloc --by function --json >until.json || fail "--until"
memoir top two.memoir --since 200ms --until 600ms --metric alloc --by function --json >window.json || fail "--since"
python3 parts.py || fail "a part of the run has other numbers"
memoir top two.memoir --at 600ms | head -n 1 | grep -q 'live heap at [0-9]* ms:' || fail "--at: no moment in the head"

# What was freed in the end was there, and the graph ends with what is left.
memoir time two.memoir >said
grep -q '  early  ' said || fail "a site that is gone is not named: $(cat said)"
memoir list two.memoir early | grep -q ' in all, ' || fail "list is not of the peak"
memoir time two.memoir --json >time.json && memoir report two.memoir --json >report.json
python3 - <<'END' || fail "the graph does not end with what is left"
import json, sys
points, left = json.load(open("time.json"))["points"], json.load(open("report.json"))["lists"]["live"]
sys.exit(points[-1]["live_bytes"] != left["total"])
END

# What was meant.
memoir top tow.memoir >said 2>errors && fail "a file that is not there"
grep -q 'did you mean two.memoir' errors || fail "no file is named: $(cat errors)"
memoir peek two.memoir kep >said 2>errors && fail "a function that is not there"
grep -q 'did you mean keep' errors || fail "no function is named: $(cat errors)"
memoir top two.memoir kepp >said 2>errors || fail "a filter that fits nothing is no error"
grep -q "no stack matches 'kepp'; did you mean keep" errors || fail "nothing fits, and nobody says so: $(cat errors)"
finish
