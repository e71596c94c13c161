//! The protocol in virtual time: whole exchanges, limits, silence, hostile octets, and the document's examples.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

mod attribution;
#[path = "../../../model/tests/fuzz/campaign.rs"]
mod campaign;
mod fuzz;
mod fuzz_access;
mod fuzz_admission;
mod fuzz_foreign;
mod limits;
mod one_way;
mod pair;
mod protocol_document;
mod sealed;
mod silence;
mod strategies;
mod virtual_link;
