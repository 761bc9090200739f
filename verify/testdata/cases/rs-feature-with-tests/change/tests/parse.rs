use pages::{parse, Error};

#[test]
fn ranges() {
    assert_eq!(parse("1-3,8"), Ok(vec![1, 2, 3, 8]));
}

#[test]
fn not_a_number() {
    for text in ["", "x", "1-", "-3", "1--2", "1,,2"] {
        assert!(matches!(parse(text), Err(Error::Syntax(_))), "{text}");
    }
}

#[test]
fn trailing_comma() {
    assert_eq!(parse("1-3, 8,"), Ok(vec![1, 2, 3, 8]));
}
