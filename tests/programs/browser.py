# SPDX-License-Identifier: MIT
# helper: a browser, driven through a pipe in its own protocol. Import it, make a Page, ask; then
# call finish(). Nothing is waited for by the clock: wait() asks until something holds.
import json
import os
import subprocess
import sys
import tempfile
import time

to_browser, ours_out = os.pipe()
ours_in, from_browser = os.pipe()
# The browser's own files: sockets are among them, whose paths must be short.
own = tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True)
failures = 0
number = 0
complaints = []  # what the browser had to say against pages


def plumb():
    # Through high numbers, so that no end is overwritten before it is used.
    for old, high in ((to_browser, 103), (from_browser, 104)):
        os.dup2(old, high)
    os.dup2(103, 3)
    os.dup2(104, 4)


browser = subprocess.Popen(
    ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
     "--no-first-run", "--disable-background-networking", "--disable-component-update",
     "--disable-sync", "--remote-debugging-pipe", "--user-data-dir=" + own.name + "/user",
     "--window-size=1216,700"],
    env={**os.environ, "TMPDIR": own.name}, preexec_fn=plumb, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
os.close(to_browser)
os.close(from_browser)
reader = os.fdopen(ours_in, "rb")


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
        if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
            complaints.append(json.dumps(answer["params"]))
        if answer.get("id") == number:
            if "error" in answer:
                raise RuntimeError(str(answer["error"]))
            return answer["result"]


class Page:
    def __init__(self, name, scripts=True, width=1216, dark=False):
        target = call("Target.createTarget", url="about:blank")["targetId"]
        self.session = call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            call(domain + ".enable", self.session)
        call("Emulation.setDeviceMetricsOverride", self.session, width=width, height=700,
             deviceScaleFactor=1, mobile=False)
        call("Emulation.setEmulatedMedia", self.session, features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        call("Emulation.setScriptExecutionDisabled", self.session, value=not scripts)
        call("Page.navigate", self.session, url="file://" + os.path.abspath(name))
        self.wait("location.protocol + document.readyState == 'file:complete'", name)

    def run(self, text):
        answer = call("Runtime.evaluate", self.session, expression=text, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, text, what):
        """Until the expression is true; half a minute is for machines that do much else."""
        for _ in range(600):
            if self.run(text):
                return True
            time.sleep(0.05)
        check(False, what)
        return False

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
        self.point(x + width / 2, y + height / 2, click)

    def point(self, x, y, click):
        for kind in ["mouseMoved"] + (["mousePressed", "mouseReleased"] if click else []):
            call("Input.dispatchMouseEvent", self.session, type=kind, x=x, y=y,
                 button="left" if kind != "mouseMoved" else "none", clickCount=1)

    def click(self, selector):
        x, y = self.run("""(() => { const e = document.querySelector(%s);
            e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2]; })()""" % json.dumps(selector))
        self.point(x, y, True)

    def text(self, name):
        return self.run("document.getElementById(%s).textContent" % json.dumps(name))


def check(truth, what):
    global failures
    if not truth:
        print("wrong: " + what)
        failures += 1


def finish():
    check(not complaints, "the browser complains: " + "; ".join(complaints)[:2000])
    call("Browser.close")
    browser.wait(60)
    sys.exit(1 if failures else 0)
