#[test]
fn huge() {
    assert_eq!(pages::parse("1-90000").unwrap().len(), 90_000);
}
