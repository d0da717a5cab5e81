#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Pages of `memoir report -o x.html` and of other verbs: well-formed, no address outside of the file,
# scripts allowed by their hashes only, names of hostile profiles as text, parts that fit the input,
# and small, with words for what was left out.
. "$(dirname "$0")/common.sh"
need python3
cd "$place" || exit 2

{
    printf 'main;</script><script>alert(1)</script>;<img src=x onerror=alert(2)> 500\n'
    printf 'main;"quoted" & '"'single'"' <b>;]]>--><!-- 250\n'
    printf 'main;caf\351 \377\376 bad;\303\244 good 150\n'
    printf 'main;${1+1} \\u003c `x` 50\n'
} >hostile.folded
printf 'main;before 400\nmain;</script><script>alert(1)</script>;stays 300\n' >before.folded
python3 - <<'END' >large.folded || exit 2
for i in range(40000):
    print(";".join(["main"] + ["function_%d_%d" % (k, i % (3 + 11 ** k % 4999)) for k in range(12)]), 1 + i % 7)
END
# In pprof's format a file names its columns, their units and the program, too.
python3 - <<'END' >types.pb || exit 2
import sys
texts = ["", "<b>type</b>", "\"><script>alert(4)</script>", "main", "/x/<i>program</i>", "<u>count"]


def number(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(key, value):
    if isinstance(value, int):
        return number(key << 3) + number(value)
    return number(key << 3 | 2) + number(len(value)) + value


profile = field(1, field(1, 5) + field(2, 5)) + field(1, field(1, 1) + field(2, 2))
profile += field(2, field(1, 1) + field(2, 3) + field(2, 70))
profile += field(3, field(1, 1) + field(2, 4096) + field(3, 8192) + field(5, 4))
profile += field(4, field(1, 1) + field(2, 1) + field(3, 5000) + field(4, field(1, 1)))
profile += field(5, field(1, 1) + field(2, 3))
for text in texts:
    profile += field(6, text.encode())
sys.stdout.buffer.write(profile)
END
build "$root/tests/programs/run_target.c" -o target
"$MEMOIR_TOOL" run --quiet --exact --every 100ms -o exact.memoir ./target >/dev/null || fail "no capture"
"$MEMOIR_TOOL" run --quiet --rate 64K -o sampled.memoir ./target >/dev/null || fail "no capture"

page() { # OUTPUT VERB WORDS...
    output=$1
    verb=$2
    shift 2
    "$MEMOIR_TOOL" "$verb" "$@" --quiet -o "$output" || fail "no page by: $verb $*"
}
page hostile.html export hostile.folded --title 'a </title><script>alert(3)</script>'
page compared.html diff before.folded hostile.folded
page based.html export hostile.folded --base before.folded
page types.html export types.pb
page large.html export large.folded
page exact.html report exact.memoir
page sampled.html top sampled.memoir build_index
page empty.html report sampled.memoir no_such_function
page runs.html diff sampled.memoir exact.memoir
page exact.html.gz report exact.memoir
gzip -dc exact.html.gz | cmp -s - exact.html || fail "a packed page is another one"
cmp -s compared.html based.html || fail "diff and export --base make different pages"

cat >check.py <<'END'
import base64, hashlib, html.parser, json, os, re, sys

EMPTY = {"meta", "input", "br", "img", "link", "hr"}
failures = 0


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.scripts, self.policy = [], [], [], ""
        self.ids, self.words, self.addresses = [], "", []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.ids.append(values["id"])
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        for name, value in attributes:
            if name in ("src", "href", "action", "data", "srcset") or name.startswith("on"):
                self.addresses.append((tag, name, value))
        if tag not in EMPTY:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append([values.get("type", ""), ""])

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, text):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += text
        elif self.open and self.open[-1] != "style":
            self.words += text


def check(truth, what):
    global failures
    if not truth:
        print("wrong: " + what)
        failures += 1


def read(name):
    raw = open(name, "rb").read()
    text = raw.decode("utf-8")  # or it fails
    page = Reader()
    page.feed(text)
    page.close()
    check(not page.wrong and not page.open, "%s: tags do not match: %s %s" %
          (name, page.wrong[:3], page.open[:3]))
    check(len(page.ids) == len(set(page.ids)), name + ": an id is there twice")
    check(not page.addresses, "%s: it names something else: %s" % (name, page.addresses[:3]))
    for address in re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]+|url\((?!#)[^)]*\)|@import", text):
        check("www.w3.org" in address, "%s: an address: %s" % (name, address))
    kinds = [kind for kind, _ in page.scripts]
    check(kinds == ["application/json", "", ""], "%s: scripts: %s" % (name, kinds))
    for kind, script in page.scripts[1:]:
        hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        check("'sha256-%s'" % hash in page.policy, name + ": a script without its hash")
    check("default-src 'none'" in page.policy and "script-src 'unsafe" not in page.policy,
          "%s: policy: %s" % (name, page.policy))
    page.data = json.loads(page.scripts[0][1])
    page.names = {frame[0] for frame in page.data["frames"]}
    page.size = len(raw)
    return page


page = read("hostile.html")
for name in ("</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>",
             "\"quoted\" & 'single' <b>", "]]>--><!--", "caf\ufffd \ufffd\ufffd bad", "\u00e4 good",
             "${1+1} \\u003c `x`"):
    check(name in page.names, "a name is lost: " + name)
check("a </title><script>alert(3)</script>" in page.words, "the title is text")
check("<img src=x onerror=alert(2)>" in page.words, "the table has the name as text")
check("time" not in page.ids and "leaks" not in page.ids, "parts that this input has not")

page = read("types.html")
check("<b>type</b>" in page.words and "program</i>" in page.words, "names of columns are text")
check({m["title"] for m in page.data["metrics"]} >= {"<b>type</b>"}, "both columns are there")

page = read("compared.html")
check(page.data["two"] and page.data["metrics"][0]["compared"], "it is a comparison")
check({row[5] for row in page.data["metrics"][0]["rows"] if row} >= {"new", "gone"}, "verdicts")

page = read("large.html")
check(page.size < 1500000, "it is small: %d" % page.size)
check(page.data["metrics"][0]["count"] > len(page.data["metrics"][0]["rows"]), "rows are left out")

page = read("exact.html")
for part in ("time", "flame", "top", "leaks", "sizes"):
    check(part in page.ids, "exact.html has no part " + part)
check("every block was recorded" in page.words, "it says that it is exact")
check("keep_some" in page.words and "these were never freed" in page.words, "leaks: keep_some")
check([m["key"] for m in page.data["metrics"]][:2] == ["peak_space", "inuse_space"], "metrics")
check(page.size < 400000, "it is small: %d" % page.size)

page = read("sampled.html")
check("totals are counted, sites are estimates from samples, one in 64.0 KiB" in page.words, "it says that it is not")
check("every block" not in page.words, "it does not claim to be exact")
check("--focus build_index" in page.words, "the filter is named")
check("keep_some" not in page.names, "the filter leaves out")

page = read("runs.html")
check("live heap before" in page.words, "the plot has the base, too")
check("the base has samples" in page.words, "it says of what the numbers are not exact")

page = read("empty.html")
check(page.data["metrics"][0]["total"] == 0 and len(page.data["metrics"]) == 1, "nothing is left")
sys.exit(1 if failures else 0)
END
"$MEMOIR_TOOL" top exact.memoir | sed -n '1s/.*    \([0-9.]* % of frames named\)$/\1/p' >named.txt
[ -s named.txt ] && grep -qFf named.txt exact.html || fail "top has other names: $(cat named.txt)"
python3 check.py || fail "pages are not right"

expect 2 "$MEMOIR_TOOL" export hostile.folded -o x.html --picture time 2>/dev/null
expect 3 "$MEMOIR_TOOL" report hostile.folded -o "$place/none/x.html" 2>/dev/null
[ -e x.html ] && fail "a refused page is written"
finish
