use compare::same;
use pages::parse;

#[test]
fn refused() {
    for text in ["", "1,,2", "5-2", "0"] {
        same(parse(text).is_err(), true);
    }
}
