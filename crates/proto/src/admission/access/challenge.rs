//! What a server asks of a client.

use crate::admission::hexadecimal::octets;

octets! {
    /// What the server asks: new in every session.
    Challenge
}

impl Challenge {
    /// What a proof is computed from. `context` names the kind of proof, so that it is of no use elsewhere, and `binding` the encrypted
    /// connection.
    pub(super) fn message(&self, context: &[u8], binding: &[u8]) -> Vec<u8> {
        [context, &self.0, binding].concat()
    }
}
