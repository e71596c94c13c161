//! The commands, one file each.

pub(crate) mod batch;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod lab;
pub(crate) mod list;
pub(crate) mod plot;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod server;
pub(crate) mod show;
