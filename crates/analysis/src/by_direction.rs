//! A pair of values: one of the direction up, one of the direction down.

use rrul_model::flow::Direction;
use schemars::JsonSchema;
use serde::Serialize;

/// Something of each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct ByDirection<T> {
    /// Client to server.
    pub up: T,
    /// Server to client.
    pub down: T,
}

impl<T> ByDirection<T> {
    /// Both, each made for its direction.
    pub fn each(mut of: impl FnMut(Direction) -> T) -> Self {
        Self { up: of(Direction::Up), down: of(Direction::Down) }
    }

    pub fn get(&self, direction: Direction) -> &T {
        direction.select(&self.up, &self.down)
    }

    /// That of one direction, to change it.
    pub fn get_mut(&mut self, direction: Direction) -> &mut T {
        direction.select(&mut self.up, &mut self.down)
    }
}
