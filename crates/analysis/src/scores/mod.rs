//! All scores. docs/scores.md says what each is.

use crate::score::ScoreWord;

pub mod aim;
pub mod bufferbloat;
pub mod composite;
pub mod e_model;
pub mod equalizer;
pub mod optimum;
pub mod penalty;
pub mod qoo;
pub mod responsiveness;
pub mod score_cell;
pub mod verdict_text;
pub mod voip_mos;
pub mod web;

/// All of them, in the order in which they are reported.
pub const SCORES: &[ScoreWord] = &[
    web::WORD,
    composite::WORD,
    penalty::WORD,
    optimum::WORD,
    bufferbloat::WORD,
    responsiveness::WORD,
    qoo::WORD,
    aim::WORD,
    voip_mos::WORD,
];
