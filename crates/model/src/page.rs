//! Pages as data (spec: Web Component): what objects a page consists of, where they lie, and which asks for which.
//!
//! A page is frozen: both ends and the analysis read the same manifest, its hash is in every recording, and a changed
//! page gets another name (spec: Test Versioning).

mod read;

use std::fmt::Write;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::units::ByteCount;

/// The manifests that come with the program, compressed.
const PAGES: [(&str, &[u8]); 2] = [
    ("rrul2013", include_bytes!(concat!(env!("OUT_DIR"), "/rrul2013.zst"))),
    ("rrul2025", include_bytes!(concat!(env!("OUT_DIR"), "/rrul2025.zst"))),
];

/// The version of HTTP that a host speaks best, as its pages have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HttpVersion {
    /// HTTP/1.1 (RFC 9112), up to six connections a host.
    Http1,
    /// HTTP/2 (RFC 9113), one connection a host.
    Http2,
    /// HTTP/3 over QUIC (RFC 9114), one connection a host.
    Http3,
}

impl HttpVersion {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Http1, Self::Http2, Self::Http3];

    /// The name in manifests and plans.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http/1.1",
            Self::Http2 => "h2",
            Self::Http3 => "h3",
        }
    }

    /// The number in [`WebObject`](crate::observation::WebObject).
    pub fn code(self) -> u8 {
        match self {
            Self::Http1 => 11,
            Self::Http2 => 20,
            Self::Http3 => 30,
        }
    }
}

/// What an object is to the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    Html,
    Css,
    Script,
    Font,
    Image,
    /// Data that a script fetches.
    Fetch,
    /// A report that a script sends once the page is there.
    Beacon,
}

impl ObjectKind {
    const ALL: [(&'static str, Self); 7] = [
        ("html", Self::Html),
        ("css", Self::Css),
        ("script", Self::Script),
        ("font", Self::Font),
        ("image", Self::Image),
        ("fetch", Self::Fetch),
        ("beacon", Self::Beacon),
    ];

    /// The media type that a server declares.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Css => "text/css",
            Self::Script => "text/javascript",
            Self::Font => "font/woff2",
            Self::Image => "image/png",
            Self::Fetch | Self::Beacon => "application/octet-stream",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageHost {
    /// The first label of its name.
    pub name: String,
    pub protocol: HttpVersion,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageObject {
    pub kind: ObjectKind,
    pub host: usize,
    pub octets: ByteCount,
    /// The object that asks for it once it is there whole; `None` for the document.
    pub parent: Option<usize>,
    /// From the parent's arrival to the request: what a processor would take.
    pub think: Duration,
    /// From the request's arrival at the server to the response.
    pub wait: Duration,
    /// Whether nothing can be shown before it is there.
    pub critical: bool,
    /// Whether it is the largest thing in view.
    pub hero: bool,
    /// Whether the load event does not wait for it.
    pub later: bool,
}

/// What a page goes on asking for once it is there, over a connection that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    pub host: usize,
    pub octets: ByteCount,
    /// From one request to the next.
    pub interval: Duration,
    /// What the server takes for each.
    pub wait: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its name: `rrul2025`.
    pub name: String,
    pub title: String,
    /// Whether it is served over TLS.
    pub secure: bool,
    /// Its hosts; the first has the document.
    pub hosts: Vec<PageHost>,
    /// Its objects, the document first, each after the one that asks for it.
    pub objects: Vec<PageObject>,
    /// What it asks for afterwards.
    pub refresh: Option<Refresh>,
    /// SHA-256 of what the manifest says, without its comments, in hexadecimal.
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("page {page}: {reason}")]
pub struct PageError {
    pub page: String,
    pub reason: String,
}

impl Page {
    /// Number of the first refresh of a load in [`WebObject::object`](crate::observation::WebObject::object): the numbers
    /// below are those of the manifest.
    pub const REFRESH: u16 = 0x8000;

    /// The names of the pages that come with the program.
    pub const NAMES: [&'static str; 2] = [PAGES[0].0, PAGES[1].0];

    /// The page of flows that name none.
    pub const DEFAULT: &'static str = Self::NAMES[1];

    pub fn named(name: &str) -> Option<Self> {
        let (name, text) = PAGES.iter().find(|(known, _)| *known == name)?;
        Self::read(name, &String::from_utf8(zstd::decode_all(*text).ok()?).ok()?).ok()
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn read(name: &str, text: &str) -> Result<Self, PageError> {
        read::page(name, text)
    }

    /// Bytes of all bodies, those for which the load event does not wait included.
    pub fn octets(&self) -> ByteCount {
        ByteCount(self.objects.iter().map(|object| object.octets.0).sum())
    }

    /// Bytes of the bodies for which the load event waits.
    pub fn awaited_octets(&self) -> ByteCount {
        ByteCount(self.awaited().map(|number| self.objects[number].octets.0).sum())
    }

    /// The objects that the load event waits for, by number.
    pub fn awaited(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.objects.len()).filter(|number| !self.objects[*number].later)
    }

    /// The objects that ask for none before they are there: those for which this one is the parent.
    pub fn children(&self, parent: usize) -> impl Iterator<Item = (usize, &PageObject)> {
        self.objects.iter().enumerate().filter(move |(_, object)| object.parent == Some(parent))
    }

    /// Everything that makes the page what it is, in one order and one notation.
    fn canonical(&self) -> String {
        let mut text = format!("secure {}\n", self.secure);
        for host in &self.hosts {
            let _ = writeln!(text, "host {} {}", host.name, host.protocol.name());
        }
        for object in &self.objects {
            let kind = ObjectKind::ALL.iter().find(|(_, kind)| *kind == object.kind).map_or("", |(name, _)| name);
            let parent = object.parent.map_or_else(|| "-".to_owned(), |parent| parent.to_string());
            let flags = [object.critical, object.hero, object.later].map(u8::from);
            let (think, wait) = (object.think.as_micros(), object.wait.as_micros());
            let _ = writeln!(text, "{kind} {} {} {parent} {think} {wait} {flags:?}", object.host, object.octets.0);
        }
        if let Some(refresh) = &self.refresh {
            let (interval, wait) = (refresh.interval.as_micros(), refresh.wait.as_micros());
            let _ = writeln!(text, "refresh {} {} {interval} {wait}", refresh.host, refresh.octets.0);
        }
        text
    }

    fn sealed(mut self) -> Self {
        let digest = Sha256::digest(self.canonical());
        self.hash = digest.iter().fold(String::new(), |mut text, octet| {
            let _ = write!(text, "{octet:02x}");
            text
        });
        self
    }
}

#[cfg(test)]
mod tests;
