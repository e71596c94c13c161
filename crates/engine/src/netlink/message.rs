//! Messages of netlink: header and content.

/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;

/// One message from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    Answer {
        kind: u16,
        /// The question that it answers.
        sequence: u32,
        /// What stands behind the header.
        content: &'a [u8],
    },
    /// The question failed; with code 0 it is acknowledged.
    Error { code: i32, sequence: u32 },
    /// The last of several answers has been sent.
    Done { sequence: u32 },
}

impl Message<'_> {
    /// The question that it belongs to.
    pub fn sequence(&self) -> u32 {
        match self {
            Self::Answer { sequence, .. } | Self::Error { sequence, .. } | Self::Done { sequence } => *sequence,
        }
    }
}

pub fn request(kind: u16, how_many: u16, sequence: u32, content: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(HEADER + content.len());
    octets.extend_from_slice(&((HEADER + content.len()) as u32).to_ne_bytes());
    octets.extend_from_slice(&kind.to_ne_bytes());
    octets.extend_from_slice(&(libc::NLM_F_REQUEST as u16 | how_many).to_ne_bytes());
    octets.extend_from_slice(&sequence.to_ne_bytes());
    octets.extend_from_slice(&[0; 4]);
    octets.extend_from_slice(content);
    octets
}

/// The messages in what was received, up to the first that is damaged.
pub fn messages(octets: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = octets;
    std::iter::from_fn(move || {
        let length = number(rest, 0)? as usize;
        let whole = rest.get(..length).filter(|_| length >= HEADER)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        let kind = u16::from_ne_bytes([whole[4], whole[5]]);
        let (sequence, content) = (number(whole, 8)?, &whole[HEADER..]);
        Some(match i32::from(kind) {
            libc::NLMSG_ERROR => {
                Message::Error { code: number(content, 0).unwrap_or_default().cast_signed(), sequence }
            }
            libc::NLMSG_DONE => Message::Done { sequence },
            _ => Message::Answer { kind, sequence, content },
        })
    })
}

/// The 32-bit number at this place of a fixed structure.
pub fn number(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|chunk| u32::from_ne_bytes(*chunk))
}

/// The 64-bit number at this place of a fixed structure.
pub fn long_number(octets: &[u8], at: usize) -> Option<u64> {
    octets.get(at..)?.first_chunk().map(|chunk| u64::from_ne_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_apart_up_to_a_damaged_one() {
        let mut octets = request(16, libc::NLM_F_MULTI as u16, 7, &[1, 2, 3, 4, 5]);
        assert_eq!((octets.len(), number(&octets, 0)), (21, Some(21)));
        octets.extend_from_slice(&[0; 3]);
        octets.extend(request(libc::NLMSG_ERROR as u16, 0, 7, &(-19_i32).to_ne_bytes()));
        octets.extend(request(libc::NLMSG_DONE as u16, 0, 8, &[0; 4]));
        octets.extend([200, 0, 0, 0, 1]);
        let found: Vec<Message<'_>> = messages(&octets).collect();
        let expected = [
            Message::Answer { kind: 16, sequence: 7, content: &[1, 2, 3, 4, 5] },
            Message::Error { code: -19, sequence: 7 },
            Message::Done { sequence: 8 },
        ];
        assert_eq!(found, expected);
        for cut in 0..octets.len() {
            assert!(messages(&octets[..cut]).count() <= 3, "nothing is read beyond the end");
        }
        assert_eq!(messages(&[0; 64]).count(), 0, "a length of 0 would go on for ever");
    }
}
