//! Files of Flent of every version become recordings, and no file can do harm.

mod files;
mod hostile;
mod versions;
