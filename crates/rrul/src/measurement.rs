//! One test: run, recorded as it goes, shown as it goes.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use rrul_analysis::{Analysis, analyze};
use rrul_engine::client::{MemoryRecorder, PlaceInLine, RunObserver, RunOptions, run};
use rrul_engine::scheduling;
use rrul_model::recording::{End, Frame, Header, Line, Recording};
use rrul_model::time::TestTime;

use crate::failure::Failure;
use crate::live_screen::terminal;
use crate::progress::Progress;
use crate::store::{Writer, append_digest};

/// A test that has been run.
pub(crate) struct Measurement {
    pub(crate) recording: Recording,
    pub(crate) analysis: Analysis,
    pub(crate) path: Result<PathBuf, Failure>,
}

/// Runs a test in the calling thread's network namespace and records it.
///
/// # Errors
/// When the test cannot begin; the file is then removed.
pub(crate) fn measure(
    options: &RunOptions,
    writer: Writer,
    progress: Progress,
    stop: &AtomicBool,
) -> Result<Measurement, Failure> {
    let (lines, writing) = write_in_background(writer)?;
    let mut audience = Recorder { lines, progress, kept: MemoryRecorder::default() };
    let outcome = run(options, &mut audience, stop);
    audience.progress.close();
    let Recorder { lines, kept, .. } = audience;
    drop(lines);
    let writer = writing.join().map_err(|_| Failure::WriterEnded)?;
    if let Err(error) = outcome {
        writer.discard();
        return Err(error.into());
    }
    let recording = kept.recording().ok_or(Failure::NoHeader)?;
    // What was measured is safe before anything is made of it.
    let path = writer.finish();
    let analysis = analyze(&recording);
    if let Ok(path) = &path {
        append_digest(path, &recording, &analysis);
    }
    Ok(Measurement { recording, analysis, path })
}

/// Takes what the engine brings forth: to the file, to the screen, to memory.
struct Recorder {
    lines: Sender<Line>,
    progress: Progress,
    kept: MemoryRecorder,
}

impl Recorder {
    fn write(&self, line: Line) {
        // The writing thread outlives this sender; should it have died, the file ends there and joining shows it.
        let _ = self.lines.send(line);
    }
}

impl RunObserver for Recorder {
    fn waiting(&mut self, place: PlaceInLine) {
        self.progress.waiting(place);
    }

    fn header(&mut self, header: &Header) {
        self.write(Line::Header(Box::new(header.clone())));
        self.progress.begin(header);
        self.kept.header(header);
    }

    fn frame(&mut self, frame: Frame) {
        self.write(Line::Frame(Box::new(frame.clone())));
        self.progress.frame(&frame);
        self.kept.frame(frame);
    }

    fn tick(&mut self, now: TestTime) {
        self.progress.tick(now);
    }

    fn end(&mut self, end: &End) {
        self.write(Line::End(end.clone()));
        self.kept.end(end);
    }
}

/// A thread that writes lines at low priority, so that compressing and writing never take a core from measuring.
pub(crate) fn write_in_background(mut writer: Writer) -> Result<(Sender<Line>, JoinHandle<Writer>), Failure> {
    let (lines, to_write) = channel::<Line>();
    let work = move || {
        scheduling::run_in_background();
        let mut told = false;
        for line in to_write {
            if let Err(error) = writer.append(&line)
                && !told
            {
                told = true;
                let part = writer.part().display();
                terminal::say(&format!("rrul: {part}: {error}; trying again while the test goes on"));
            }
        }
        writer
    };
    let thread = std::thread::Builder::new().name("recording".to_owned()).spawn(work);
    let thread = thread.map_err(Failure::system("cannot start a thread"))?;
    Ok((lines, thread))
}
