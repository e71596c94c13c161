//! Files of Flent: gzip around JSON, or the JSON itself.

#[cfg(feature = "export")]
use std::io::Read;
use std::path::Path;

#[cfg(feature = "export")]
use flate2::read::MultiGzDecoder;
use rrul_model::flent;
use rrul_model::recording::Recording;

use crate::failure::{ContentError, Failure};

/// What a gzip file begins with: RFC 1952 section 2.3.1, and deflate, the only method.
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
/// What a bzip2 file begins with.
const BZIP2: &[u8] = b"BZh";
/// Longest text that is read, bytes: some two days of a usual test. Nothing longer is decompressed.
const LONGEST_TEXT: u64 = 256 << 20;

/// The recording in a file of Flent; `None` when it is none of Flent's.
pub(super) fn read(path: &Path, octets: &[u8]) -> Option<Result<Recording, Failure>> {
    let is_flent = octets.starts_with(&GZIP) || octets.starts_with(BZIP2) || flent::looks_like(octets);
    is_flent.then(|| recording(octets).map_err(|problem| Failure::content(path, problem)))
}

#[cfg(not(feature = "export"))]
fn recording(_: &[u8]) -> Result<Recording, ContentError> {
    Err(ContentError::FlentNotBuilt)
}

#[cfg(feature = "export")]
fn recording(octets: &[u8]) -> Result<Recording, ContentError> {
    if octets.starts_with(BZIP2) {
        return Err(ContentError::Bzip2);
    }
    if octets.starts_with(&GZIP) {
        return Ok(flent::read(&decompressed(octets)?)?);
    }
    if octets.len() as u64 > LONGEST_TEXT {
        return Err(ContentError::FlentTooLong(LONGEST_TEXT));
    }
    Ok(flent::read(octets)?)
}

#[cfg(feature = "export")]
fn decompressed(octets: &[u8]) -> Result<Vec<u8>, ContentError> {
    let mut text = Vec::new();
    let mut limited = MultiGzDecoder::new(octets).take(LONGEST_TEXT + 1);
    limited.read_to_end(&mut text).map_err(ContentError::Gzip)?;
    if text.len() as u64 > LONGEST_TEXT {
        return Err(ContentError::FlentTooLong(LONGEST_TEXT));
    }
    Ok(text)
}

#[cfg(feature = "export")]
#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn refused(octets: &[u8]) -> String {
        let error = read(Path::new("x.gz"), octets).unwrap().unwrap_err().to_string();
        assert!(error.starts_with("x.gz: ") && !error.contains('\n'), "{error}");
        error
    }

    const SMALL: &[u8] =
        br#"{"x_values":[0,1],"results":{"TCP upload":[1,1]},"metadata":{"NAME":"tcp_upload","STEP_SIZE":1}}"#;

    #[test]
    fn a_file_is_known_by_its_content() {
        for octets in [gzip(SMALL), SMALL.to_vec()] {
            let recording = read(Path::new("any-name"), &octets).unwrap().unwrap();
            assert_eq!(recording.header.plan.name, "flent/tcp_upload");
        }
        assert!(read(Path::new("x"), b"\x28\xb5\x2f\xfd").is_none());
        assert!(read(Path::new("x"), b"{\"header\":{}}").is_none());
        assert!(refused(b"BZh91AY&SY").contains("bunzip2"));
    }

    #[test]
    fn damage_and_bombs_are_reported_in_one_line() {
        let whole = gzip(SMALL);
        assert!(refused(&whole[..whole.len() - 9]).contains("damaged or cut off"));
        let mut damaged = whole;
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0xff;
        refused(&damaged);
        assert!(refused(&gzip(b"no JSON")).contains("unreadable recording of Flent"));
        // 300 MiB of spaces in 300 kB.
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let spaces = vec![b' '; 1 << 20];
        for _ in 0..300 {
            encoder.write_all(&spaces).unwrap();
        }
        assert!(refused(&encoder.finish().unwrap()).contains("256 MiB"));
    }
}
