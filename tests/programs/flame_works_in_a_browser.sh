#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A flame graph, opened in a browser: boxes, tooltips, search with the matched share, zoom and the
# way back, keys; as an <img>; and nothing is asked of the network. A call graph in both themes.
. "$(dirname "$0")/common.sh"
need chromium python3
cd "$place" || exit 2

cat >stacks.folded <<'END'
main;Parser::parse;std::vector<int, std::allocator<int> >::push_back 500
main;Parser::parse;Cache::insert 250
main;Cache::insert 150
main;load<&>;"read";a;b;c;d;e;f;g;h;i;j;k;l;m;n;o;p;q;r;s;t;u;v;w;x;y;z 100
END
cat >before.folded <<'END'
main;Parser::parse;Cache::insert 100
main;forget 900
END
"$MEMOIR_TOOL" export stacks.folded -o flame.svg --quiet || fail "no flame graph"
"$MEMOIR_TOOL" export stacks.folded --base before.folded -o diff.svg --quiet || fail "no comparison"
"$MEMOIR_TOOL" export stacks.folded --base before.folded --picture graph -o graph.svg --quiet || fail "no call graph"
echo '<!DOCTYPE html><img id="i" src="flame.svg">' >page.html
[ "$failures" -eq 0 ] || finish

cat >drive.py <<'END'
from browser import Page, check, finish

page = Page("flame.svg")
whole = page.box("all")[2]
check(1100 < whole < 1300, "the root is as wide as the window: %s" % whole)
check(abs(page.box("Parser::parse")[2] / whole - 0.75) < 0.01, "a box is as wide as its share")
check(page.box('load<&>') is not None, "names with < and & are shown")

page.mouse("Cache::insert", False)
told = page.run("[...document.querySelectorAll('g.ui text')].map(t => t.textContent).join('|')")
check("Cache::insert" in told and "25.0 %" in told, "the tooltip has name and share: %s" % told)

page.key("/", "/")
page.type("cache::insert")
check("matched 40.0 %" in page.text("found"), "search: %s" % page.text("found"))
check(page.run("document.querySelectorAll('.hit').length") == 2, "two boxes are marked")
page.key("Enter")
page.key("n", "n")
check(page.text("found").startswith("2 of 2"), "n goes on: %s" % page.text("found"))
page.key("N", "N")
check(page.text("found").startswith("1 of 2"), "N goes back: %s" % page.text("found"))
page.key("Escape")
check(page.text("found") == "", "Esc ends the search")
page.key("/", "/")
page.type("[")
check("not a regular" in page.text("found"), "a wrong expression is told")
page.key("Escape")

page.mouse("Parser::parse", True)
check(abs(page.box("Parser::parse")[2] - whole) < 1, "a click zooms")
check(page.box("load<&>") is None, "what is beside goes")
check(abs(page.box("main")[2] - whole) < 1, "what is below stays")
page.key("Escape")
check(abs(page.box("Parser::parse")[2] / whole - 0.75) < 0.01, "Esc is the way back")
page.key("ArrowUp")
page.key("ArrowUp")
page.key("ArrowRight")
chosen = "document.querySelector('.chosen text').textContent"
check(page.run(chosen) == "Cache::insert", "arrows choose a box: %s" % page.run(chosen))
page.key("Enter")
check(abs(page.box("Cache::insert")[2] - whole) < 1, "Enter zooms into it")
page.key("Escape")
before = page.box("all")[1]
page.key("i", "i")
check(page.box("all")[1] < before, "i turns it over")
check(page.run("performance.getEntriesByType('resource').length") == 0, "nothing is fetched")

page = Page("diff.svg")
check(page.box("forget") is not None, "what is gone is shown")
page.mouse("forget", False)
told = page.run("[...document.querySelectorAll('g.ui text')].map(t => t.textContent).join('|')")
check("gone" in told and "\u2212900" in told, "the tooltip has the change: %s" % told)
page.mouse("Parser::parse", False)
told = page.run("[...document.querySelectorAll('g.ui text')].map(t => t.textContent).join('|')")
check("+650" in told, "growth has its sign: %s" % told)

# The call graph: bright and dark, and text that can be read on every box.
BRIGHTNESS = """(e => { const [r, g, b] = getComputedStyle(e).fill.match(/\\d+/g);
    return 0.3 * r + 0.6 * g + 0.1 * b; })"""
for dark in (False, True):
    page = Page("graph.svg", dark=dark)
    ground = page.run(BRIGHTNESS + "(document.querySelector('.graph > polygon'))")
    check(ground < 40 if dark else ground > 240, "the graph's ground is %s" % ground)
    contrasts = page.run("[...document.querySelectorAll('.node')].map(n => Math.abs(%s(n.querySelector("
                         "'path, polygon')) - %s(n.querySelector('text'))))" % (BRIGHTNESS, BRIGHTNESS))
    check(len(contrasts) >= 5 and min(contrasts) > 100, "text on boxes: %s" % contrasts)
    colors = page.run("new Set([...document.querySelectorAll('.node path')].map(p => getComputedStyle(p).fill)).size")
    check(colors >= 3, "boxes are of %s colours" % colors)

page = Page("page.html")
page.wait("document.getElementById('i').complete", "an <img> loads it")
check(page.run("document.getElementById('i').naturalWidth") == 1200, "an <img> shows it")

finish()
END
browse "the flame graph does not work"
finish
