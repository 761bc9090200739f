use temp::celsius;

#[test]
fn boiling() {
    assert_eq!(celsius(212.0), 100.0);
}

#[test]
fn minus_forty() {
    assert_eq!(celsius(-40.0), -40.0);
}
