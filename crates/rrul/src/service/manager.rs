//! What the service manager is to know (sd_notify(3)).

/// What a service does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum State {
    Ready,
    Stopping,
}

#[cfg(feature = "log")]
pub(crate) fn tell(state: State) {
    let state = match state {
        State::Ready => sd_notify::NotifyState::Ready,
        State::Stopping => sd_notify::NotifyState::Stopping,
    };
    // Without a manager that listens nothing is sent.
    let _ = sd_notify::notify(&[state]);
}

#[cfg(not(feature = "log"))]
pub(crate) fn tell(_: State) {}
