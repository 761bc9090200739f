#[test]
#[ignore = "slow: the nightly build runs it"]
fn huge() {
    assert_eq!(pages::parse("1-90000").unwrap().len(), 90_000);
}
