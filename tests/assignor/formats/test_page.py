"""The frame that all pages of one file have."""

import base64
import gzip
import hashlib
import re

import pytest

from streams_assignor.formats.page import SHARED, bundle, gzip_block, json_block, page_parts
from tests.spark_sim.audit.made_up_groups import HOSTILE

SCRIPT = 'import { el, fill } from "./dom.mjs";\nimport { traceView } from "./trace.mjs";\nfill(el("p", "x"));\n'


def made(**changed):
    texts = {"heading": "h", "lead": "l", "origin": "o"} | changed
    return "".join(page_parts("Title", SCRIPT, [json_block("data", {"a": HOSTILE})], **texts))


def test_its_policy_has_the_digests_of_its_only_script_and_its_styles():
    page = made()
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    for kind, tag in (("script", 'script type="module"'), ("style", "style")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

        assert f"{kind}-src &#x27;sha256-{digest}&#x27;" in policy
    assert policy.startswith("default-src &#x27;none&#x27;")
    assert "unsafe" not in policy


def test_a_module_stands_once_and_before_those_that_import_it():
    text = bundle(SCRIPT)
    places = [text.index(line) for line in ("export const el", "export function traceView", 'fill(el("p"')]

    assert sorted(places) == places
    assert 1 == text.count("export const el")
    assert not re.search("^import", text, re.MULTILINE)


@pytest.mark.parametrize("path", sorted(SHARED.glob("*.mjs")), ids=lambda path: path.name)
def test_no_module_makes_markup_of_text_or_styles_elements_with_attributes(path):
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\bstyle: ", path.read_text("utf-8"))


@pytest.mark.parametrize("name", ["heading", "lead", "origin"])
def test_no_text_becomes_markup(name):
    assert made().count("<") == made(**{name: HOSTILE}).count("<")


def test_a_value_cannot_end_its_element():
    assert 1 == json_block("data", {HOSTILE: [HOSTILE]}).count("</script>")


def test_packed_texts_are_one():
    text = gzip_block('class="block"', ["a", "<b>"])

    assert "a<b>" == gzip.decompress(base64.b64decode(re.sub("<.*?>", "", text))).decode()


def test_a_dollar_in_what_a_page_has_is_a_dollar():
    assert "<h1>$title ${policy} $$</h1>" in made(heading="$title ${policy} $$")
