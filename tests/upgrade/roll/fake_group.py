"""A group of the rules alone, and an operator who does what ``decide`` says."""

from attrs import evolve

from streams_assignor.upgrade import advise, release_named
from streams_assignor.upgrade.release_detection import CandidateReleases
from streams_assignor.upgrade.roll import engine
from streams_assignor.upgrade.roll.deviations import SafeOption
from streams_assignor.upgrade.roll.expectation import NO_FORECAST
from streams_assignor.upgrade.roll.gates import RollWatch
from streams_assignor.upgrade.roll.group import GROUP_RULES
from streams_assignor.upgrade.roll.group_observation import GroupObservation, MemberSeen, PartitionOffsets
from streams_assignor.upgrade.roll.journal import CommandEnded, PlanRecorded, QuestionAnswered, RollResumed
from streams_assignor.upgrade.roll.plan import RollInstance, RollLimits, RollPlan, group_rounds
from streams_assignor.upgrade.roll.state import replay

ENDS = {"in-0": PartitionOffsets(committed=5, end=5)}


def plan(origin="2.3.1", target="3.9.2", names="abc", offline=False, **further):
    advice = advise(release_named(origin), release_named(target), offline=offline)
    return RollPlan(
        **{
            "name": "app",
            "origin": origin,
            "target": target,
            "rounds": group_rounds(advice),
            "instances": tuple(RollInstance(name) for name in names),
            "limits": RollLimits(timeout_s=600, max_unowned_s=300, session_timeout_s=45),
            **further,
        }
    )


def member(name, config, number=1, **changes):
    """A member that sends what its release and ``upgrade.from`` make it send."""
    release = release_named(config.release)
    pinned = release.pinned_version(config.upgrade_from)
    is_pinned = pinned is not None
    return MemberSeen(
        **{
            "member_id": f"{name}-{number}",
            "instance": name,
            "label": name,
            "candidates": CandidateReleases(
                changes.pop("unpinned", () if is_pinned else (release,)),
                changes.pop("pinned", (release,) if is_pinned else ()),
            ),
            "used_version": pinned or release.supported_version,
            "supported_version": release.supported_version,
            "protocol": release.rebalance_protocol(config.upgrade_from),
            "active": frozenset({f"0_{ord(name[0]) - ord('a')}"}),
            **changes,
        }
    )


class Operator:
    """A roll with its journal and a group of which each command makes what it is to make."""

    def __init__(self, given=None, **further):
        self.patience = 0
        self.records = [PlanRecorded(plan=given or plan(**further))]
        self.watch = RollWatch()
        self.seconds = 0.0
        self.starts = 1
        self.answers = {"plan": SafeOption.CONTINUE, "needs": SafeOption.CONTINUE}
        self.commands = []
        self.expectation = NO_FORECAST
        first = self.state.configs
        self.members = {name: member(name, config) for name, config in first.items()}
        self.group = "Stable"
        self.epochs = None
        self.coordinator, self.was_away = "b1:9092", False
        self.offsets = ENDS
        self.state_lags = {}
        self.offsets_problem = ""
        self.more = ()
        self.broken = {}
        self.ready = None

    @property
    def state(self):
        return replay(self.records)

    def look(self):
        used = [each.used_version for each in self.members.values()]
        low = min([each.supported_version for each in self.members.values()], default=0)
        common = min([low, *used]) if used else 0
        there = [
            evolve(each, used_version=common) if not each.candidates.pinned else each for each in self.members.values()
        ]
        return GroupObservation(
            seconds=self.seconds,
            state=self.group if there or self.group != "Stable" else "Empty",
            epochs=self.epochs,
            members=(*there, *self.more),
            coordinator=self.coordinator,
            coordinator_was_away=self.was_away,
            offsets=self.offsets,
            state_lags=self.state_lags,
            offsets_problem=self.offsets_problem,
            ready=self.ready,
        )

    def decide(self):
        seen, state = self.look(), self.state
        self.watch = engine.watching(state, self.watch, seen, GROUP_RULES)
        return engine.decide(state, self.watch, seen, GROUP_RULES)

    def write(self, record):
        self.records.append(record)

    def act(self, decision):
        """Do what a decision says; return it if somebody has to decide, to wait, or it is the end."""
        match decision:
            case engine.WriteRecord(record):
                self.write(record)
            case engine.BeginStep():
                self.write(engine.began(decision, self.look(), self.expectation))
            case engine.RunCommand(step, instance, verb, roll_round):
                self.write(engine.intended(decision, self.look()))
                self.commands.append(f"{verb} {instance} {roll_round.config}")
                self.run(instance, verb, roll_round.config)
                self.write(CommandEnded(step=step, instance=instance, verb=verb, status=0, seconds=0.0))
            case engine.AskOperator(about) if about in self.answers:
                self.answer(decision, self.answers[about])
            case engine.KeepWaiting() if self.patience > 0:
                self.patience -= 1
                self.seconds += 10
            case _:
                return decision
        return None

    def answer(self, question, option):
        self.write(
            QuestionAnswered(
                about=question.about,
                option=option,
                step=question.step,
                kind=question.kind,
                instances=question.instances,
            )
        )

    def run(self, instance, verb, config):
        self.starts += 1
        if verb == "stop":
            self.members.pop(instance, None)
        elif instance in self.broken:
            made = self.broken[instance]
            if made is None:
                self.members.pop(instance, None)
            else:
                self.members[instance] = made
        else:
            self.members[instance] = member(instance, config, self.starts)

    def crash(self):
        """Forget everything but the journal."""
        self.watch = RollWatch()
        self.write(RollResumed())

    def until(self, kind):
        """Go on until the next decision is of a kind; return it."""
        while not isinstance(decision := self.decide(), kind):
            assert self.act(decision) is None, decision
        return decision

    def found(self):
        """Go on to a deviation, and return it."""
        question = self.go()
        assert isinstance(question, engine.AskOperator), question
        return self.state.deviation

    def go(self, most=500):
        """Go on until somebody has to decide, to wait, or it is the end."""
        for _ in range(most):
            if (left := self.act(self.decide())) is not None:
                return left
        raise AssertionError(f"no end after {most} decisions: {self.records[-5:]}")
