"""The page in a real browser. Its requests go through the server that the test records."""

import json
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from streams_assignor.web import server as site_server
from streams_assignor.web.build import site
from tests.assignor.web.packages import LOCK, fetched
from tests.browser import open_browser


@pytest.fixture(scope="session")
def files():
    """The files of the site, with the real Pyodide."""
    return site(fetched(LOCK))


class Recorder:
    """Serves the site, is the proxy of the browser for everything else, and records what it is asked for."""

    def __init__(self, files):
        self.asked = []
        tags = {name: f'"{number}"' for number, name in enumerate(files)}
        self.server = site_server.QuietServer((site_server.LOOPBACK, 0), partial(self.handler(), files, tags))
        self.origin = f"http://{site_server.LOOPBACK}:{self.server.server_port}"

    def handler(recorder):  # self is the handler within
        class Handler(site_server._Handler):
            def parse_request(self):
                good = super().parse_request()
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) if good else b""
                recorder.asked.append((self.command, self.path, str(getattr(self, "headers", "")), body))
                return good

            def do_GET(self):
                if self.path.startswith(("/", recorder.origin)):
                    super().do_GET()
                else:
                    self.send_error(403)

        return Handler


@contextmanager
def recording(files):
    """Yield a recorder that is asked."""
    recorder = Recorder(files)
    with recorder.server as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield recorder
        server.shutdown()


@pytest.fixture(scope="session")
def recorder(files):
    with recording(files) as recorder:
        yield recorder


class Page:
    """The page of the site, as a person uses it."""

    def __init__(self, browser, origin):
        self.browser, self.origin = browser, origin

    def open(self, hash_=""):
        self.browser.get("about:blank")
        self.browser.get(f"{self.origin}/{hash_}")
        return self

    def go(self, hash_):
        """Follow a link within the page, and wait for what it shows."""
        self.browser.execute_script(
            "for (const each of document.querySelectorAll('main > section')) delete each.dataset.state;"
            "location.hash = arguments[0]",
            hash_,
        )
        return self.wait(hash_.lstrip("#").partition("?")[0])

    def wait(self, view, state="done"):
        self.until(lambda: self.one(f"#{view}").get_attribute("data-state") in {"done", "failed"})
        assert state == self.one(f"#{view}").get_attribute("data-state"), self.text(view)
        return self

    def until(self, condition):
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.browser, 90, poll_frequency=0.05, ignored_exceptions=[StaleElementReferenceException])
        return wait.until(lambda _: condition())

    def one(self, selector):
        return self.browser.find_element("css selector", selector)

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def text(self, view):
        return self.one(f"#{view} .result").text

    def hidden_text(self, selector):
        return self.browser.execute_script("return document.querySelector(arguments[0]).textContent", selector)

    def choose(self, view, *paths: Path):
        """Choose files as with the dialog of the browser."""
        chooser = self.one(f"[data-files={view}] input[type=file]:not([webkitdirectory])")
        chooser.send_keys("\n".join(map(str, paths)))

    def choose_folder(self, view, path: Path):
        self.one(f"[data-files={view}] input[webkitdirectory]").send_keys(str(path))

    def submit(self, view):
        self.browser.execute_script("delete document.getElementById(arguments[0]).dataset.state", view)
        self.one(f"#{view} button.main").click()
        return self

    def changed(self, view, action, state="done"):
        """Do what changes the answer of a view, and wait for the new one."""
        self.browser.execute_script("delete document.getElementById(arguments[0]).dataset.state", view)
        action()
        return self.wait(view, state)

    def json(self, view="upgrade"):
        """The output of the command line, as the page offers it."""
        return json.loads(self.hidden_text(f"#{view} #json pre"))


@pytest.fixture(scope="module")
def browser(recorder):
    with open_browser(proxy=recorder.origin) as browser:
        yield browser


@pytest.fixture
def page(browser, recorder):
    """The page; at the end of a test the browser has nothing to complain about."""
    yield Page(browser, recorder.origin)
    complaints = [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]
    assert [] == complaints
