# SPDX-License-Identifier: Apache-2.0
"""A real headless Chromium for the web page, driven by Debian's python3-selenium, and checked by axe-core.

If something is missing (the browser, its driver, axe-core, Node.js), the test is skipped with the reason.
"""
import base64
import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
FETCH_S = 120
WAIT_S = 60
AXE = "axe-core-4.10.3"
AXE_SHA512 = "Xm7bpRXnDSX2YE2YFfBk2FnF0ep6tmG7xPh8iHee8MIcrgq762Nkce856dYtJYLkuIoYZvGfTs/PbZhideTcEg=="  # published by npm
AXE_MEMBER = "package/axe.min.js"
# The rules of WCAG 2.2 AA, without the best practices of axe's authors.
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-default-browser-check", "--window-size=1440,1010"]
PHONE, DESK = (375, 812), (1440, 1010)


def why_no_browser():
    for program, package in (("chromium", "chromium"), ("chromedriver", "chromium-driver")):
        if not shutil.which(program):
            return f"{program} is missing: Debian's package {package}"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is missing: Debian's package python3-selenium"
    return None


class Browser:
    """One window. The page's Content-Security-Policy does not apply to scripts of tests."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address):
        self.driver.get(address)
        return self

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def all(self, css):
        return self.driver.find_elements("css selector", css)

    def one(self, css, seconds=WAIT_S):
        """Waits for the first element that matches the selector, and returns it."""
        return self.until(lambda: next(iter(self.all(css)), None), f"an element {css}", seconds)

    def text(self, css="body"):
        """The text of the elements; elements that are removed meanwhile are left out."""
        return self.script("return document.querySelector(arguments[0])?.innerText ?? ''", css)

    def until(self, condition, what, seconds=WAIT_S):
        """Poll until true and return that value; at the deadline fail with the text of the page. An element that is redrawn while it is
        read counts as not yet true."""
        from selenium.common.exceptions import StaleElementReferenceException
        deadline = time.monotonic() + seconds
        while True:
            value = None
            with contextlib.suppress(StaleElementReferenceException):
                value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                pytest.fail(f"waited {seconds} s for {what}; the page: {self.text()[:2000]!r}; its log: {self.log()}")
            time.sleep(0.05)

    def press(self, *keys):
        """Sends keys to the focused element."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def press_c(self):
        """Presses c on the page of a host, once its action is available."""
        self.one("main .btn.go")
        self.press("c")

    def log(self):
        """The browser's new log messages since the last call, including violations of the Content-Security-Policy."""
        return [f"{e['level']}: {e['message']}" for e in self.driver.get_log("browser")]

    def scheme(self, name):
        """`light` or `dark`."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name},
                                                                                {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.driver.get_screenshot_as_base64()))

    def axe(self, source):
        """Violations, one line each with the rule and the first element."""
        self.script(source)
        found = self.driver.execute_async_script("""
            const done = arguments[1];
            axe.run(document, {runOnly: arguments[0], resultTypes: ["violations"]}).then(r => done(r.violations), e => done(String(e)));""", AXE_TAGS)
        assert isinstance(found, list), found
        return [f"{v['id']}: {v['help']}: {len(v['nodes'])}, first {v['nodes'][0]['html'][:200]} ({v['nodes'][0]['failureSummary'][:300]})" for v in found]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A Browser for the tests of one file, with a temporary profile."""
    why = why_no_browser()
    if why:
        pytest.skip(why)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    driver.set_page_load_timeout(WAIT_S)
    driver.set_script_timeout(WAIT_S)
    yield Browser(driver)
    driver.quit()


def fetch_axe(where):
    """Returns None, or why it failed. Uses npm; without npm, axe-core has to be copied there by hand."""
    if not shutil.which("npm"):
        return "no npm to fetch it with"
    where.parent.mkdir(parents=True, exist_ok=True)
    work = where.parent / f"fetch-axe.{os.getpid()}"
    work.mkdir()
    try:
        out = subprocess.run(["npm", "pack", "--silent", AXE.replace("-4", "@4")], cwd=work, capture_output=True, text=True, timeout=FETCH_S,
                             stdin=subprocess.DEVNULL)
        if out.returncode:
            return "it cannot be fetched: " + " ".join(out.stderr.split())[-200:]
        packed = (work / f"{AXE}.tgz").read_bytes()
        if base64.b64encode(hashlib.sha512(packed).digest()).decode() != AXE_SHA512:
            return "what was fetched is not what was pinned"
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            (work / "axe").write_bytes(archive.extractfile(AXE_MEMBER).read())
        os.replace(work / "axe", where)
        return None
    except (OSError, KeyError, tarfile.TarError, subprocess.TimeoutExpired) as e:
        return f"it cannot be fetched: {e}"
    finally:
        shutil.rmtree(work, ignore_errors=True)


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core, for Browser.axe(); cached under $ASSAY_CACHE."""
    path = Path(os.environ.get("ASSAY_CACHE") or Path.home() / ".cache/assay") / "tools" / f"{AXE}.js"
    why = None if path.exists() else fetch_axe(path)
    if why:
        pytest.skip(f"axe-core is missing: {why}")
    return path.read_text()


@pytest.fixture(scope="session")
def modules():
    """modules("job_model.js", "return m.pattern(...)", argument): runs a module of the page that needs no DOM, in Node.js."""
    node = shutil.which("node") or shutil.which("nodejs")
    if not node:
        pytest.skip("node is missing: Debian's package nodejs")

    def run(name, body, argument=None):
        text = (f"import * as m from {json.dumps((TOP / 'page' / name).as_uri())};\n"
                "import {readFileSync} from 'node:fs';\nconst x = JSON.parse(readFileSync(0, 'utf8'));\n"
                f"console.log(JSON.stringify((() => {{ {body} }})() ?? null));")
        out = subprocess.run([node, "--input-type=module", "-e", text], input=json.dumps(argument), capture_output=True, text=True, timeout=WAIT_S)
        assert out.returncode == 0, out.stderr
        return json.loads(out.stdout)

    return run
