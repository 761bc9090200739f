//! Comparisons for tests, without dependencies.

/// Says if two values differ.
pub fn same<T: PartialEq + std::fmt::Debug>(got: T, want: T) -> bool {
    got == want
}
