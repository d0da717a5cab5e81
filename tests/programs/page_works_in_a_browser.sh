#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A page of `memoir report -o x.html`, opened in a browser from its file: metrics, search with the
# matched share, zoom, both directions of the flame graph, sorting, the address and the way back,
# keys, themes, narrow windows, no scripts; and nothing is asked of the network.
. "$(dirname "$0")/common.sh"
need chromium python3
cd "$place" || exit 2

build "$root/tests/programs/run_target.c" -o target
"$MEMOIR_TOOL" run --quiet --exact --every 100ms -o run.memoir ./target >/dev/null || fail "no capture"
"$MEMOIR_TOOL" report run.memoir --quiet -o run.html || fail "no page"
cat >stacks.folded <<'END'
main;Parser::parse;std::vector<int, std::allocator<int> >::push_back 500
main;Parser::parse;Cache::insert 250
main;Cache::insert 150
main;</script><script>document.title="broken"</script>;<img src=x onerror=document.title="broken"> 100
END
printf 'main;Parser::parse;Cache::insert 100\nmain;forget 900\n' >before.folded
"$MEMOIR_TOOL" export stacks.folded -o stacks.html --quiet || fail "no page"
"$MEMOIR_TOOL" diff before.folded stacks.folded -o diff.html --quiet || fail "no comparison"
python3 - <<'END' >large.folded || exit 2
for i in range(30000):
    print(";".join(["main"] + ["function_%d_%d" % (k, i % (3 + 11 ** k % 4999)) for k in range(9)]), 1)
END
"$MEMOIR_TOOL" export large.folded -o large.html --quiet || fail "no page of much"
[ "$failures" -eq 0 ] || finish

cat >drive.py <<'END'
from browser import Page, call, check, finish

FIRST = "document.querySelector('#table tbody tr .fn').textContent"
ROWS = "document.querySelectorAll('#table tbody tr').length"
HASH = "decodeURIComponent(location.hash)"

page = Page("stacks.html")
page.wait("document.querySelectorAll('#boxes g').length > 3", "the flame graph is drawn")
whole = page.box("all")[2]
check(1000 < whole < 1216, "it is as wide as the window: %s" % whole)
check(abs(page.box("Parser::parse")[2] / whole - 0.75) < 0.01, "a box is as wide as its share")
check(page.box("main")[1] > page.box("all")[1], "roots are on top")
check(page.run(FIRST).startswith("std::vector"), "the table begins with the largest")
check(page.run("document.title").startswith("stacks"), "names are no scripts")
page.mouse("Cache::insert", False)
told = page.run("[...document.querySelectorAll('#graph g.ui text')].map(t => t.textContent).join('|')")
check("Cache::insert" in told and "25.0 %" in told, "the tooltip has name and share: %s" % told)

page.key("/", "/")
page.type("cache::insert")
page.wait("document.getElementById('found').textContent.includes('matched 40.0 %')",
          "search: %s" % page.text("found"))
check(page.run("document.querySelectorAll('#boxes .hit').length") == 2, "two boxes are marked")
check(page.run(ROWS) == 1, "the table has the sites that fit")
page.key("Enter")
page.key("n", "n")
check(page.text("found").startswith("2 of 2"), "n goes on: %s" % page.text("found"))
check(page.run(HASH) == "#query=cache::insert", "the address has it: %s" % page.run(HASH))
page.key("Escape")
check(page.text("found") == "" and page.run(ROWS) >= 2, "Esc ends the search")
page.key("/", "/")
page.type("(")
check("not a regular" in page.text("found"), "a wrong expression is told")
page.key("Escape")

page.mouse("Parser::parse", True)
check(abs(page.box("Parser::parse")[2] - whole) < 1, "a click zooms")
check("zoom=" in page.run(HASH), "the address has the zoom: %s" % page.run(HASH))
page.run("history.back()")
page.wait("!location.hash.includes('zoom')", "the way back")
page.wait("document.getElementById('whole').hidden", "the way back leads to the whole graph")
check(abs(page.box("Parser::parse")[2] / whole - 0.75) < 0.01, "and draws it")
page.run("document.getElementById('stage').focus()")
for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
    page.key(key)
check(abs(page.box("Cache::insert")[2] - whole) < 1, "arrows and Enter zoom")
page.key("Escape")
page.key("i", "i")
check(page.box("main")[1] < page.box("all")[1], "i puts roots at the bottom")
page.key("i", "i")
page.key("l", "l")
check(abs(page.box("Cache::insert")[2] / whole - 0.4) < 0.01, "l merges from the leaf: %s" %
      page.box("Cache::insert"))
page.key("l", "l")

page.click("#table th:last-child button")
names = page.run("[...document.querySelectorAll('#table tbody .fn')].map(e => e.textContent)")
check(names == sorted(names), "sorted by name: %s" % names)
page.click("#table th:nth-child(3) button")
check(page.run(FIRST) == "main", "sorted by total")
check(page.run("document.querySelector('th[aria-sort]').textContent").startswith("total"), "says so")
page.click("#table tbody tr:last-child .site button")
check("matched" in page.text("found"), "a site is found in the graph: %s" % page.text("found"))

colour = "getComputedStyle(document.body).backgroundColor"
check(page.run(colour) == "rgb(255, 255, 255)", "light")
page.key("Escape")
page.key("t", "t")
check(page.run(colour) == "rgb(21, 23, 27)", "t is dark")
page.key("?", "?")
check(page.run("document.getElementById('keys').open"), "? lists the keys")
check(page.run("performance.getEntriesByType('resource').length") == 0, "nothing is fetched")

page = Page("run.html", dark=True)
page.wait("document.querySelectorAll('#boxes g').length > 3", "the graph of a capture")
check(page.run(colour) == "rgb(21, 23, 27)", "dark where the system is")
cards = page.run("[...document.querySelectorAll('.card')].map(c => c.textContent)")
check(len(cards) == 5 and "MiB" in cards[0], "five metrics: %s" % cards)
check("build_index" in page.run(FIRST), "at the peak it is the index")
ZEROS = "[...document.querySelectorAll('#table tbody tr')].filter(r => r.cells[0].textContent === '0 B').length"
check(page.run(ZEROS) == 0, "rows of 0 B that were not asked for")
page.click("#rest button")
check(page.run(ZEROS) > 0, "rows of 0 B that were asked for")
x, y = page.run("""(() => { const peak = document.querySelector('.wide .peak');
    peak.scrollIntoView({block: "center"}); const r = peak.getBoundingClientRect();
    return [r.x + r.width / 2, r.y + r.height / 2]; })()""")
page.point(x, y, False)
peak = page.run("document.querySelector('.card b').textContent")
told = page.run("document.querySelector('.wide .scale ~ text:last-of-type').textContent")
check("heap " + peak[:2] in told, "the plot has the peak %s under the pointer: %s" % (peak, told))
page.key("2", "2")
check("keep_some" in page.run(FIRST), "at the end it is what was kept: %s" % page.run(FIRST))
check(page.run(HASH) == "#metric=inuse_space", "the address has the metric")
page.click("#leaks summary")
check(page.run("document.querySelector('#leaks details').open"), "a leak opens")
check("main" in page.run("document.querySelector('#leaks .stack').textContent"), "its stack")
check(page.run("document.querySelector('.wide').getBoundingClientRect().width") > 900, "wide plot")

page = Page("run.html#metric=alloc_objects&query=short_lived")
page.wait("document.getElementById('found').textContent.includes('matched')", "an address is obeyed")
check(page.run("document.querySelector('[aria-pressed=true]').textContent").startswith("alloc"),
      "its metric is chosen")

page = Page("run.html", width=400)
page.wait("document.querySelectorAll('#boxes g').length > 3", "the narrow graph")
check(page.run("document.documentElement.scrollWidth") <= 400, "nothing sticks out: %s" %
      page.run("document.documentElement.scrollWidth"))
check(page.run("getComputedStyle(document.querySelector('.wide')).display") == "none", "narrow plot")

page = Page("run.html", scripts=False)
check("build_index" in page.run(FIRST), "the table is there without scripts")
for part in ("bar", "stage", "flame-tools"):
    check(page.run("document.getElementById('%s').getBoundingClientRect().height" % part) == 0,
          "without scripts there is no " + part)

page = Page("diff.html")
page.wait("document.querySelectorAll('#boxes g').length > 3", "the comparison is drawn")
check(page.box("forget") is not None, "what is gone is shown")
check(page.run("document.querySelector('#table tbody tr').className") == "gone", "and is first")
check(page.run("document.getElementById('leaf').hidden"), "no merging from the leaf")

page = Page("large.html")
page.wait("document.querySelectorAll('#boxes g').length > 3", "the large one is drawn")
check("to keep this file small" in page.text("pruned"), "boxes: %s" % page.text("pruned"))
check("smaller sites are left out" in page.text("rest"), "rows: %s" % page.text("rest"))
page.key("/", "/")
page.type("function_3_")
page.key("Enter")
for _ in range(3):
    page.key("n", "n")
check(page.text("found").startswith("4 of"), "n goes on in small boxes: %s" % page.text("found"))
check("zoom=" in page.run(HASH), "and zooms into them: %s" % page.run(HASH))
page.key("Escape")
before = page.run(ROWS)
page.click("#rest button")
check(page.run(ROWS) > before, "more rows")
finish()
END
browse "the page does not work"
finish
