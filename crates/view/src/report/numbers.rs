//! Numbers of what the script of the page draws.

/// Numbers of what the script draws, in the order in which it is written.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub(super) plots: usize,
    pub(super) drawings: usize,
}

impl Numbers {
    pub(super) fn plot(&mut self) -> usize {
        self.plots += 1;
        self.plots - 1
    }

    pub(super) fn drawing(&mut self) -> usize {
        self.drawings += 1;
        self.drawings - 1
    }
}
