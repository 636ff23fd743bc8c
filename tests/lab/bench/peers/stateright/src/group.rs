//! States and moves of a group: `docs/explanation/exploring.md`, "The model, for other tools".

use crate::rules::{answer, reaction, subscription, Version, Word, HEARS_LOWERED};
use std::hash::{Hash, Hasher};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Status {
    Crashed,
    Stopped,
    Outside,
    WaitedFor,
    Joined,
    Answered,
    Content,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Phase {
    Preparing,
    Completing,
    Stable,
}

/// An id that a process left behind: 0 for none, else `THERE`, `LEADS` and what a leader hears of it, if it has joined.
type Ghost = u8;
const THERE: Ghost = 8;
const LEADS: Ghost = 16;
const HEARD: Ghost = HEARS_LOWERED | 3;

/// A process. With one bounce and one crash it leaves two ids behind at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    pub place: u8,
    pub status: Status,
    pub version: Version,
    pub word: Word,
    pub leads: bool,
    pub ghosts: [Ghost; 2],
}

impl Member {
    pub fn code(&self) -> u64 {
        let [older, younger] = self.ghosts;
        let (status, version, word) = (self.status as u8, self.version as u8, self.word as u8);
        u64::from_le_bytes([self.place, status, version, word, self.leads as u8, older, younger, 0])
    }

    pub fn runs(&self) -> bool {
        !matches!(self.status, Status::Crashed | Status::Stopped)
    }

    fn known(&self) -> bool {
        self.status as u8 >= Status::WaitedFor as u8
    }

    fn ids(&self) -> usize {
        self.known() as usize + self.ghosts.iter().filter(|&&each| each != 0).count()
    }

    fn missing(&self) -> usize {
        let waited = matches!(self.status, Status::WaitedFor | Status::Answered);
        waited as usize + self.ghosts.iter().filter(|&&each| each != 0 && each & HEARD == 0).count()
    }

    fn forget_joined_ghosts(&mut self) {
        for each in &mut self.ghosts {
            *each &= !HEARD;
        }
    }

    /// A rebalance begins: all ids are waited for; an answer that is on its way arrives.
    fn calm(&mut self) {
        self.forget_joined_ghosts();
        if self.known() && self.status != Status::Answered {
            self.status = Status::WaitedFor;
            self.word = Word::None;
        }
    }

    fn leave(&mut self) {
        self.status = Status::Outside;
        self.word = Word::None;
        self.leads = false;
    }

    /// The process ends, its id stays.
    fn end(&mut self, status: Status) {
        if self.known() {
            let heard = if self.status == Status::Joined { subscription(self.version) } else { 0 };
            let free = self.ghosts.iter_mut().find(|each| **each == 0).expect("two ids left behind at most");
            *free = THERE | heard | if self.leads { LEADS } else { 0 };
        }
        self.leave();
        self.status = status;
        self.version = Version::None;
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group<const N: usize> {
    pub members: [Member; N],
    pub phase: Phase,
    pub crashes: u8,
    pub lates: u8,
    pub dead: bool,
}

impl<const N: usize> Hash for Group<N> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for each in &self.members {
            hasher.write_u64(each.code());
        }
        hasher.write_u32(u32::from_le_bytes([self.phase as u8, self.crashes, self.lates, self.dead as u8]));
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    Join,
    Take,
    Expire,
    Late,
    Stop,
    Start,
    Crash,
    Lead,
}

/// Whose id is elected: a member and 0 for its own, 1 or 2 for an older one.
pub type Elected = Option<(u8, u8)>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    pub verb: Verb,
    pub who: u8,
    pub elects: Elected,
}

impl<const N: usize> Group<N> {
    /// At rest, as the older release.
    pub fn begun(leader: usize, crashes: u8, lates: u8) -> Self {
        let member = Member {
            place: 0,
            status: Status::Content,
            version: Version::Old,
            word: Word::ThreeOfThree,
            leads: false,
            ghosts: [0, 0],
        };
        let mut members = [member; N];
        members[leader].leads = true;
        Group { members, phase: Phase::Stable, crashes, lates, dead: false }
    }

    pub fn sort(&mut self) {
        self.members.sort_unstable_by_key(Member::code);
    }

    /// Whether everybody has what all can: asked where the operator goes home.
    pub fn well(&self) -> bool {
        let done = |each: &Member| each.place == 1 && each.status == Status::Content && each.ghosts == [0, 0];
        !self.members.iter().all(done)
            || self.members.iter().all(|each| each.version == Version::New && each.word == Word::FourOfFour)
    }

    fn first_of_its_kind(&self, who: usize) -> bool {
        !self.members[..who].contains(&self.members[who])
    }

    /// All moves; with `alike` one for all members that are alike.
    pub fn moves(&self, alike: bool, found: &mut Vec<Move>) {
        if self.dead {
            return;
        }
        let by_hand = self.members.iter().any(|each| each.status == Status::Stopped);
        for (who, each) in self.members.iter().enumerate() {
            if alike && !self.first_of_its_kind(who) {
                continue;
            }
            let who = who as u8;
            let mut simple = |verb| found.push(Move { verb, who, elects: None });
            match each.status {
                Status::Crashed | Status::Stopped => simple(Verb::Start),
                Status::Outside | Status::WaitedFor => simple(Verb::Join),
                _ => (),
            }
            if each.runs() {
                if each.place == 0 && !by_hand {
                    simple(Verb::Stop);
                }
                if self.crashes > 0 {
                    simple(Verb::Crash);
                }
            }
            if self.phase == Phase::Completing && each.leads && each.runs() {
                simple(Verb::Lead);
            }
            if each.status == Status::Answered {
                self.or_elect(Verb::Take, who, alike, found);
            }
            let waited = matches!(each.status, Status::WaitedFor | Status::Answered);
            if waited && self.lates > 0 && self.phase == Phase::Preparing {
                self.or_elect(Verb::Late, who, alike, found);
            }
            if each.ghosts[0] != 0 {
                self.or_elect(Verb::Expire, who, alike, found);
            }
        }
    }

    /// A move that may take the leader's id out of the group: one for everybody who can be the next.
    fn or_elect(&self, verb: Verb, who: u8, alike: bool, found: &mut Vec<Move>) {
        let led = match verb {
            Verb::Expire => self.members[who as usize].ghosts[0] & LEADS != 0,
            Verb::Take => {
                let each = &self.members[who as usize];
                each.leads && reaction(each.version, each.word).1
            }
            _ => self.members[who as usize].leads,
        };
        if !led || self.ids() == 1 {
            return found.push(Move { verb, who, elects: None });
        }
        let mut after = self.clone();
        after.make(Move { verb, who, elects: None });
        for (other, each) in after.members.iter().enumerate() {
            if alike && !after.first_of_its_kind(other) {
                continue;
            }
            let ids = [each.known(), each.ghosts[0] != 0, each.ghosts[1] != 0];
            for id in (0..3).filter(|&id| ids[id as usize]) {
                found.push(Move { verb, who, elects: Some((other as u8, id)) });
            }
        }
    }

    fn ids(&self) -> usize {
        self.members.iter().map(Member::ids).sum()
    }

    fn missing(&self) -> usize {
        self.members.iter().map(Member::missing).sum()
    }

    pub fn make(&mut self, step: Move) {
        let who = step.who as usize;
        match step.verb {
            Verb::Join => self.join(who),
            Verb::Take => self.take(who),
            Verb::Lead => self.lead(who),
            Verb::Start => self.start(who),
            Verb::Stop => self.members[who].end(Status::Stopped),
            Verb::Crash => {
                self.crashes -= 1;
                self.members[who].end(Status::Crashed);
            }
            Verb::Late => {
                self.lates -= 1;
                self.members[who].leave();
                self.removed();
            }
            Verb::Expire => {
                let ghosts = &mut self.members[who].ghosts;
                *ghosts = [ghosts[1], 0];
                self.removed();
            }
        }
        if let Some((other, id)) = step.elects {
            let elected = &mut self.members[other as usize];
            match id {
                0 => elected.leads = true,
                _ => elected.ghosts[id as usize - 1] |= LEADS,
            }
        }
    }

    fn prepare(&mut self) {
        if self.phase != Phase::Preparing {
            self.members.iter_mut().for_each(Member::calm);
            self.phase = Phase::Preparing;
        }
    }

    fn complete(&mut self) {
        if self.phase == Phase::Preparing && self.ids() > 0 && self.missing() == 0 {
            self.phase = Phase::Completing;
        }
    }

    fn removed(&mut self) {
        self.prepare();
        self.complete();
    }

    fn join(&mut self, who: usize) {
        if self.members[who].version == Version::Overshot {
            *self = Group { dead: true, ..Group::begun(0, 0, 0) };
            return;
        }
        let alone = self.ids() == 0;
        self.prepare();
        let member = &mut self.members[who];
        member.status = Status::Joined;
        member.word = Word::None;
        member.leads |= alone;
        self.complete();
    }

    fn take(&mut self, who: usize) {
        let preparing = self.phase == Phase::Preparing;
        let member = &mut self.members[who];
        let (version, leaves) = reaction(member.version, member.word);
        member.version = version;
        if leaves {
            member.leave();
            self.removed();
        } else if preparing {
            member.status = Status::WaitedFor;
            member.word = Word::None;
        } else {
            member.status = Status::Content;
            member.word = if member.word == Word::FourOfFour { Word::FourOfFour } else { Word::ThreeOfThree };
        }
    }

    fn lead(&mut self, who: usize) {
        let newer = self.members[who].place == 1;
        let said = |each: &Member| if each.status == Status::Joined { subscription(each.version) } else { 0 };
        let heard = self.members.iter().fold(0, |heard, each| {
            heard | said(each) | (each.ghosts[0] | each.ghosts[1]) & HEARD
        });
        for each in &mut self.members {
            each.forget_joined_ghosts();
            if each.status == Status::Joined {
                each.word = answer(newer, heard, subscription(each.version), each.leads);
                each.status = Status::Answered;
            }
        }
        self.phase = Phase::Stable;
    }

    fn start(&mut self, who: usize) {
        let member = &mut self.members[who];
        member.place = if member.status == Status::Stopped { 1 } else { member.place };
        member.status = Status::Outside;
        member.version = if member.place == 1 { Version::New } else { Version::Old };
    }
}
