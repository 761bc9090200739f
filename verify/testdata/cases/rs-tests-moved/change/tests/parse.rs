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
fn single_pages() {
    assert_eq!(parse("3"), Ok(vec![3]));
    assert_eq!(parse("3, 1"), Ok(vec![3, 1]));
}

#[test]
fn backwards() {
    assert_eq!(parse("5-2"), Err(Error::Empty("5-2".into())));
    assert_eq!(parse("0"), Err(Error::Empty("0".into())));
}
