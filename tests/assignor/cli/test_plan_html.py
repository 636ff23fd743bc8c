"""``plan -o html``: the page has what the other forms have, and no text of it is markup."""

import json
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.cli.plan.markdown import plan_page
from tests.assignor.cli.named_plan import named_plan
from tests.spark_sim.audit.made_up_groups import HOSTILE


def run(*arguments):
    return CliRunner().invoke(cli, ["plan", *arguments])


class Page(HTMLParser):
    """The data of a page, and its elements."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, _attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def data(self):
        return next(json.loads(text) for text in self.texts if text.startswith('{"stdout"'))


@pytest.mark.parametrize(
    "arguments",
    [
        ("2.8", "4.3"),
        ("--brokers", "3.9", "4.3", "--kraft"),
        ("4.2", "4.3", "--to-protocol", "streams"),
        ("4.3", "4.3"),
    ],
)
def test_it_has_the_json_and_the_runbook_of_the_same_plan(arguments):
    page = run(*arguments, "-o", "html")
    data = Page(page.stdout).data

    assert 0 == page.exit_code
    assert json.loads(run(*arguments, "--json").stdout) == json.loads(data["stdout"])
    assert run(*arguments, "-o", "markdown").stdout.rstrip() == data["runbook"]
    assert "<title>Upgrade plan · streams-assignor</title>" in page.stdout


def test_no_text_of_a_plan_is_markup():
    """A made-up plan went stale where only the nightly run looked: it had no headline, and the page was refused."""
    plain, hostile = (Page(plan_page(named_plan(name))) for name in ("plain", HOSTILE))

    assert all(json.loads(plain.data["stdout"])[key] for key in ("hazards", "requirements", "steps"))
    assert plain.tags == hostile.tags
