"""How the page behaves: screen readers, keyboard, widths, colours, and without a network."""

import io
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest

from streams_assignor.web.build import write_site
from streams_assignor.web.server import site_server
from tests.assignor.web.conftest import Page
from tests.assignor.web.packages import AXE, fetched
from tests.assignor.web.test_page import BUG, SEGMENTS
from tests.browser import open_browser

pytestmark = pytest.mark.slow

VIEWS = {
    "upgrade": "#upgrade?from=2.8&to=4.3",
    "matrix": "#matrix",
    "replay": f"#replay?scenario={quote(BUG)}",
    "userdata": "#userdata?bytes=000000010000000000000000",
    "audit": "#audit",
}
WIDTHS = (390, 768, 1400)


@pytest.fixture(scope="module")
def axe():
    with tarfile.open(fileobj=io.BytesIO(fetched(AXE))) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def shown(page, view):
    """Open a view with a result."""
    page.open(VIEWS[view])
    if view == "audit":
        page.choose_folder("audit", SEGMENTS)
        page.until(lambda: page.all(".chosen li"))
        page.submit("audit").wait("audit")
        page.one(".group summary").click()
        page.until(lambda: page.all(".group table"))
    page.wait(view)
    for each in page.all(f"#{view} .result summary")[:3]:
        if each.is_displayed():
            page.browser.execute_script("arguments[0].parentElement.open = true", each)
    return page


def resize(page, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def colours(page, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_no_violation_in_any_width_and_colour(page, axe, view):
    shown(page, view)
    page.browser.execute_script(axe)
    found = {}
    for scheme in ("light", "dark"):
        for width in WIDTHS:
            colours(page, scheme)
            resize(page, width)
            result = page.browser.execute_async_script(
                "const done = arguments[0]; axe.run().then((found) => done(found.violations.map("
                "(each) => [each.id, each.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))])))"
            )
            found |= {(scheme, width): result} if result else {}

    assert {} == found


@pytest.mark.parametrize("view", VIEWS)
def test_the_window_never_scrolls_sideways(page, view):
    shown(page, view)
    found = {}
    for width in (390, 500, 768, 1024, 1400):
        resize(page, width)
        found[width] = page.browser.execute_script("return document.documentElement.scrollWidth")

    assert {} == {width: needed for width, needed in found.items() if needed > width}


def test_a_plan_is_made_with_the_keyboard_alone(page):
    page.open()
    page.until(lambda: page.one("#releases option").get_attribute("value"))
    body = page.one("body")
    reached = []
    for _ in range(30):
        body.send_keys("\ue004")  # Tab
        active = page.browser.switch_to.active_element
        reached.append(active.get_attribute("name") or active.text or active.get_attribute("type"))
        if reached[-1] == "from":
            active.send_keys("2.8")
        if reached[-1] == "to":
            active.send_keys("4.3\ue007")  # Enter
            break
        body = active
    page.wait("upgrade")

    assert ["Upgrade", "Matrix", "Replay", "Decode", "Audit", "Try a sample application", "from", "to"] == reached
    assert page.text("upgrade").startswith("2.8.2 to 4.3.1")


def test_loading_is_shown_in_steps_and_the_page_answers_meanwhile(page):
    page.browser.get("about:blank")
    page.browser.get(f"{page.origin}/#upgrade?from=2.8&to=4.3")
    steps = []
    while page.one("#upgrade").get_attribute("data-state") != "done":
        text = page.one("#step").text
        steps += [text] if text and text not in steps[-1:] else []
    page.wait("upgrade")

    assert any(each.startswith("loading Python (1 of 3)") for each in steps)
    assert "status" == page.one("#step").get_attribute("role")


def test_without_the_server_it_says_what_is_missing(files):
    broken = {name: content for name, content in files.items() if name != "python.tar.xz"}
    with site_server(broken) as server, open_browser() as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = Page(browser, f"http://127.0.0.1:{server.server_port}").open("#upgrade?from=2.8&to=4.3")
        page.wait("upgrade", "failed")
        server.shutdown()

        assert "expected ./python.tar.xz from the server of this page, got status 404" in page.text("upgrade")


def test_any_web_server_may_serve_the_archive_of_a_release_below_any_path(files, tmp_path):
    write_site(files, tmp_path / "page.zip")
    with zipfile.ZipFile(tmp_path / "page.zip") as archive:
        archive.extractall(tmp_path / "docs" / "page")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, open_browser() as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = Page(browser, f"http://127.0.0.1:{server.server_port}/docs/page").open("#upgrade?from=2.8&to=4.3")
        page.wait("upgrade")
        server.shutdown()

        assert page.text("upgrade").startswith("2.8.2 to 4.3.1")


def test_after_the_first_visit_it_works_without_a_network(files):
    with open_browser() as browser:
        with site_server(files) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            # A name of its own: on 127.0.0.1 nothing is kept.
            page = Page(browser, f"http://page.localhost:{server.server_port}").open("#upgrade?from=2.8&to=4.3")
            page.wait("upgrade")
            active = "return navigator.serviceWorker.getRegistration().then((found) => Boolean(found?.active))"
            page.until(lambda: browser.execute_script(active))
            server.shutdown()
        page.open("#upgrade?from=3.9&to=4.3").wait("upgrade")

        assert page.text("upgrade").startswith("3.9.2 to 4.3.1: safe")
        kept = browser.execute_async_script(
            "const done = arguments[0]; (async () => { const found = []; for (const name of await caches.keys()) "
            "for (const { url } of await (await caches.open(name)).keys()) found.push(new URL(url).pathname.slice(1));"
            "return found; })().then(done)"
        )
        assert {"", *files} - {"sw.js", "site.json"} == set(kept)


def test_on_loopback_nothing_is_kept(page):
    page.open("#upgrade?from=2.8&to=4.3").wait("upgrade")
    page.until(lambda: page.one("#releases option").get_attribute("value"))

    assert 0 == page.browser.execute_script(
        "return navigator.serviceWorker.getRegistrations().then((all) => all.length)"
    )
