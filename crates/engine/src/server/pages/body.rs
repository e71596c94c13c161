//! The bytes of an object: of the length that the manifest has, and incompressible.

use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use rrul_model::page::ObjectKind;
use rrul_model::random::Random;

/// Bytes of noise that are kept; longer bodies repeat them.
const NOISE: usize = 1 << 20;

/// Bytes that are handed on at a time.
const PIECE: usize = 32 << 10;

/// A picture of one dot: browsers show it and pass over what follows its end.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55\0\0\0\nIDAT\x78\x9c\x63\x60\0\0\0\x02\0\x01\x48\xaf\xa4\x71\0\0\0\0IEND\xae\x42\x60\x82";

/// Letters and digits without any order, in which no comment can end.
fn noise() -> &'static Bytes {
    static ONCE: OnceLock<Bytes> = OnceLock::new();
    ONCE.get_or_init(|| {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+_";
        let mut octets = vec![0; NOISE];
        Random(7785).fill(&mut octets);
        for octet in &mut octets {
            *octet = LETTERS[usize::from(*octet % 64)];
        }
        octets.into()
    })
}

/// A body: what an object begins with, and noise up to its length.
#[derive(Debug, Clone)]
pub(super) struct ObjectBody {
    head: Bytes,
    left: u64,
    place: usize,
}

impl ObjectBody {
    /// A body of `octets` that begins with `head`; of different numbers the noise differs.
    pub(super) fn new(head: impl Into<Bytes>, octets: u64, number: usize) -> Self {
        let mut head: Bytes = head.into();
        head.truncate(usize::try_from(octets).unwrap_or(usize::MAX));
        let left = octets - head.len() as u64;
        Self { head, left, place: number.wrapping_mul(7_919) % NOISE }
    }

    /// The body of an object that needs no markup: a style sheet or script that is one comment, a picture, noise.
    pub(super) fn of_kind(kind: ObjectKind, octets: u64, number: usize) -> Self {
        let head: &'static [u8] = match kind {
            ObjectKind::Html | ObjectKind::Font | ObjectKind::Fetch | ObjectKind::Beacon => b"",
            ObjectKind::Css => b"/*",
            ObjectKind::Script => b"//",
            ObjectKind::Image => PICTURE,
        };
        Self::new(Bytes::from_static(head), octets, number)
    }

    /// The next piece; `None` at the end.
    pub(super) fn piece(&mut self) -> Option<Bytes> {
        if !self.head.is_empty() {
            return Some(std::mem::take(&mut self.head));
        }
        let noise = noise();
        let length = PIECE.min(NOISE - self.place).min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if length == 0 {
            return None;
        }
        let piece = noise.slice(self.place..self.place + length);
        self.left -= length as u64;
        self.place = (self.place + length) % NOISE;
        Some(piece)
    }

    fn octets(&self) -> u64 {
        self.head.len() as u64 + self.left
    }
}

impl Body for ObjectBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.piece().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.octets() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.octets())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(mut body: ObjectBody) -> Vec<u8> {
        let mut octets = Vec::new();
        while let Some(piece) = body.piece() {
            octets.extend_from_slice(&piece);
        }
        octets
    }

    #[test]
    fn bodies_have_their_length_and_their_kind() {
        for octets in [1, 2, 68, 100, 40_000, NOISE as u64 + 5, 3 * NOISE as u64] {
            for kind in [ObjectKind::Css, ObjectKind::Script, ObjectKind::Image, ObjectKind::Fetch] {
                let body = ObjectBody::of_kind(kind, octets, 3);
                assert_eq!(body.size_hint().exact(), Some(octets));
                assert_eq!(whole(body).len() as u64, octets, "{kind:?}");
            }
        }
        assert!(whole(ObjectBody::of_kind(ObjectKind::Script, 500, 1)).starts_with(b"//"));
        assert_eq!(whole(ObjectBody::new("0123456789", 4, 0)), b"0123");
    }

    #[test]
    fn bodies_differ_and_end_no_comment() {
        let of = |number| whole(ObjectBody::of_kind(ObjectKind::Css, 5_000, number));
        assert_ne!(of(1), of(2));
        assert_eq!(of(1), of(1));
        assert!(!of(1)[2..].iter().any(|octet| b"*/<>-\n".contains(octet)));
    }
}
