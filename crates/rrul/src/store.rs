//! Recordings as files: `NAME.rrul.part` while a test runs, `NAME.rrul` when it has ended.
//!
//! Every line is a zstd frame of its own, written as soon as it is there, so that whatever ends the program leaves a
//! file that reads up to its last whole line and, should a byte of it be
//! damaged, without that line. Nothing is ever overwritten.

mod flent;
#[cfg(test)]
mod fuzz_tests;
mod salvage;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use rrul_analysis::Analysis;
use rrul_analysis::digest::{self, Digest};
use rrul_model::reading_budget::ReadingBudget;
use rrul_model::recording::{Line, Recording, RecordingError};

use crate::failure::{ContentError, Failure};
use crate::live_screen::terminal;

/// What a recording's name ends in.
const ENDING: &str = "rrul";

/// Longest file that is read, bytes.
const LONGEST: usize = 256 << 20;

/// A recording that is being written.
#[derive(Debug)]
pub(crate) struct Writer {
    part: PathBuf,
    path: PathBuf,
    file: File,
    /// Up to where the file contains whole frames.
    whole: u64,
    /// Frames that could not be written yet, as the disk was full.
    waiting: Vec<u8>,
}

impl Writer {
    /// Makes `NAME.rrul.part`, so that a place that cannot be written to is known before the test.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        if names_no_file(path) {
            return Err(Failure::NoFileName(path.to_owned()));
        }
        let path = with_ending(path);
        if path.exists() {
            return Err(Failure::Output { path, source: io::ErrorKind::AlreadyExists.into() });
        }
        let mut part = path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = OpenOptions::new().write(true).create_new(true).open(&part).map_err(Failure::output(&part))?;
        Ok(Self { part, path, file, whole: 0, waiting: Vec::new() })
    }

    /// Makes the first of `STEM.rrul.part`, `STEM-2.rrul.part`, ... whose name is free.
    pub(crate) fn create_free(stem: &str) -> Result<Self, Failure> {
        loop {
            match Self::create(&free_name(stem)) {
                // Another run has taken the name after it was found free.
                Err(Failure::Output { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made,
            }
        }
    }

    /// Appends one line. What the disk does not take waits for the next call.
    ///
    /// # Errors
    /// When it was not written; it is kept, and the file still ends in a whole frame.
    pub(crate) fn append(&mut self, line: &Line) -> io::Result<()> {
        self.waiting.extend(frame_of(line)?);
        self.write_waiting()
    }

    fn write_waiting(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.waiting);
        if written.is_ok() {
            self.whole += self.waiting.len() as u64;
            self.waiting.clear();
        } else {
            // Half a frame must not stand before the next one.
            self.file.seek(io::SeekFrom::Start(self.whole))?;
            self.file.set_len(self.whole)?;
        }
        written
    }

    /// Gives the file its final name, which is returned.
    pub(crate) fn finish(mut self) -> Result<PathBuf, Failure> {
        if let Err(source) = self.write_waiting().and_then(|()| self.file.sync_data()) {
            return Err(Failure::Unfinished { path: self.part, source });
        }
        let left_over = give_name(&self.part, &self.path, |part| std::fs::remove_file(part))?;
        if let Some(error) = left_over {
            let (part, path) = (self.part.display(), self.path.display());
            terminal::say(&format!(
                "rrul: note: {part}: {error}; it is the same file as {path}, remove that name by hand"
            ));
        }
        Ok(self.path)
    }

    pub(crate) fn write(path: &Path, recording: &Recording) -> Result<PathBuf, Failure> {
        let mut writer = Self::create(path)?;
        let header = std::iter::once(Line::Header(Box::new(recording.header.clone())));
        let frames = recording.frames.iter().map(|frame| Line::Frame(Box::new(frame.clone())));
        let steps = recording.steps.iter().map(|step| Line::Step(Box::new(step.clone())));
        for line in header.chain(frames).chain(steps).chain(recording.end.clone().map(Line::End)) {
            if let Err(source) = writer.append(&line) {
                let path = writer.part().to_owned();
                writer.discard();
                return Err(Failure::Output { path, source });
            }
        }
        writer.finish()
    }

    /// Where it is written to while the test runs.
    pub(crate) fn part(&self) -> &Path {
        &self.part
    }

    /// Removes the file, as the test has not begun.
    pub(crate) fn discard(self) {
        // Should it stay, it is an empty file with a telling name.
        let _ = std::fs::remove_file(&self.part);
    }
}

/// A line as a zstd frame.
fn frame_of(line: &Line) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let mut compressor = zstd::bulk::Compressor::new(3)?;
    // Without it, a damaged byte may read as another number.
    compressor.include_checksum(true)?;
    compressor.compress(&text)
}

/// Writes the digest of this analysis behind its recording, which can do without: where that fails, the file is as it was.
pub(crate) fn append_digest(path: &Path, recording: &Recording, analysis: &Analysis) {
    let Some(digest) = Digest::new(recording, analysis) else { return };
    let append = || -> io::Result<()> {
        let frame = frame_of(&Line::Digest(serde_json::to_value(&digest)?))?;
        let mut file = OpenOptions::new().append(true).open(path)?;
        let whole = file.metadata()?.len();
        file.write_all(&frame).or_else(|error| file.set_len(whole).and(Err(error)))
    };
    // Without it the same is computed again.
    let _ = append();
}

/// Gives the file `part` the name `path` and takes its old one by `remove`; why that stayed, should it stay.
fn give_name(
    part: &Path,
    path: &Path,
    remove: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<Option<io::Error>, Failure> {
    // A link never replaces what is there, as a renaming would. Where links are not available, look first.
    match std::fs::hard_link(part, path) {
        // The recording has its name; a second one takes nothing from it.
        Ok(()) => Ok(remove(part).err()),
        Err(_) if !path.exists() => std::fs::rename(part, path).map(|()| None).map_err(Failure::output(path)),
        Err(source) => Err(Failure::Output { path: part.to_owned(), source }),
    }
}

/// Whether the path ends where a file's name should stand: `""`, `folder/`, `.`, `..`.
fn names_no_file(path: &Path) -> bool {
    let octets = path.as_os_str().as_encoded_bytes();
    matches!(octets.rsplit(|octet| *octet == b'/').next(), None | Some(b"" | b"." | b".."))
}

/// The path with `.rrul` at its end.
fn with_ending(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|ending| ending == ENDING) {
        return path.to_owned();
    }
    let mut name = path.to_owned().into_os_string();
    name.push(".");
    name.push(ENDING);
    name.into()
}

/// The first of `STEM.rrul`, `STEM-2.rrul`, ... that is free.
fn free_name(stem: &str) -> PathBuf {
    let is_free = |path: &PathBuf| !path.exists() && !path.with_extension("rrul.part").exists();
    let plain = PathBuf::from(format!("{stem}.{ENDING}"));
    if is_free(&plain) {
        return plain;
    }
    (2_u32..=u32::MAX).map(|number| PathBuf::from(format!("{stem}-{number}.{ENDING}"))).find(is_free).unwrap_or(plain)
}

/// Reads a recording: whole, cut off, or without the frames that are damaged; or a file of Flent, known by its content.
pub(crate) fn read(path: &Path) -> Result<Recording, Failure> {
    content(path)?.recording(path)
}

/// What `by_digest` makes of a recording with a digest of this program, of which only these tables are read. Without one, or where
/// it makes nothing of it, what `by_all` makes of the whole.
pub(crate) fn read_tables<T>(
    path: &Path,
    tables: &[&str],
    by_digest: impl FnOnce(&Recording) -> Option<T>,
    by_all: impl FnOnce(&Recording) -> T,
) -> Result<T, Failure> {
    let (text, budget) = match content(path)? {
        Content::Lines(text, budget) if digest::is_behind(&text) => (text, budget),
        other => return other.recording(path).map(|recording| by_all(&recording)),
    };
    let recording = Recording::from_tables(&text, budget, tables).map_err(unreadable(path))?;
    // It is as large as the recording.
    drop(text);
    by_digest(&recording).map_or_else(|| Ok(by_all(&read(path)?)), Ok)
}

fn unreadable(path: &Path) -> impl Fn(RecordingError) -> Failure {
    move |source| Failure::Recording { path: path.to_owned(), source }
}

/// The content of a file.
enum Content {
    Imported(Box<Recording>),
    Lines(String, ReadingBudget),
}

impl Content {
    fn recording(self, path: &Path) -> Result<Recording, Failure> {
        match self {
            Self::Imported(recording) => Ok(*recording),
            Self::Lines(text, budget) => Recording::from_lines_within(&text, budget).map_err(unreadable(path)),
        }
    }
}

fn content(path: &Path) -> Result<Content, Failure> {
    let too_long = |_| Failure::content(path, ContentError::TooLong);
    let file = File::open(path).map_err(Failure::file(path))?;
    let mut octets = Vec::new();
    match file.take(LONGEST as u64).read_to_end(&mut octets) {
        Ok(length) if length >= LONGEST => return Err(too_long(salvage::TooLong)),
        Ok(_) => {}
        // A folder opens like a file.
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {}
        Err(error) => return Err(Failure::file(path)(error)),
    }
    if let Some(imported) = flent::read(path, &octets) {
        return imported.map(|recording| Content::Imported(Box::new(recording)));
    }
    let budget = ReadingBudget::for_file(octets.len());
    let text = salvage::text(&octets, budget.text).map_err(too_long)?;
    if text.is_empty() {
        return Err(Failure::content(path, ContentError::NoRecording));
    }
    Ok(Content::Lines(text, budget))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::recording::End;
    use rrul_model::time::TestTime;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("rrul-store-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn end() -> Line {
        Line::End(End { at: TestTime(1), partial: None, ..End::default() })
    }

    #[test]
    fn a_file_gets_its_name_at_the_end_and_never_replaces_another() {
        let folder = folder("names");
        let path = folder.join("a");
        let mut writer = Writer::create(&path).unwrap();
        assert!(folder.join("a.rrul.part").exists());
        writer.append(&end()).unwrap();
        std::fs::write(folder.join("a.rrul"), "mine").unwrap();
        let error = writer.finish().unwrap_err().to_string();
        assert!(error.contains("a.rrul.part") && error.contains("never overwritten"), "{error}");
        assert_eq!(std::fs::read_to_string(folder.join("a.rrul")).unwrap(), "mine");
        assert!(Writer::create(&path).unwrap_err().to_string().contains("never overwritten"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_recording_whose_old_name_stays_is_whole_and_the_reason_is_given() {
        let folder = folder("left-over");
        let (part, path) = (folder.join("a.rrul.part"), folder.join("a.rrul"));
        std::fs::write(&part, "mine").unwrap();
        let left_over = give_name(&part, &path, |_| Err(io::ErrorKind::PermissionDenied.into())).unwrap();
        assert_eq!(left_over.unwrap().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        assert!(give_name(&part, &folder.join("b.rrul"), |part| std::fs::remove_file(part)).unwrap().is_none());
        assert!(!part.exists());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_recording_is_reported_in_one_line() {
        let folder = folder("foreign");
        let path = folder.join("x.rrul");
        for octets in [&b"plain text, and some more of it"[..], b"", b"\x28\xb5\x2f\xfd"] {
            std::fs::write(&path, octets).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains("x.rrul: ") && !error.contains('\n'), "{error}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
