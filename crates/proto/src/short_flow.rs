//! The octets of a short flow beside those that it is there to carry.

/// Octets that the client sends behind its opening: the connection's number within the flow. The server confirms an
/// upload with the same octets.
pub const NUMBER_OCTETS: usize = 4;

/// The octets of a connection's number.
pub fn encode_number(number: u32) -> [u8; NUMBER_OCTETS] {
    number.to_be_bytes()
}

pub fn decode_number(octets: [u8; NUMBER_OCTETS]) -> u32 {
    u32::from_be_bytes(octets)
}
