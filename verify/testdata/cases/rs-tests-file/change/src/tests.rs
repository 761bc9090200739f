use super::*;

#[test]
fn freezing() {
    assert_eq!(celsius(32.0), 0.0);
}

#[test]
fn body() {
    assert!((celsius(98.6) - 37.0).abs() < 1e-9);
}
