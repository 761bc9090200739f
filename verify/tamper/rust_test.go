package tamper

import (
	"testing"
)

const rustTwo = `pub fn add<'a>(x: &'a str) -> char { '"' }

/* #[test] /* nested */ fn not_a_test() {} */
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one() {
        assert_eq!(add("#[ignore]"), r#"" #[ignore] "#);
    }

    /// Text.
    #[tokio::test(flavor = "multi_thread")]
    #[should_panic]
    pub async fn two() {}
}
`

func TestTamperingWithRust(t *testing.T) {
	t.Parallel()
	replace := edited("src/a.rs", rustTwo)
	runTampering(t, map[string]tampering{
		"a file of tests is deleted": {files{"tests/a.rs": rustTwo}, nil, []string{"test file deleted: tests/a.rs (one, two)"}},
		"a file of code is deleted":  {files{"src/a.rs": rustTwo}, nil, []string{"tests deleted with src/a.rs (one, two)"}},
		"a file is renamed away":     {files{"tests/a.rs": rustTwo}, files{"tests/a.rs.off": rustTwo}, []string{"test file renamed so that it does not run: tests/a.rs -> tests/a.rs.off (one, two)"}},
		"a test is deleted":          replace("    #[test]\n", "").wants("1 test fewer: one in src/a.rs"),
		"a test is commented out":    replace("    #[test]\n", "    // #[test]\n").wants("1 test fewer: one in src/a.rs"),
		"ignore":                     replace("#[test]\n    fn", "#[test]\n    #[ignore]\n    fn").wants("test newly skipped: one in src/a.rs (#[ignore])"),
		"a test after a lifetime":    {files{"src/a.rs": "fn f(x: &'static str) {} #[test] fn one() {}\n"}, files{"src/a.rs": "fn f() {}\n"}, []string{"1 test fewer: one in src/a.rs"}},
		"a test in nested comments":  {files{"src/a.rs": "#[test] fn one() {}\n"}, files{"src/a.rs": "/* /* x */ #[test] fn one() {} */\n"}, []string{"1 test fewer: one in src/a.rs"}},
		"ignore with a reason":       replace("#[should_panic]", "#[should_panic]\n    #[ignore = \"slow\"]").wants("test newly skipped: two in src/a.rs (#[ignore])"),
		"ignore comes first":         replace("#[test]\n    fn", "#[ignore] #[test]\n    fn").wants("test newly skipped: one in src/a.rs (#[ignore])"),
		"ignore on a condition":      replace("#[test]\n    fn", "#[test]\n    #[cfg_attr(not(feature = \"x\"), ignore)]\n    fn").wants("test newly skipped: one in src/a.rs (#[ignore])"),
		"built with a feature only":  replace("#[test]\n    fn", "#[test]\n    #[cfg(feature = \"slow\")]\n    fn").wants("test newly skipped: one in src/a.rs (#[cfg])"),
		"a module that is not built": replace("#[cfg(test)]", "#[cfg(all(test, any()))]").wants("tests newly skipped: one, two in src/a.rs (#[cfg])"),
		"a file that is not built":   {files{"tests/a.rs": rustTwo}, files{"tests/a.rs": "#![cfg(feature = \"slow\")]\n" + rustTwo}, []string{"tests newly skipped: one, two in tests/a.rs (#![cfg])"}},
	})
	// Ordinary work on tests is never reported.
	runTampering(t, map[string]tampering{
		"a new file":                 {nil, files{"src/a.rs": rustTwo}, nil},
		"a new test":                 replace("    /// Text", "    #[test]\n    fn three() {}\n\n    /// Text"),
		"a new test that is ignored": replace("    /// Text", "    #[test]\n    #[ignore]\n    fn three() {}\n\n    /// Text"),
		"a test is renamed":          replace("fn one", "fn uno"),
		"another expectation":        replace("assert_eq!", "assert_ne!"),
		"tests are moved":            {files{"src/a.rs": rustTwo}, files{"src/a.rs": "mod tests;", "src/a/tests.rs": rustTwo}, nil},
		"another attribute":          replace("#[should_panic]", "#[should_panic(expected = \"ignore\")]"),
		"words in a comment":         replace("#[test]\n    fn", "#[test]\n    // #[ignore]\n    fn"),
		"a feature of code":          replace("pub fn add", "#[cfg(feature = \"x\")]\nfn x() {}\n\npub fn add"),
		"a function is deleted":      replace("pub fn add<'a>(x: &'a str) -> char { '\"' }\n", ""),
		"code is deleted":            {files{"src/b.rs": "pub fn b() {}"}, nil, nil},
		"what was built":             {files{"target/x/a.rs": rustTwo}, nil, nil},
	})
}
