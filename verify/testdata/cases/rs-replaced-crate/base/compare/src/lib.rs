//! Comparisons for tests.

/// Panics if two values differ.
pub fn same<T: PartialEq + std::fmt::Debug>(got: T, want: T) {
    assert_eq!(got, want);
}
