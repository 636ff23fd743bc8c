"""A roll that is killed at each of its places: before and after each record and command. It continues as one roll."""

import errno
import os
import shutil

import pytest

from streams_assignor.cli.roll import _driver
from streams_assignor.cli.roll._driver import Decided, Interrupts, RollSettings, drive
from streams_assignor.cli.roll._journal_file import JournalFile, has_begun, open_journal
from streams_assignor.cli.roll.commands import CommandResult, CommandTemplate
from streams_assignor.cli.roll.instances import names_of
from streams_assignor.cli.roll.look import look_at
from streams_assignor.upgrade.input_values import MAX_CAPTURE_BYTES
from streams_assignor.upgrade.roll.deviations import SafeOption
from streams_assignor.upgrade.roll.expectation import Expectation
from streams_assignor.upgrade.roll.group import GROUP_RULES
from streams_assignor.upgrade.roll.journal import JournalError, JournalLine, PlanRecorded, RollResumed
from streams_assignor.upgrade.roll.plan import RollLimits
from streams_assignor.upgrade.roll.state import ABOUT_OUTCOME, begin, replay
from tests.assignor.cli.roll.simulated import SimulatedCluster
from tests.matrix import with_matrix
from tests.upgrade.roll.fake_group import plan


class Killed(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


class Roll:
    """A roll of A and B from 2.8.2 to 3.9.2 in two bounces, that can be killed and called again."""

    def __init__(self, folder, monkeypatch):
        self.cluster = SimulatedCluster(folder, "A@2.8.2 B@2.8.2")
        self.places = 0
        self.dies_at = 0
        self.asked = []
        append = JournalFile.append

        def appending(journal, record):
            self.place()
            line = append(journal, record)
            self.place()
            return line

        monkeypatch.setattr(JournalFile, "append", appending)
        monkeypatch.setattr(_driver, "run_command", self.run_command)

    def place(self):
        self.places += 1
        if self.places == self.dies_at:
            raise Killed

    def run_command(self, _template, values, _timeout, _wait):
        value = f",upgrade.from={values['upgrade_from']}" if values["upgrade_from"] else ""
        with self.cluster.called.open("a") as called:
            called.write(f"{values['instance']}>{values['release']}{value}\n")
        self.place()
        return CommandResult(0, "", 0.1)

    def ask(self, question, _state):
        self.asked.append(question.about)
        return Decided(SafeOption.AGAIN if question.about == ABOUT_OUTCOME else SafeOption.CONTINUE, "test")

    def call(self):
        """Call the command once; return the outcome, or None if it was killed."""
        try:
            with open_journal(self.cluster.journal) as journal:
                return drive(journal, self.state(journal), self.settings()).outcome
        except Killed:
            return None

    def state(self, journal):
        if not journal.lines:
            limits = RollLimits(session_timeout_s=0)
            roll_plan = plan("2.8.2", "3.9.2", names="AB", limits=limits, verbs=("restart",))
            journal.append(PlanRecorded(plan=roll_plan))
            return begin(roll_plan)
        journal.append(RollResumed(torn=journal.is_torn))
        return replay(journal.records)

    def settings(self):
        names = names_of(plan(names="AB").instances)
        return RollSettings(
            rules=GROUP_RULES,
            look=lambda: look_at(self.cluster, "app", names).seen,
            expect=lambda _step, _state: Expectation(),
            commands={"restart": CommandTemplate(("x",))},
            ask=self.ask,
            check_lock=lambda: None,
            view=_Nothing(),
            interrupts=Interrupts(),
            sleep=lambda _seconds: None,
        )


class _Nothing:
    def record(self, line, state):
        """Nobody looks."""

    def waiting(self, decision, state):
        """Nobody looks."""

    def note(self, text):
        """Nobody looks."""


VALUE = ",upgrade.from=2.8"
ALL = [f"A>3.9.2{VALUE}", f"B>3.9.2{VALUE}", "A>3.9.2", "B>3.9.2"]


def test_at_whatever_place_it_is_killed_each_restart_happens_once(tmp_path, monkeypatch):
    """The only place at which somebody has to be asked is between an intent and its command."""
    asked = []
    for place in range(1, 100):
        (tmp_path / str(place)).mkdir()
        roll = Roll(tmp_path / str(place), monkeypatch)
        roll.dies_at = place
        outcome = roll.call()
        if outcome:
            break
        assert "finished" == roll.call(), place
        assert ALL == roll.cluster.lines, place
        asked += [place] * roll.asked.count(ABOUT_OUTCOME)
        monkeypatch.undo()

    assert (outcome, len(asked)) == ("finished", 4)
    assert place > 40


def test_it_may_be_killed_again_and_again(tmp_path, monkeypatch):
    roll = Roll(tmp_path, monkeypatch)
    outcome, calls = None, 0
    while not outcome:
        calls += 1
        assert calls < 100, roll.cluster.lines
        roll.places, roll.dies_at = 0, 7
        outcome = roll.call()

    assert ("finished", ALL) == (outcome, roll.cluster.lines)


@pytest.mark.slow
@pytest.mark.parametrize("lost", with_matrix([1, 20, 200], [20], "less and more of the record"))
def test_whatever_is_lost_of_the_last_record_no_command_is_run_again_unasked(tmp_path, monkeypatch, lost):
    """A disk may have less than was written. Of one byte, the end of the line, nothing is missing."""
    asked = 0
    for place in range(2, 100):
        (tmp_path / str(place)).mkdir()
        roll = Roll(tmp_path / str(place), monkeypatch)
        roll.dies_at = place
        if roll.call():
            break
        *_, last = whole = roll.cluster.journal.read_bytes().splitlines(keepends=True)
        whole[-1] = last[: -min(lost, len(last) - 1)] if whole[1:] else last
        roll.cluster.journal.write_bytes(b"".join(whole))
        while not (outcome := roll.call()):
            pass
        assert ("finished", ALL) == (outcome, roll.cluster.lines), place
        asked += roll.asked.count(ABOUT_OUTCOME)
        monkeypatch.undo()

    assert asked >= 4
    assert place > 40


def test_a_file_that_is_no_journal_is_as_it_was(tmp_path):
    (tmp_path / "j").write_text('{"my":"only copy"}')

    for opened in (lambda: has_begun(tmp_path / "j"), lambda: open_journal(tmp_path / "j").__enter__()):
        with pytest.raises(JournalError, match="it is no journal"):
            opened()
    assert '{"my":"only copy"}' == (tmp_path / "j").read_text()


def test_a_torn_line_stays_until_another_one_is_written(tmp_path):
    """Who only looks changes nothing, and what was torn is known as long as it is not noted."""
    torn = JournalLine("", PlanRecorded(plan=plan())).text() + '{"record":"int'
    (tmp_path / "j").write_text(torn)
    with open_journal(tmp_path / "j") as journal:
        assert journal.is_torn
    assert torn == (tmp_path / "j").read_text()


def test_a_journal_that_another_process_has_open_is_not_continued(tmp_path):
    with open_journal(tmp_path / "j"):
        other = open_journal(tmp_path / "j")
        with pytest.raises(JournalError, match="another process continues this roll"):
            other.__enter__()


@pytest.mark.parametrize(("call", "lacks"), [("fcntl.flock", "flock"), ("os.fsync", "fsync of a folder")])
def test_a_filesystem_that_cannot_keep_a_journal_is_named_with_a_remedy(tmp_path, monkeypatch, call, lacks):
    """It was "[Errno 95] Operation not supported"."""

    def unsupported(*_):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(call, unsupported)
    with pytest.raises(JournalError, match=rf"j: expected a filesystem with {lacks}: Operation .*; --journal names"):
        open_journal(tmp_path / "j").__enter__()


@pytest.mark.parametrize(
    ("done", "why"),
    [
        (lambda file: file.unlink(), "No such file or directory: somebody has moved or removed it"),
        (lambda file: file.rename(file.with_name("k")), "No such file or directory: somebody has moved or removed it"),
        (lambda file: shutil.copy(file, copy := file.with_name("k")) and copy.rename(file), "another file has taken"),
        (lambda file: file.write_text(f"{file.read_text()}a note\n"), "somebody else has changed it"),
        (lambda file: os.truncate(file, 0), "somebody else has changed it"),
    ],
    ids=["removed", "moved", "replaced by a copy", "appended to", "truncated"],
)
def test_nothing_is_done_after_records_that_the_same_command_would_not_read(tmp_path, done, why):
    """The roll went on to its end; killed in between, it had restarted instances a second time."""
    with open_journal(tmp_path / "j") as journal:
        journal.append(PlanRecorded(plan=plan()))
        done(tmp_path / "j")
        with pytest.raises(JournalError, match=why):
            journal.append(RollResumed())
        assert journal.is_lost


def test_a_journal_is_a_file_on_disk_and_not_what_has_no_end(tmp_path):
    (tmp_path / "j").symlink_to("/dev/zero")

    with pytest.raises(JournalError, match="j: expected a file on disk for the journal, got a device"):
        has_begun(tmp_path / "j")
    with pytest.raises(JournalError, match="expected a file on disk"):
        open_journal(tmp_path / "j").__enter__()


def test_a_journal_that_is_too_large_is_refused_unread(tmp_path):
    with (tmp_path / "j").open("wb") as file:
        file.truncate(MAX_CAPTURE_BYTES + 1)

    with pytest.raises(JournalError, match=r"j: expected at most .* bytes, got"):
        has_begun(tmp_path / "j")


def test_a_record_is_in_the_file_when_it_is_written(tmp_path):
    with open_journal(tmp_path / "j") as journal:
        line = journal.append(RollResumed(torn=True))

        assert line.text() == (tmp_path / "j").read_text()


def test_what_follows_a_torn_line_is_a_line_of_its_own(tmp_path):
    begun = PlanRecorded(plan=plan())
    with open_journal(tmp_path / "j") as journal:
        journal.append(begun)
    with (tmp_path / "j").open("ab") as file:
        file.write(b'{"record":"resu')
    with open_journal(tmp_path / "j") as journal:
        journal.append(RollResumed(torn=journal.is_torn))
    with open_journal(tmp_path / "j") as journal:
        assert [begun, RollResumed(torn=True)] == journal.records
