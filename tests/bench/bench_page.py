#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How fast the web page shows a fleet of 10,000 hosts, beside an empty page of the same size in the same run.

bench_page.py BUILD [--nodes N] [--runs N] [--pan-s S] [--heap-min M] [--every S] [--page DIR] [--beside DIR]
              [--trace DIR] [--only heap]

A controller made up (tests/system/page_fake.py, in a process of its own) serves --page (page/ of the source tree, whatever BUILD) to a
Chromium without a window. The empty page is this: the same index.html, styles and files, each module turned into a comment of
itself, so that as many bytes come in as many files and nothing of them is compiled; app.js then asks for /v1/self, /v1/fleet and
/v1/changes as the page does, reads the bytes and makes nothing of them, and lays a blank canvas of the same size into a box of the same height.

* First map: from the navigation to the moment at which the frame with the drawn canvas is shown (DevTools' trace:
  AnimationFrame::Presentation), the processor throttled to a quarter, nothing in the browser's cache, the pages in turn, --runs times each: medians.
* A frame: the reader pans up and down for --pan-s seconds while each second 500 hosts change (the controller answers held calls once a second).
  Script of a frame is what DevTools' trace has of it between two begins of frames of the main thread, garbage collection included:
  95th and 99th percentile and the longest, by the clock (`ms`) and by what the thread ran (`cpu_ms`, which a busy machine does not lengthen).
* Heap: JSHeapUsedSize after --heap-min minutes of such changes, as it stands and once it was collected; 0 leaves it out. With --every 0.1 the
  600 answers of ten minutes come in one. Before it ends, each minute as it stands too (standard error has it at once), and how many changes a
  second the page took in: a busy machine may reach fewer. --only heap measures this and nothing else, of the page and of an empty one, each
  in a browser of its own at the same time, so that both see the same minutes; their first maps are not timed.

--beside DIR measures another page/ in the same turns, the one before a change for example.

Prints one line of JSON: figures, ratios, and what section 1 of the page's budgets asks for (8 ms, 1,500 ms, 80 MB). Times decide nothing:
exit status 1 only when a page did not come.
"""
import argparse
import gzip
import json
import multiprocessing
import pathlib
import random
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/system"))
import browser  # noqa: E402
import page_fake  # noqa: E402

THROTTLE, CHANGES = 4, 500
AIMS = {"script_p95_ms": 8, "first_map_ms": 1500, "heap_mb": 80}
PAN_PX, PAN_PX_S = 3000, 1500
READY_S = 60
# What the main thread does for scripts; a nested one counts once, with the outermost.
SCRIPT = {"FunctionCall", "EvaluateScript", "FireAnimationFrame", "EventDispatch", "TimerFire", "RunMicrotasks", "v8.compile", "v8.compileModule", "v8.evaluateModule",
          "MinorGC", "MajorGC", "V8.GCScavenger", "FireIdleCallback", "HandlePostMessage"}
CATEGORIES = ["devtools.timeline", "blink.user_timing"]
# Marks when the first canvas of a map is drawn.
WATCH = """
const clear = CanvasRenderingContext2D.prototype.clearRect;
CanvasRenderingContext2D.prototype.clearRect = function (...a) {
    CanvasRenderingContext2D.prototype.clearRect = clear;
    performance.mark('drawn');
    return clear.apply(this, a);
};"""
# Until that mark is there, of before too.
DRAWN = """
const done = arguments[arguments.length - 1];
new PerformanceObserver((marks, self) => {
    if (marks.getEntriesByName('drawn').length) {
        self.disconnect();
        done();
    }
}).observe({type: 'mark', buffered: true});"""
# Some frames later the trace has that one as shown.
FRAMES = """
const done = arguments[arguments.length - 1];
let left = 5;
const next = () => left-- > 0 ? requestAnimationFrame(next) : done();
next();"""
# Nothing is left to do.
IDLE = """
const done = arguments[arguments.length - 1];
let left = 3;
const next = () => left-- > 0 ? requestIdleCallback(next) : done();
next();"""
EMPTY = """
const ask = (path) => fetch(path, {headers: {Accept: 'application/json'}, cache: 'no-store'}).then((answer) => answer.arrayBuffer());
const said = ask('/v1/fleet');
await ask('/v1/self');
await said;
const box = document.createElement('div'), canvas = document.createElement('canvas');
box.setAttribute('role', 'grid');
box.style.cssText = 'position: relative; margin-top: %(top)dpx; height: %(height)dpx';
canvas.width = %(width)d;
canvas.height = %(canvas)d;
canvas.getContext('2d').clearRect(0, 0, canvas.width, canvas.height);
box.append(canvas);
document.getElementById('app').replaceChildren(box);
for (;;)
    await ask('/v1/changes?since=c1-1&wait=5');
"""


def fleet_of(nodes, seed=1):
    """Of a hundred hosts one fails, two warn, one does not answer, half a host is cordoned."""
    chance, fleet = random.Random(seed), page_fake.Fleet(nodes, names=["gpu-%05d" % i for i in range(nodes)])
    for i in range(nodes):
        draw = chance.random()
        if draw < 0.01:
            fleet.put(i, "PCIe switch 0000:46:00.0 uplink: 26.9 of 50.1 GB/s, seen on 28 paths", verdict=3, life=1, incidents=1)
        elif draw < 0.03:
            fleet.put(i, "gpu 3 at 96 % of its peers", verdict=2, life=1)
        elif draw < 0.04:
            fleet.put(i, verdict=0, stale=1, connection=2)
        elif draw < 0.045:
            fleet.put(i, "gpu 5: uncorrectable ECC", verdict=3, life=3, service=1, incidents=1)
    return fleet


class Server(page_fake.Fake):
    """Files packed as the controller has them, the whole fleet encoded once, and 500 hosts that change each second for whoever waits."""

    def __init__(self, nodes, page, every_s, empty, told):
        self.every_s, self.told = every_s, told
        self.page, self.empty, self.nodes, self.chance, self.packed, self.lock = page, empty, nodes, random.Random(2), {}, threading.Lock()
        super().__init__(fleet_of(nodes))
        self.whole = gzip.compress(json.dumps(self.fleet.answer()).encode(), 6, mtime=0)

    def pack(self, call, data, kind, **more):
        call.answer(200, data, kind, Content_Encoding="gzip", **more)

    def file(self, call, path):
        if path == "/":
            html = (self.page / "index.html").read_text().replace("@VERSION@", "V")
            self.pack(call, gzip.compress(html.encode()), "text/html; charset=utf-8", Content_Security_Policy=page_fake.policy(html).replace("style-src 'self'", "style-src 'self' 'unsafe-inline'"))
            return
        found = self.page / path.removeprefix("/V/")
        if not path.startswith("/V/") or not found.is_file():
            call.answer(404, b"", "text/plain")
            return
        with self.lock:
            if path not in self.packed:
                self.packed[path] = gzip.compress(self.text(found))
        self.pack(call, self.packed[path], page_fake.TYPES.get(found.suffix, "text/plain"), Cache_Control="max-age=31536000, immutable")

    def text(self, found):
        text = found.read_bytes()
        if self.empty is None or found.suffix not in (".js", ".mjs"):
            return text
        code = (EMPTY % self.empty).encode() if found.name == "app.js" else b""
        return b"/*" + text.replace(b"*/", b"* ")[: max(0, len(text) - len(code))] + b"*/" + code

    def serve(self, call):
        path = call.path.split("?")[0]
        if path == "/v1/fleet":
            self.pack(call, self.whole, "application/json")
        elif path == "/v1/changes":
            self.pack(call, self.changes(), "application/json")
        else:
            super().serve(call)

    def changes(self):
        threading.Event().wait(self.every_s - time.time() % self.every_s)
        ids = self.chance.sample(range(self.nodes), CHANGES)
        for i in ids:
            self.fleet.said[i]["verdict"] = 0 if self.fleet.said[i].get("verdict") else self.chance.choice([0, 0, 0, 2, 3])
            self.fleet.sentences[i] = "gpu 1 at 95 % of its peers"
        self.fleet.version += 1
        body = self.fleet.answer(self.fleet.version)  # none of them changed since: the columns are set below
        body["nodes"] = {"names": [self.fleet.names[i] for i in ids], **{c: [self.fleet.said[i].get(c, 0) for i in ids] for c in page_fake.COLUMNS}}
        with self.told.get_lock():
            self.told.value += CHANGES
        return gzip.compress(json.dumps(body).encode(), 1)


def serve(answers, *what):
    server = Server(*what)
    answers.put(server.address)
    threading.Event().wait()


class Site:
    """A server in a process of its own."""

    def __init__(self, options, page, empty=None):
        answers, self.told = multiprocessing.Queue(), multiprocessing.Value("q", 0)  # changes answered so far
        self.process = multiprocessing.Process(target=serve, args=(answers, options.nodes, page, options.every, empty, self.told), daemon=True)
        self.process.start()
        self.address = answers.get(timeout=READY_S)

    def stop(self):
        self.process.terminate()
        self.process.join()


class Tracing:
    """DevTools' trace of a browser, over a connection of its own: its driver has no word for it."""

    def __init__(self, address):
        import wsproto
        from wsproto.events import AcceptConnection, Request
        with urllib.request.urlopen(f"http://{address}/json/version", timeout=READY_S) as answer:
            target = json.load(answer)["webSocketDebuggerUrl"].split(address)[1]
        host, port = address.split(":")
        self.connection, self.socket = wsproto.WSConnection(wsproto.ConnectionType.CLIENT), socket.create_connection((host, int(port)), READY_S)
        self.socket.sendall(self.connection.send(Request(host=address, target=target)))
        if not any(isinstance(event, AcceptConnection) for event in self.hear()):
            sys.exit("bench_page: the browser takes no connection for its trace")

    def hear(self):
        self.connection.receive_data(self.socket.recv(1 << 20))
        return list(self.connection.events())

    def say(self, method, **params):
        from wsproto.events import TextMessage
        self.socket.sendall(self.connection.send(TextMessage(json.dumps({"id": 1, "method": method, "params": params}))))

    def messages(self):
        from wsproto.events import TextMessage
        text = ""
        while True:
            for event in self.hear():
                if isinstance(event, TextMessage):
                    text += event.data
                    if event.message_finished:
                        yield json.loads(text)
                        text = ""

    def start(self):
        self.say("Tracing.start", transferMode="ReportEvents", traceConfig={"includedCategories": CATEGORIES})
        next(m for m in self.messages() if m.get("id") == 1)

    def end(self):
        """The events since the start."""
        events = []
        self.say("Tracing.end")
        for message in self.messages():
            events += message["params"]["value"] if message.get("method") == "Tracing.dataCollected" else []
            if message.get("method") == "Tracing.tracingComplete":
                return events


class Eye:
    """A Chromium whose trace is read."""

    def __init__(self, where, traces):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        self.traces = traces
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for word in (*browser.OPTIONS, f"--user-data-dir={where / 'chromium'}"):
            options.add_argument(word)
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.set_page_load_timeout(READY_S)
        self.driver.set_script_timeout(READY_S)
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        self.tracing = Tracing(self.driver.capabilities["goog:chromeOptions"]["debuggerAddress"])

    def cdp(self, name, **more):
        return self.driver.execute_cdp_cmd(name, more)

    def script(self, text):
        return self.driver.execute_script(text)

    def open(self, address, throttle=1):
        """Until its map is drawn, from nothing in the cache."""
        from selenium.common.exceptions import TimeoutException
        self.driver.get("about:blank")
        self.cdp("Network.clearBrowserCache")
        self.cdp("Emulation.setCPUThrottlingRate", rate=throttle)
        self.driver.get(address)
        try:
            self.driver.execute_async_script(DRAWN)
        except TimeoutException:
            sys.exit(f"bench_page: no map came from {address}: {self.script('return document.body.innerText')[:500]!r}")
        self.driver.execute_async_script(FRAMES)  # the trace alone has when it is shown, and is read when it has ended
        self.cdp("Emulation.setCPUThrottlingRate", rate=1)

    def first_map_ms(self, address, name):
        self.tracing.start()
        self.open(address, THROTTLE)
        return shown_ms(self.trace(name))

    def trace(self, name):
        """Events since tracing.start()."""
        events = self.tracing.end()
        if self.traces:
            (self.traces / f"{name}.json").write_text(json.dumps({"traceEvents": events}))
        return events

    def pan(self, seconds):
        """Up and down over the map, as a wheel does."""
        end, down = time.monotonic() + seconds, True
        self.script("performance.mark('pan begins')")
        while time.monotonic() < end:
            self.cdp("Input.synthesizeScrollGesture", x=500, y=600, yDistance=-PAN_PX if down else PAN_PX, speed=PAN_PX_S)
            down = not down
        self.script("performance.mark('pan ends')")

    def heap_mb(self):
        self.cdp("Performance.enable")
        return next(m["value"] for m in self.cdp("Performance.getMetrics")["metrics"] if m["name"] == "JSHeapUsedSize") / 1e6

    def close(self):
        self.driver.quit()


def marked(events, name):
    return next(e for e in events if e["name"] == name)


def shown_ms(events):
    """From the navigation until the frame is shown in which the map was drawn."""
    drawn = marked(events, "drawn")
    own = sorted((e for e in events if e.get("tid") == drawn["tid"] and e["pid"] == drawn["pid"] and "ts" in e), key=lambda e: e["ts"])
    began = [e["ts"] for e in own if e["name"] == "navigationStart" and e["args"]["data"]["documentLoaderURL"].startswith("http") and e["ts"] < drawn["ts"]][-1]
    frame = [e for e in own if e["name"] == "AnimationFrame" and e["ph"] == "b" and e["ts"] < drawn["ts"]][-1]["args"]["id"]
    shown = next(e["ts"] for e in own if e["name"] == "AnimationFrame::Presentation" and e["args"]["id"] == frame)
    return (shown - began) / 1e3


def frames(events):
    """Of each frame, what scripts took: by the clock and by the thread, milliseconds."""
    first, last = marked(events, "pan begins"), marked(events, "pan ends")
    own = [e for e in events if (e["pid"], e["tid"]) == (first["pid"], first["tid"]) and first["ts"] <= e["ts"] < last["ts"]]
    begins = sorted(e["ts"] for e in own if e["name"] == "AnimationFrame" and e["ph"] == "b")
    script = sorted((e for e in own if e["ph"] == "X" and e["name"] in SCRIPT and e.get("dur")), key=lambda e: (e["ts"], -e["dur"]))
    out, end, at = [[0.0, 0.0] for _ in begins], 0, 0
    for e in script:
        if e["ts"] < end:
            continue  # within another
        end = e["ts"] + e["dur"]
        while at + 1 < len(begins) and begins[at + 1] <= e["ts"]:
            at += 1
        if begins and e["ts"] >= begins[0]:
            out[at][0] += e["dur"] / 1e3
            out[at][1] += e.get("tdur", e["dur"]) / 1e3
    return out[:-1]


def shares(values):
    values = sorted(values)
    return {"p50": round(values[len(values) // 2], 2), "p95": round(values[int(len(values) * 0.95)], 2), "p99": round(values[int(len(values) * 0.99)], 2), "max": round(values[-1], 2)}


def panned(eye, site, options, name):
    eye.open(site.address)
    eye.driver.execute_async_script(IDLE)
    eye.tracing.start()
    began = time.monotonic()
    eye.pan(options.pan_s)
    took, found = time.monotonic() - began, frames(eye.trace(name))
    if not found:
        sys.exit("bench_page: the trace has no frame of the main thread")
    return {"frames_a_second": round(len(found) / took, 1), "ms": shares([f[0] for f in found]), "cpu_ms": shares([f[1] for f in found])}


def size_of(eye, site):
    """As many pixels of canvas, and a box as high, as the page has."""
    eye.open(site.address)
    eye.driver.execute_async_script(IDLE)
    found = eye.script("const c = [...document.querySelectorAll('[role=grid] canvas')], b = document.querySelector('[role=grid]').getBoundingClientRect();"
                       "return [b.top + scrollY, b.height, c[0].width, c.reduce((n, x) => n + x.height, 0)]")
    return dict(zip(("top", "height", "width", "canvas"), (int(v) for v in found)))


def heap(eye, site, minutes, name):
    eye.open(site.address)
    began, told, each = time.monotonic(), site.told.value, []
    end = began + minutes * 60
    while time.monotonic() < end:
        eye.cdp("Input.synthesizeScrollGesture", x=500, y=600, yDistance=-600, speed=PAN_PX_S)
        eye.cdp("Input.synthesizeScrollGesture", x=500, y=600, yDistance=600, speed=PAN_PX_S)
        time.sleep(5)
        if time.monotonic() >= began + 60 * (len(each) + 1):
            each.append(round(eye.heap_mb(), 1))
            print(f"bench_page: minute {len(each)}: heap of the {name} {each[-1]} MB", file=sys.stderr, flush=True)
    stands, reached = eye.heap_mb(), (site.told.value - told) / (time.monotonic() - began)
    eye.cdp("HeapProfiler.collectGarbage")
    return {"stands": round(stands, 1), "collected": round(eye.heap_mb(), 1), "each_minute": each, "changes_a_second": round(reached)}


def first_maps(eye, sites, runs):
    times = {name: [] for name in sites}
    for _ in range(runs):
        for name, site in sites.items():
            times[name].append(eye.first_map_ms(site.address, f"first-{name}"))
    out = {name: round(statistics.median(kept)) for name, kept in times.items()}
    return out | {"ratio": round(out["page"] / out["empty"], 2), "all": {name: [round(v) for v in kept] for name, kept in times.items()}}


def heaps(where, options):
    """Of the page and of an empty one, in browsers of their own, through the same minutes."""
    found, eyes, sites = {}, {"page": Eye(where / "page", None)}, {"page": Site(options, options.page)}
    try:
        sites["empty"], eyes["empty"] = Site(options, options.page, size_of(eyes["page"], sites["page"])), Eye(where / "empty", None)

        def look(name):
            found[name] = heap(eyes[name], sites[name], options.heap_min, name)

        threads = [threading.Thread(target=look, args=(name,)) for name in sites]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if set(found) != set(sites):
            sys.exit("bench_page: not both heaps were measured")
        return {"nodes": options.nodes, "aims": AIMS, "heap_mb": compared(found, options)}
    finally:
        for part in eyes.values():
            part.close()
        for part in sites.values():
            part.stop()


def compared(found, options):
    return found | {"minutes": options.heap_min, "every_s": options.every, **{f"ratio_{key}": round(found["page"][key] / found["empty"][key], 1) for key in ("stands", "collected")}}


def measure(where, options):
    if options.only == "heap":
        return heaps(where, options)
    eye, sites = Eye(where, options.trace), {"page": Site(options, options.page)}
    sites["empty"] = Site(options, options.page, size_of(eye, sites["page"]))
    if options.beside:
        sites["beside"] = Site(options, options.beside)
    out = {"nodes": options.nodes, "aims": AIMS}
    try:
        if options.runs:
            out["first_map_ms"] = first_maps(eye, sites, options.runs)
        if options.pan_s:
            found = {name: panned(eye, site, options, f"pan-{name}") for name, site in sites.items()}
            out["script_a_frame"] = found | {"ratio_p95": round(found["page"]["ms"]["p95"] / max(found["empty"]["ms"]["p95"], 0.01), 1)}
        if options.heap_min:
            out["heap_mb"] = compared({name: heap(eye, site, options.heap_min, name) for name, site in sites.items()}, options)
        return out
    finally:
        eye.close()
        for site in sites.values():
            site.stop()


def main():
    parser = argparse.ArgumentParser(prog="bench_page", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pan-s", type=float, default=20)
    parser.add_argument("--heap-min", type=float, default=10)
    parser.add_argument("--every", type=float, default=1)
    parser.add_argument("--beside", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path, default=TOP / "page")
    parser.add_argument("--trace", type=pathlib.Path)
    parser.add_argument("--only", choices=["heap"])
    options = parser.parse_args()
    why = browser.why_no_browser()
    if why:
        print(json.dumps({"skipped": why}))
        return 0
    with tempfile.TemporaryDirectory(prefix="bench-page.", ignore_cleanup_errors=True) as where:
        print(json.dumps(measure(pathlib.Path(where), options)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
