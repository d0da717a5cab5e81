#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A flame graph, opened in a browser: boxes, tooltips, search with the matched share, zoom and the
# way back, keys; as an <img>; and nothing is asked of the network. The browser is driven through a
# pipe, in its own protocol.
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
echo '<!DOCTYPE html><img id="i" src="flame.svg">' >page.html
[ "$failures" -eq 0 ] || finish

cat >drive.py <<'END'
import json, os, subprocess, sys, time

to_browser, ours_out = os.pipe()
ours_in, from_browser = os.pipe()


def plumb():
    # Through high numbers, so that no end is overwritten before it is used.
    for old, high in ((to_browser, 103), (from_browser, 104)):
        os.dup2(old, high)
    os.dup2(103, 3)
    os.dup2(104, 4)


browser = subprocess.Popen(
    ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
     "--no-first-run", "--remote-debugging-pipe", "--user-data-dir=" + os.path.abspath("user"),
     "--window-size=1216,700"],
    preexec_fn=plumb, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
os.close(to_browser)
os.close(from_browser)
reader, number, failures = os.fdopen(ours_in, "rb"), 0, 0


def receive():
    message = b""
    while not message.endswith(b"\0"):
        byte = reader.read1(1)
        if not byte:
            print("the browser has gone")
            sys.exit(77)
        message += byte
    return json.loads(message[:-1])


def call(method, session=None, **parameters):
    global number
    number += 1
    message = {"id": number, "method": method, "params": parameters}
    if session:
        message["sessionId"] = session
    os.write(ours_out, json.dumps(message).encode() + b"\0")
    while True:
        answer = receive()
        if answer.get("id") == number:
            if "error" in answer:
                raise RuntimeError(str(answer["error"]))
            return answer["result"]


class Page:
    def __init__(self, name):
        target = call("Target.createTarget", url="file://" + os.path.abspath(name))["targetId"]
        self.session = call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for _ in range(100):
            if self.run("location.protocol + document.readyState") == "file:complete":
                break
            time.sleep(0.05)

    def run(self, text):
        answer = call("Runtime.evaluate", self.session, expression=text, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def key(self, key, text=None):
        event = {"key": key, "code": key}
        if key == "Escape":
            event["windowsVirtualKeyCode"] = 27
        if key == "Enter":
            event["windowsVirtualKeyCode"] = 13
        if text:
            event["text"] = text
        call("Input.dispatchKeyEvent", self.session, type="keyDown", **event)
        call("Input.dispatchKeyEvent", self.session, type="keyUp", key=key, code=key)

    def type(self, text):
        call("Input.insertText", self.session, text=text)

    def box(self, label):
        """The rectangle of the box with such a text, in pixels of the window."""
        return self.run("""(() => { for (const g of document.querySelectorAll("#boxes g")) {
            const t = g.querySelector("text");
            if (t && t.textContent.includes(%s)) { const r = g.querySelector("rect")
                .getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; } }
            return null; })()""" % json.dumps(label))

    def mouse(self, label, click):
        x, y, width, height = self.box(label)
        kinds = ["mouseMoved"] + (["mousePressed", "mouseReleased"] if click else [])
        for kind in kinds:
            call("Input.dispatchMouseEvent", self.session, type=kind, x=x + width / 2,
                 y=y + height / 2, button="left" if kind != "mouseMoved" else "none", clickCount=1)

    def text(self, name):
        return self.run("document.getElementById(%s).textContent" % json.dumps(name))

    def all_text(self):
        return self.run("document.documentElement.textContent")


def check(truth, what):
    global failures
    if not truth:
        print("wrong: " + what)
        failures += 1


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

page = Page("page.html")
for _ in range(100):
    if page.run("document.getElementById('i').complete"):
        break
    time.sleep(0.05)
check(page.run("document.getElementById('i').naturalWidth") == 1200, "an <img> shows it")

call("Browser.close")
browser.wait(20)
sys.exit(1 if failures else 0)
END
python3 drive.py
case $? in
0) ;;
77) skip "the browser does not start" ;;
*) fail "the flame graph does not work" ;;
esac
finish
