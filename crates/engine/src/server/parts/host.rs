//! Flows that the server's host answers by itself.

use crate::server::session::ServerPart;

/// No part: the program has nothing to do.
pub(crate) struct HostAnswers;

impl ServerPart for HostAnswers {}
