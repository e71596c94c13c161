//! Lines out of a file of zstd frames, whole, cut off or damaged.

use std::io::{self, Read};

use memchr::memmem;

/// What every zstd frame begins with: RFC 8878 section 3.1.1, 0xFD2FB528 with its lowest byte first.
const MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

/// The file contains, or a hostile one pretends to contain, more text than fits into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

/// The text of all frames of a file that can be read.
///
/// After a frame that is damaged it goes on with the next that is not, as each is complete in itself. Of a frame that the
/// end of the file cuts off the whole lines are kept. Text ends in a newline before the next frame's begins. After as much
/// work for damaged frames as reading the file several times, it ends with what it has.
///
/// # Errors
/// When more than `longest` bytes would come out of it, what is thrown away included.
pub(super) fn text(mut octets: &[u8], longest: usize) -> Result<String, TooLong> {
    // Columns of integers shrink to less than a third. Room for four times as much is room that need not be moved.
    let mut text = String::with_capacity(octets.len().saturating_mul(4).min(longest));
    let mut left = longest;
    let mut decompressor = zstd::bulk::Decompressor::new().ok();
    let mut piece = Vec::new();
    let mut efforts = Efforts::for_file(octets.len());
    while let Some(begin) = memmem::find(octets, &MAGIC) {
        octets = &octets[begin..];
        piece.clear();
        let decoded = match decompressor.as_mut().map(|decompressor| at_once(decompressor, octets, left, &mut piece)) {
            Some(AtOnce::Whole(rest)) => Ok(rest),
            other => {
                if !efforts.one_more() {
                    break;
                }
                if let Some(AtOnce::Damaged(written)) = other {
                    left = left.checked_sub(written).filter(|left| *left > 0).ok_or(TooLong)?;
                }
                // What is thrown away is counted as it is read in small steps, which needs no room yet.
                piece = Vec::new();
                let (decoded, looked_at) = decode(octets, left, &mut piece);
                efforts.spend(looked_at + reach(octets));
                decoded
            }
        };
        left = left.checked_sub(piece.len()).filter(|left| *left > 0).ok_or(TooLong)?;
        match (decoded, str::from_utf8(&piece)) {
            (Ok(rest), Ok(piece)) => {
                append(&mut text, piece);
                octets = rest;
            }
            (Ok(rest), Err(_)) => octets = rest,
            (Err(error), piece) => {
                if error.kind() == io::ErrorKind::UnexpectedEof {
                    append(&mut text, whole_lines(piece.unwrap_or_default()));
                }
                octets = &octets[MAGIC.len()..];
            }
        }
    }
    Ok(text)
}

/// How much work frames may take that are damaged, cut off or not of rrul.
struct Efforts {
    frames: usize,
    octets: usize,
}

impl Efforts {
    fn for_file(octets: usize) -> Self {
        Self { frames: 10_000, octets: octets.saturating_mul(8).saturating_add(64 << 20) }
    }

    /// Whether one more such frame is looked at.
    fn one_more(&mut self) -> bool {
        let left = self.frames.checked_sub(1).filter(|_| self.octets > 0);
        self.frames = left.unwrap_or(0);
        left.is_some()
    }

    /// So many bytes were looked at in vain.
    fn spend(&mut self, octets: usize) {
        self.octets = self.octets.saturating_sub(octets);
    }
}

/// No frame that rrul writes contains more text than this.
const LONGEST_FRAME: u64 = 64 << 20;

/// What came of a frame in one step.
enum AtOnce<'a> {
    /// It is whole; this follows it.
    Whole(&'a [u8]),
    /// It is damaged, and took the work of so many bytes.
    Damaged(usize),
    /// It is none that rrul writes, or cut off.
    Other,
}

/// Decodes a frame that says how long its text is, as rrul's do, into `piece`.
fn at_once<'a>(
    decompressor: &mut zstd::bulk::Decompressor<'_>,
    octets: &'a [u8],
    most: usize,
    piece: &mut Vec<u8>,
) -> AtOnce<'a> {
    let Some(room) = announced(octets).filter(|room| *room <= most) else { return AtOnce::Other };
    // No farther than a frame of so much text can reach: a hostile file may chain blocks to its end.
    let farthest = reach(octets);
    let Some((frame, rest)) = zstd::zstd_safe::find_frame_compressed_size(&octets[..farthest])
        .ok()
        .and_then(|length| octets.split_at_checked(length))
    else {
        return AtOnce::Other;
    };
    piece.reserve(room);
    match decompressor.decompress_to_buffer(frame, piece) {
        Ok(_) => AtOnce::Whole(rest),
        Err(_) => AtOnce::Damaged(room),
    }
}

/// The length of its text that the frame at the beginning announces, where that is one that rrul may have written.
fn announced(octets: &[u8]) -> Option<usize> {
    let said = zstd::zstd_safe::get_frame_content_size(octets).ok().flatten()?;
    usize::try_from(said).ok().filter(|_| said <= LONGEST_FRAME)
}

/// How far the frame at the beginning reaches at most, going by its announced length.
fn reach(octets: &[u8]) -> usize {
    /// More than frame header and checksum take (RFC 8878 section 3.1.1).
    const AROUND: usize = 64;
    announced(octets).map_or(0, |room| octets.len().min(zstd::zstd_safe::compress_bound(room) + AROUND))
}

/// Decodes the frame at the beginning into `piece`, at most this many bytes and one; gives what follows the frame, and how
/// many bytes were looked at.
fn decode<'a>(octets: &'a [u8], most: usize, piece: &mut Vec<u8>) -> (io::Result<&'a [u8]>, usize) {
    let mut rest = octets;
    let mut read = || {
        let decoder = zstd::stream::read::Decoder::with_buffer(&mut rest)?.single_frame();
        decoder.take(most as u64).read_to_end(piece)
    };
    let outcome = read();
    (outcome.map(|_| rest), octets.len() - rest.len())
}

/// The lines from the beginning that are what they should be: a damaged length can make rubbish look cut off.
fn whole_lines(piece: &str) -> &str {
    let lines = piece.split_inclusive('\n');
    let whole = lines.take_while(|line| serde_json::from_str::<serde_json::Value>(line).is_ok());
    &piece[..whole.map(str::len).sum()]
}

fn append(text: &mut String, piece: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(piece);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Vec<u8> {
        let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
        compressor.include_checksum(true).unwrap();
        compressor.compress(text.as_bytes()).unwrap()
    }

    /// A line that cannot be mistaken for another, long enough that some of it is compressed.
    fn line(number: usize) -> String {
        format!("{{\"number\":{number},\"ones\":[{}1]}}\n", "1,".repeat(100))
    }

    #[test]
    fn one_damaged_byte_costs_one_frame_wherever_it_is() {
        let frames: Vec<Vec<u8>> = (0..5).map(|number| frame(&line(number))).collect();
        let without_third: String = [0, 1, 3, 4].into_iter().map(line).collect();
        let begin = frames[0].len() + frames[1].len();
        for flipped in [0x01, 0x55, 0x80, 0xff] {
            for place in begin..begin + frames[2].len() {
                let mut octets = frames.concat();
                octets[place] ^= flipped;
                let read = text(&octets, 10_000).unwrap();
                // Some bits of a frame's header say nothing of its content: RFC 8878 has unused ones.
                let whole = read == (0..5).map(line).collect::<String>();
                assert!(whole || read == without_third, "byte {place} ^ {flipped:#x}: {read}");
            }
        }
    }

    #[test]
    fn of_a_frame_that_is_cut_off_the_whole_lines_are_read() {
        // Blocks of the format hold 128 KiB at most, so that some are whole where the file is cut.
        let lines: Vec<String> = (0..2000).map(line).collect();
        let octets = frame(&lines.concat());
        let read = text(&octets[..octets.len() - 5], 1_000_000).unwrap();
        assert!(!read.is_empty() && lines.concat().starts_with(&read) && read.ends_with('\n'));
    }

    #[test]
    fn text_that_was_not_ended_does_not_join_the_next() {
        assert_eq!(text(&[frame("1"), frame("2\n")].concat(), 100).unwrap(), "1\n2\n");
    }

    #[test]
    fn a_file_of_beginnings_ends_early_with_what_was_read() {
        let beginnings = MAGIC.repeat(20_000);
        assert_eq!(text(&[frame("1\n"), beginnings.clone(), frame("2\n")].concat(), 1 << 20).unwrap(), "1\n");
        assert_eq!(text(&[&beginnings[..4000], &frame("2\n")].concat(), 1 << 20).unwrap(), "2\n");
    }

    #[test]
    fn what_is_too_long_is_refused_and_so_is_rubbish_that_would_be() {
        let long = frame(&line(0));
        assert_eq!(text(&long, 100), Err(TooLong));
        // Ten frames with a wrong checksum, which are all dropped.
        let mut damaged = long;
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(text(&damaged, 1000).unwrap(), "");
        assert_eq!(text(&damaged.repeat(10), 1000), Err(TooLong));
    }
}
