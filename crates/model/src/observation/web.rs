//! What is observed of web pages (spec: Web Component).

use super::columns::table;
use crate::flow::FlowId;
use crate::time::TestTime;
use crate::units::{ByteCount, Delay};

table! {
    /// One load of a page, with empty caches, from its first lookup or connection to its load event.
    PageLoad in PageLoadTable {
        flow: FlowId,
        /// Which load, from 0.
        load: u32,
        /// When the schedule wanted it begun; later where the load before had not ended.
        scheduled: TestTime,
        /// When it began.
        started: TestTime,
        /// What became of it: [`FAILED`](Self::FAILED) and the other constants.
        outcome: u8,
        /// From `started` to its end: the last object that the load event waits for, the failure, or the cap.
        took: Delay,
        /// HTTP/3 connections that were asked for and could not be had, so that HTTP/2 took their place.
        fallbacks: u16,
    }
}

impl PageLoad {
    /// The page itself, or an object that it cannot do without, could not be had.
    pub const FAILED: u8 = 0;
    /// Not complete within its cap.
    pub const CAPPED: u8 = 1;
    /// Complete; single objects may have failed, as they do in a browser.
    pub const COMPLETE: u8 = 2;
    /// What loads it crashed, hung or could not be started.
    pub const BROKEN: u8 = 3;
    /// Not complete when its window ended, before its cap: it says nothing but that it would have taken longer.
    pub const CUT: u8 = 4;
}

table! {
    /// One object of a page. Stretches of time follow each other in this order, as in a HAR file; those that did not
    /// occur, as nothing was looked up for a connection that was there, are [`NONE`](Self::NONE).
    WebObject in WebObjectTable {
        flow: FlowId,
        load: u32,
        /// Its number in the page's manifest; in a browser the order of requests.
        object: u16,
        /// What became of it: [`FAILED`](Self::FAILED) and the other constants.
        outcome: u8,
        /// HTTP status; 0 without one.
        status: u16,
        /// 11, 20, 30: HTTP/1.1, HTTP/2, HTTP/3; 0 where it never came to that.
        protocol: u8,
        /// The flow's connection that carried it, as in [`ConnectionTotals`](super::ConnectionTotals); in a browser its own number.
        connection: u32,
        wanted: TestTime,
        /// Waiting for a connection that is free or being made.
        blocked: Delay,
        /// Looking up the host's name.
        lookup: Delay,
        /// TCP's handshake; with QUIC both handshakes in one.
        connect: Delay,
        /// TLS's handshake over TCP.
        secure: Delay,
        /// Handing over the request.
        send: Delay,
        /// From there to the first byte of the response.
        wait: Delay,
        /// From the first to the last byte of the response.
        receive: Delay,
        /// Bytes of the response's body that arrived.
        octets: ByteCount,
    }
}

impl WebObject {
    /// It could not be had.
    pub const FAILED: u8 = 0;
    /// Not complete when the load was capped.
    pub const INCOMPLETE: u8 = 1;
    /// Complete, with a status below 400.
    pub const COMPLETE: u8 = 2;

    /// A stretch of time that did not occur.
    pub const NONE: Delay = Delay(-1);
}

table! {
    /// What a browser says of one load, by its own clock from the beginning of navigation; [`WebObject::NONE`] where it
    /// does not (W3C Navigation Timing, Paint Timing, Largest Contentful Paint).
    BrowserTiming in BrowserTimingTable {
        flow: FlowId,
        load: u32,
        /// First byte of the document (`responseStart`): time to first byte.
        first_byte: Delay,
        /// The browser committed to showing the document.
        commit: Delay,
        first_contentful_paint: Delay,
        /// Largest contentful paint up to 200 ms after the load event, and the first of all up to 1 s after it.
        largest_contentful_paint: Delay,
        /// `DOMContentLoaded` had been handled.
        dom_content_loaded: Delay,
        /// The load event had been handled: page load time.
        load_event: Delay,
    }
}

table! {
    /// Processor time of the browsers of one flow, all processes of all of them since the test began, cumulative (proc(5),
    /// /proc/PID/stat). It is read once a second while a page is loaded, and as a browser starts and ends.
    BrowserTime in BrowserTimeTable {
        flow: FlowId,
        /// When it was read.
        at: TestTime,
        /// In user code.
        user: Delay,
        /// In the kernel.
        system: Delay,
    }
}
