"""The page and files: nothing leaves the browser, nothing stays in it, and no name in a file is a script."""

import gzip
import json
import urllib.request
from urllib.parse import quote, urlsplit

import pytest

from streams_assignor.web.build import CONTENT_SECURITY_POLICY
from tests.assignor.groups.history.histories import alone, commit, generation
from tests.assignor.groups.history.segments import batch
from tests.assignor.web.conftest import Page, recording
from tests.browser import open_browser
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_archive import jar

pytestmark = pytest.mark.slow

SECRET = "Rhubarb7Zebra"
MARKUP = '"><img src=x onerror="hacked=1"><script>hacked=2<\\script>'
"""As the name of a file it has no slash."""
TOPOLOGY = f"""Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [{SECRET}])
      --> KSTREAM-SINK-0000000001
    Sink: KSTREAM-SINK-0000000001 (topic: {SECRET}-out)
      <-- KSTREAM-SOURCE-0000000000
"""
LEFT = """
const done = arguments[0];
(async () => {
  const kept = [];
  for (const name of await caches.keys())
    for (const { url } of await (await caches.open(name)).keys()) kept.push(url);
  const root = await navigator.storage.getDirectory();
  for await (const name of root.keys()) kept.push(name);
  return {
    cookies: document.cookie, local: localStorage.length, session: sessionStorage.length,
    databases: (await indexedDB.databases()).length, kept, hacked: typeof hacked,
    markup: document.querySelectorAll("img, main script, iframe, object, embed, [onerror]").length,
    address: location.href, history: history.length,
  };
})().then(done, (error) => done(String(error)));
"""
NOTHING = {"cookies": "", "local": 0, "session": 0, "databases": 0, "kept": [], "hacked": "undefined", "markup": 0}


def segments(folder, name):
    place = folder / "copied" / "__consumer_offsets-3"
    place.mkdir(parents=True)
    pairs = [generation(number, alone(error=2), group=name) for number in (1, 2)]
    (place / f"{0:020}.log").write_bytes(batch([*pairs, commit(0, group=name)]))
    return folder / "copied"


def dump(path, name):
    pair = generation(1, alone(), group=name)
    line = {"partition": 0, "offset": 1, "timestamp": 5, "key": pair.key.hex(), "value": pair.value.hex()}
    path.write_bytes(gzip.compress(json.dumps(line).encode()))
    return path


def use_every_view(page, folder, text):
    """Use each view with files and input that contain a text, as far as its form allows."""
    (folder / "a.properties").write_text(f"application.id={text}\nssl.key.password={SECRET}\n{text}=1\n")
    (folder / "orders.jar").write_bytes(
        jar({f"{SECRET}.class": ClassBytes(SECRET).bytes(), "B.class": b"org/apache/kafka/"})
    )
    (folder / "topology.txt").write_text(TOPOLOGY)
    page.open("#upgrade?from=2.8&to=4.3").wait("upgrade")
    page.choose("upgrade", folder / "a.properties", folder / "orders.jar", folder / "topology.txt")
    page.submit("upgrade").wait("upgrade")
    yield page
    (folder / "a.properties").write_text(f"{SECRET} \\u00zz")
    page.choose("upgrade", folder / "a.properties")
    page.submit("upgrade").wait("upgrade")
    yield page
    page.open("#audit").choose_folder("audit", segments(folder, text))
    page.until(lambda: page.all("#audit .chosen li"))
    page.submit("audit").wait("audit")
    page.one(".group summary").click()
    yield page
    page.open("#audit").choose("audit", dump(folder / "dump.gz", text))
    page.submit("audit").wait("audit")
    yield page


def sent_for(net_log, origin):
    """The requests of Chromium for a page of an origin and its workers; its own requests have no origin."""
    log = json.loads(net_log.read_text())
    names = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    for event in log["events"]:
        params = event.get("params", {})
        if names[event["type"]] == "URL_REQUEST_START_JOB" and params.get("initiator") == origin:
            yield params["url"]


def test_with_files_only_the_files_of_the_site_are_asked_for(files, tmp_path):
    log = tmp_path / "log.json"
    with recording(files) as recorder, open_browser(proxy=recorder.origin, net_log=log) as browser:
        page = Page(browser, recorder.origin)
        for each in use_every_view(page, tmp_path, SECRET):
            left = each.browser.execute_async_script(LEFT)
            assert NOTHING == {name: left[name] for name in NOTHING}
            assert SECRET not in left["address"]

    own = {f"{recorder.origin}/{name}" for name in ("", *files)}
    needed = {f"{recorder.origin}/{name}" for name in ("python.tar.xz", "worker.mjs", "pyodide/python_stdlib.zip")}
    addresses = set(sent_for(log, recorder.origin))
    assert needed <= addresses <= own
    of_site = [each for each in recorder.asked if each[1].startswith(recorder.origin)]
    assert addresses < {address for _, address, _, _ in of_site} <= own
    assert {("GET", b"")} == {(method, body) for method, _, _, body in of_site}
    assert [] == [each for each in recorder.asked if SECRET in str(each)]
    assert SECRET not in log.read_text()


def test_a_request_elsewhere_would_be_seen_and_the_policy_refuses_it(files, tmp_path):
    """The log is no proof if it cannot see."""
    log, elsewhere = tmp_path / "log.json", "http://elsewhere.example"
    asks = f"const done = arguments[0]; fetch('{elsewhere}/here').then(() => done(), (e) => done(String(e)))"
    with recording(files) as recorder, open_browser(proxy=recorder.origin, net_log=log) as browser:
        browser.get(f"{recorder.origin}/lost")  # an error of the server has the policy, too
        assert "TypeError: Failed to fetch" == browser.execute_async_script(asks)
        browser.get(f"{elsewhere}/here")
        browser.execute_async_script(asks)
        browser.get(f"{recorder.origin}/index.html")
        assert "TypeError: Failed to fetch" == browser.execute_async_script(asks)

    assert [f"{elsewhere}/here"] == [each for each in sent_for(log, elsewhere) if "favicon" not in each]
    assert [] == [each for each in sent_for(log, recorder.origin) if elsewhere in each]


def test_markup_in_files_and_links_is_text(page, tmp_path):
    for each in use_every_view(page, tmp_path, MARKUP):
        left = each.browser.execute_async_script(LEFT)
        assert NOTHING == {name: left[name] for name in NOTHING}
    assert MARKUP[2:10] in page.one("#audit").text
    hostile = tmp_path / f"{MARKUP}.properties"
    hostile.write_text("a=b")
    page.open("#upgrade?from=2.8&to=4.3").wait("upgrade")
    page.choose("upgrade", hostile)
    page.submit("upgrade").wait("upgrade")
    assert MARKUP in page.one(".chosen").text
    for hash_ in (
        f"#upgrade?from={quote(MARKUP)}&to={quote(MARKUP)}&without={quote(MARKUP)}",
        f"#replay?scenario={quote('A@2.0 B@' + MARKUP)}",
        f"#userdata?bytes={quote(MARKUP)}",
        f"#{quote(MARKUP)}",
    ):
        page.open(hash_)
        page.until(lambda: page.one("#releases option").get_attribute("value"))
        page.until(lambda: not page.one("#working").is_displayed())
        left = page.browser.execute_async_script(LEFT)
        assert NOTHING == {name: left[name] for name in NOTHING}


def test_the_worker_has_the_policy_too(files):
    """A worker has the policy of its own response, not that of the page."""
    with recording(files) as recorder, urllib.request.urlopen(f"{recorder.origin}/worker.mjs") as response:
        assert response.headers["Content-Security-Policy"].startswith(CONTENT_SECURITY_POLICY)
        assert "127.0.0.1" == urlsplit(recorder.origin).hostname
