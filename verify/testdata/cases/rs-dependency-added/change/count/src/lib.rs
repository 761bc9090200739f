//! Counts pages.

/// Returns how many pages lie from one to another.
pub fn count(from: u32, to: u32) -> u32 {
    to.saturating_sub(from) + 1
}
