//! `bounces HOW MEMBERS CRASHES LATES`: explore the cell and print states, transitions, deaths' state and seconds as JSON.
//!
//! HOW: `raw` (breadth first, members told apart), `canonical` (breadth first, members sorted as they are made) or
//! `symmetry` (depth first with Stateright's own symmetry reduction). One thread.

mod group;
mod rules;

use group::{Group, Move};
use stateright::{Checker, Model, Property};
use std::env::args;
use std::time::Instant;

#[derive(Clone, Copy, PartialEq)]
enum How {
    Raw,
    Canonical,
    Symmetry,
}

struct Bounces<const N: usize> {
    how: How,
    crashes: u8,
    lates: u8,
}

impl<const N: usize> Model for Bounces<N> {
    type State = Group<N>;
    type Action = Move;

    fn init_states(&self) -> Vec<Group<N>> {
        let leaders = if self.how == How::Raw { N } else { 1 };
        (0..leaders).map(|leader| self.named(Group::begun(leader, self.crashes, self.lates))).collect()
    }

    fn actions(&self, state: &Group<N>, actions: &mut Vec<Move>) {
        state.moves(self.how != How::Raw, actions);
    }

    fn next_state(&self, state: &Group<N>, action: Move) -> Option<Group<N>> {
        let mut next = state.clone();
        next.make(action);
        Some(self.named(next))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nobody dies", |_, state: &Group<N>| !state.dead),
            Property::always("highest version", |_, state: &Group<N>| state.dead || state.well()),
        ]
    }
}

impl<const N: usize> Bounces<N> {
    fn named(&self, mut state: Group<N>) -> Group<N> {
        if self.how == How::Canonical {
            state.sort();
        }
        state
    }

    fn explored(self) {
        let (how, beginnings) = (self.how, self.init_states().len());
        let begun = Instant::now();
        let (states, made, well) = match how {
            How::Symmetry => {
                let checker = self.checker().symmetry_fn(|state| {
                    let mut sorted = state.clone();
                    sorted.sort();
                    sorted
                });
                counted(checker.spawn_dfs().join())
            }
            _ => counted(self.checker().spawn_bfs().join()),
        };
        let seconds = begun.elapsed().as_secs_f64();
        let transitions = made - beginnings;
        println!(r#"{{"states": {states}, "transitions": {transitions}, "well": {well}, "seconds": {seconds:.6}}}"#);
    }
}

/// The state after a death is not counted.
fn counted<M: Model, C: Checker<M>>(checker: C) -> (usize, usize, bool) {
    let dies = checker.discovery("nobody dies").is_some();
    let well = checker.discovery("highest version").is_none();
    (checker.unique_state_count() - dies as usize, checker.state_count(), well)
}

fn main() {
    let given: Vec<String> = args().skip(1).collect();
    let [how, members, crashes, lates] = &given[..] else {
        panic!("expected: bounces raw|canonical|symmetry MEMBERS CRASHES LATES");
    };
    let how = match how.as_str() {
        "raw" => How::Raw,
        "canonical" => How::Canonical,
        "symmetry" => How::Symmetry,
        other => panic!("expected raw, canonical or symmetry, not {other}"),
    };
    let number = |text: &String| text.parse().expect("a small number of faults");
    let (crashes, lates) = (number(crashes), number(lates));
    match members.as_str() {
        "2" => Bounces::<2> { how, crashes, lates }.explored(),
        "3" => Bounces::<3> { how, crashes, lates }.explored(),
        "4" => Bounces::<4> { how, crashes, lates }.explored(),
        "5" => Bounces::<5> { how, crashes, lates }.explored(),
        "6" => Bounces::<6> { how, crashes, lates }.explored(),
        other => panic!("expected 2 to 6 members, not {other}"),
    }
}
