//! The version rules of one cell, 2.0.1 to 2.1.1: what is said, heard and made of it (rules G2, versions 3 and 4). With
//! the feature `fixed` it is 2.0.1 to 2.3.1, whose leader asks old members nothing that they do not know (KAFKA-8649).

const FIXED: bool = cfg!(feature = "fixed");

/// What a member knows of versions; `Overshot` was told a version that it does not have, and dies of its next
/// subscription (KAFKA-8649).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Version {
    None,
    Old,
    New,
    Overshot,
    Lowered,
}

/// An answer: who leads decides about `supported`, `Probed` comes without tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Word {
    None,
    ThreeOfThree,
    ThreeOfFour,
    Probed,
    FourOfFour,
    LastRebalance,
}

/// What a leader hears of a subscription, one bit each.
pub const HEARS_OLD: u8 = 1;
pub const HEARS_NEW: u8 = 2;
pub const HEARS_LOWERED: u8 = 4;

pub fn subscription(version: Version) -> u8 {
    match version {
        Version::Old => HEARS_OLD,
        Version::New => HEARS_NEW,
        Version::Lowered => HEARS_LOWERED,
        Version::None | Version::Overshot => 0,
    }
}

/// What a leader, which runs the newer release or not, tells a member of whom it hears `of`.
pub fn answer(newer: bool, heard: u8, of: u8, itself: bool) -> Word {
    if !newer {
        return if of == HEARS_NEW { Word::Probed } else { Word::ThreeOfThree };
    }
    if heard == HEARS_NEW {
        Word::FourOfFour
    } else if FIXED && heard & HEARS_OLD != 0 {
        Word::ThreeOfThree
    } else if itself && heard & HEARS_OLD == 0 {
        Word::LastRebalance
    } else {
        Word::ThreeOfFour
    }
}

/// What a member does with an answer: its next version, and whether it leaves the group to join again.
pub fn reaction(version: Version, word: Word) -> (Version, bool) {
    match (version, word) {
        (Version::Old, Word::ThreeOfFour) => (Version::Overshot, false),
        (Version::New, Word::Probed | Word::ThreeOfThree) => (Version::Lowered, true),
        (Version::New, Word::ThreeOfFour | Word::LastRebalance) => (Version::New, true),
        (Version::Lowered, Word::ThreeOfFour | Word::LastRebalance) => (Version::New, FIXED),
        _ => (version, false),
    }
}
