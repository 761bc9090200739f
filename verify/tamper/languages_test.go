package tamper

import (
	"strings"
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

const pyTwo = `"""Tests of add.

def test_in_a_text(): pytest.skip()
"""
import pytest, unittest


def helper(x):
    return x


def test_one():
    assert add(
        1, 2
    ) == 3


class TestAdd:
    def test_two(self):
        # pytest.skip("not any more")
        assert add("pytest.skip()", '''
def test_three(): pass
''')
`

func TestTamperingWithPython(t *testing.T) {
	t.Parallel()
	replace := edited("test_a.py", pyTwo)
	skipped := func(name, how string) string { return "test newly skipped: " + name + " in test_a.py (" + how + ")" }
	both := func(how string) string { return "tests newly skipped: test_one, test_two in test_a.py (" + how + ")" }
	runTampering(t, map[string]tampering{
		"a file is deleted":         {files{"test_a.py": pyTwo}, nil, []string{"test file deleted: test_a.py (test_one, test_two)"}},
		"a file by its folder":      {files{"tests/a.py": "def test_x(): pass"}, nil, []string{"tests deleted with tests/a.py (test_x)"}},
		"a file is renamed away":    {files{"a_test.py": pyTwo}, files{"a.py": pyTwo}, []string{"test file renamed so that it does not run: a_test.py -> a.py (test_one, test_two)"}},
		"a test is deleted":         replace("def test_one", "def old_one").wants("1 test fewer: test_one in test_a.py"),
		"a test is commented out":   replace("def test_one():", "# def test_one():\nif True:").wants("1 test fewer: test_one in test_a.py"),
		"mark.skip":                 replace("def test_one", "@pytest.mark.skip\ndef test_one").wants(skipped("test_one", "pytest.mark.skip")),
		"mark.skip with a reason":   replace("def test_one", "@pytest.mark.skip(\n    reason='later',\n)\ndef test_one").wants(skipped("test_one", "pytest.mark.skip")),
		"mark.skipif":               replace("def test_one", "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\n@other\ndef test_one").wants(skipped("test_one", "pytest.mark.skipif")),
		"mark.xfail":                replace("def test_one", "@pytest.mark.xfail\nasync def test_one").wants(skipped("test_one", "pytest.mark.xfail")),
		"unittest.skip":             replace("    def test_two", "    @unittest.skip('x')\n    def test_two").wants(skipped("test_two", "unittest.skip")),
		"expectedFailure":           replace("    def test_two", "    @unittest.expectedFailure\n    def test_two").wants(skipped("test_two", "unittest.expectedFailure")),
		"a class is skipped":        replace("class TestAdd", "@pytest.mark.skip\nclass TestAdd").wants(skipped("test_two", "pytest.mark.skip")),
		"pytest.skip":               replace("    assert add(\n", "    pytest.skip('later')\n    assert add(\n").wants(skipped("test_one", "pytest.skip")),
		"a return at once":          replace("    assert add(\n", "    return\n    assert add(\n").wants(skipped("test_one", "it returns at once")),
		"skipTest":                  replace("        # pytest", "        self.skipTest('x')\n        # pytest").wants(skipped("test_two", "self.skipTest")),
		"raise SkipTest":            replace("        # pytest", "        raise unittest.SkipTest\n        # pytest").wants(skipped("test_two", "SkipTest")),
		"a mark for the file":       replace("\n\ndef helper", "\npytestmark = [pytest.mark.slow, pytest.mark.skip]\n\ndef helper").wants(both("pytest.mark.skip")),
		"a skip of the file":        replace("\n\ndef helper", "\nif True:\n    pytest.skip(allow_module_level=True)\n\ndef helper").wants(both("pytest.skip")),
		"a file at its end":         {files{"test_a.py": pyTwo}, files{"test_a.py": pyTwo + "\n__test__ = False\n"}, []string{both("__test__ = False")}},
		"a mark of its own":         replace("def test_one", "later = pytest.mark.skipif(True, reason='')\n\n@later\ndef test_one").wants(skipped("test_one", "pytest.mark.skipif")),
		"a helper skips":            replace("    return x", "    pytest.skip()").wants("helper newly skips tests: helper in test_a.py (pytest.skip)"),
		"a new fixture skips":       replace("def test_one()", "@pytest.fixture\ndef net():\n    pytest.skip()\n\ndef test_one(net)").wants(skipped("test_one", "pytest.skip in net")),
		"a fixture for all":         {nil, files{"conftest.py": "@pytest.fixture(autouse=True)\ndef off():\n    pytest.skip()\n"}, []string{"tests newly silenced: conftest.py (a skip in off)"}},
		"before each":               replace("    def test_two", "    def setup_method(self):\n        pytest.skip()\n\n    def test_two").wants("tests newly silenced: test_a.py (a skip in setup_method)"),
		"a folder is left out":      {files{"conftest.py": ""}, files{"conftest.py": "collect_ignore = ['setup.py', 'unit']\n"}, []string{"tests newly silenced: conftest.py (collect_ignore)"}},
		"what is found is left out": {files{"conftest.py": ""}, files{"conftest.py": "collect_ignore = ['setup.py'] + glob('*')\n"}, []string{"tests newly silenced: conftest.py (collect_ignore)"}},
		"files are left out":        {files{"conftest.py": ""}, files{"conftest.py": "collect_ignore = ['test_a.py']\n"}, []string{"tests newly silenced: conftest.py (collect_ignore)"}},
	})
	// Ordinary work on tests is never reported.
	runTampering(t, map[string]tampering{
		"a new file":                 {nil, files{"test_a.py": pyTwo}, nil},
		"no tests are left out":      {files{"conftest.py": ""}, files{"conftest.py": "collect_ignore = [\n    \"setup.py\",\n    'docs/conf.py',\n]\n"}, nil},
		"a new test":                 replace("def test_one", "def test_zero():\n    pass\n\n\ndef test_one"),
		"a new test that is skipped": replace("def test_one", "@pytest.mark.skip\ndef test_zero():\n    pass\n\n\ndef test_one"),
		"another expectation":        replace("== 3", "== 4"),
		"a test is renamed":          replace("test_one", "test_uno"),
		"a test joins a class":       {files{"test_a.py": "def test_a():\n    pass\n"}, files{"test_a.py": "class TestA:\n    def test_a(self):\n        pass\n"}, nil},
		"a test is moved":            {files{"test_a.py": pyTwo}, files{"test_a.py": "def test_one(): pass", "tests/test_b.py": "def test_two(): pass"}, nil},
		"a parameter":                replace("def test_one()", "@pytest.mark.parametrize('x', [\n    1,\n    2,\n])\ndef test_one(x)"),
		"words in a comment":         replace("def test_one():", "def test_one():  # @pytest.mark.skip"),
		"words in a string":          replace("== 3", "== 'pytest.skip()'"),
		"a text at the beginning":    replace("def test_one():", "def test_one():\n    \"\"\"Was skipped:\n\n@pytest.mark.skip\n    pytest.skip()\n    \"\"\""),
		"a skip is taken away":       {files{"test_a.py": "@pytest.mark.skip\ndef test_a():\n    pass\n"}, files{"test_a.py": "def test_a():\n    pass\n"}, nil},
		"a helper is deleted":        replace("def helper(x):\n    return x\n", ""),
		"a package of tests":         {files{"tests/__init__.py": ""}, nil, nil},
		"code":                       {files{"a.py": pyTwo}, files{"a.py": "x = 1"}, nil},
		"a bracket is lost":          replace("add(\n", "add((\n"),
		"the line ends":              {files{"test_a.py": pyTwo}, files{"test_a.py": crlf(pyTwo)}, nil},
	})
}

func crlf(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

const jsTwo = `import { add } from './add'

describe('add', () => {
  it('adds numbers', () => {
    expect(add(1, 2)).toBe(3)
  })

  test("adds words", async () => {
    expect(add('it.skip(', ` + "`x ${add('b', `c`)} y`" + `)).toMatch(/it['"(]/)
  })
})
`

func TestTamperingWithJavaScript(t *testing.T) {
	t.Parallel()
	replace := edited("a.test.ts", jsTwo)
	skipped := func(name, how string) string { return "test newly skipped: " + name + " in a.test.ts (" + how + ")" }
	both := func(how string) string {
		return "tests newly skipped: adds numbers, adds words in a.test.ts (" + how + ")"
	}
	runTampering(t, map[string]tampering{
		"a file is deleted":       {files{"a.test.ts": jsTwo}, nil, []string{"test file deleted: a.test.ts (adds numbers, adds words)"}},
		"a spec is deleted":       {files{"x/a.spec.jsx": "x"}, nil, []string{"test file deleted: x/a.spec.jsx"}},
		"a file by its folder":    {files{"tests/a.js": "test('a', f)"}, nil, []string{"tests deleted with tests/a.js (a)"}},
		"a file is renamed away":  {files{"a.test.ts": jsTwo}, files{"a.ts": jsTwo}, []string{"test file renamed so that it does not run: a.test.ts -> a.ts (adds numbers, adds words)"}},
		"a test is commented out": replace("  it('adds", "  // it('adds").wants("1 test fewer: adds numbers in a.test.ts"),
		"both tests are deleted":  {files{"a.test.ts": jsTwo}, files{"a.test.ts": "describe('add', () => {})\n"}, []string{"2 tests fewer: adds numbers in a.test.ts, adds words in a.test.ts"}},
		"it.skip":                 replace("  it(", "  it.skip(").wants(skipped("adds numbers", "it.skip")),
		"test.skip":               replace("test(", "test.skip(").wants(skipped("adds words", "test.skip")),
		"xit":                     replace("  it(", "  xit(").wants(skipped("adds numbers", "xit")),
		"xtest":                   replace("test(", "xtest(").wants(skipped("adds words", "xtest")),
		"it.todo":                 replace("  it(", "  it.todo(").wants(skipped("adds numbers", "it.todo")),
		"it.concurrent.skip":      replace("  it(", "  it.concurrent.skip(").wants(skipped("adds numbers", "it.concurrent.skip")),
		"it.skipIf":               replace("  it(", "  it.skipIf(process.env.CI)(").wants(skipped("adds numbers", "it.skipIf")),
		"it.fails":                replace("  it(", "  it.fails(").wants(skipped("adds numbers", "it.fails")),
		"describe.skip":           replace("describe(", "describe.skip(").wants(both("describe.skip")),
		"xdescribe":               replace("describe(", "xdescribe(").wants(both("xdescribe")),
		"a skipped group around":  replace("describe(", "describe.skip('wip', () => describe(", "\n})\n", "\n}))\n").wants(both("describe.skip")),
		"test.describe.skip":      replace("describe(", "test.describe.skip(").wants(both("test.describe.skip")),
		"it.only":                 replace("  it(", "  it.only(").wants("tests newly silenced: a.test.ts (it.only)"),
		"fdescribe":               replace("describe(", "fdescribe(").wants("tests newly silenced: a.test.ts (fdescribe)"),
		"an option":               replace("numbers', ()", "numbers', { timeout: 5, skip: true }, ()").wants(skipped("adds numbers", "skip: true")),
		"an option for a group":   replace("'add', ()", "'add', { skip: 'later' }, ()").wants(both("skip: true")),
		"this.skip":               replace("    expect(add(1", "    this.skip()\n    expect(add(1").wants(skipped("adds numbers", "this.skip")),
		"test.skip in a test":     replace("    expect(add(1", "    test.skip(isCI, 'later')\n    expect(add(1").wants(skipped("adds numbers", "test.skip")),
		"this.skip before each":   replace("  it(", "  beforeEach(function () { this.skip() })\n  it(").wants("tests newly silenced: a.test.ts (this.skip)"),
		"each of a table is skipped": {
			files{"a.test.js": "it.each([[1, 2]])('doubles %d', f)\nit.each`a|b\n${1}|${2}`('halves $a', f)\n"},
			files{"a.test.js": "it.skip.each([[1, 2]])('doubles %d', f)\nxit.each`a|b\n${1}|${2}`('halves $a', f)\n"},
			[]string{"test newly skipped: doubles %d in a.test.js (it.skip.each)", "test newly skipped: halves $a in a.test.js (xit.each)"},
		},
	})
	// Ordinary work on tests is never reported.
	runTampering(t, map[string]tampering{
		"a new file":                       {nil, files{"a.test.ts": jsTwo}, nil},
		"a new test":                       replace("  it(", "  it('is new', f)\n  it("),
		"a new test that is to come":       replace("  it(", "  it.todo('subtracts')\n  it.skip('multiplies', f)\n  it("),
		"another expectation":              replace("toBe(3)", "toBe(4)"),
		"a test is renamed":                replace("adds numbers", "sums numbers"),
		"a group is renamed":               replace("'add'", "'addition'"),
		"a group around":                   replace("describe(", "describe('more', () => describe(", "\n})\n", "\n}))\n"),
		"it becomes test":                  replace("  it(", "  test("),
		"it runs at the same time":         replace("  it(", "  it.concurrent("),
		"a test is moved":                  {files{"a.test.ts": jsTwo}, files{"a.test.ts": "it('adds words', f)", "b.test.js": "it('adds numbers', f)"}, nil},
		"a file is renamed":                {files{"a.test.ts": jsTwo}, files{"__tests__/a.ts": jsTwo}, nil},
		"words in a comment":               replace("  it(", "  // it.skip('adds numbers')\n  /* describe.only( */\n  it("),
		"words in a string":                replace("add(1, 2)", "add('describe.skip(', \"it.only(\")"),
		"a skip that is no test's":         replace("add(1, 2)", "db.find({ skip: 10, only: true })"),
		"an option that is off":            replace("numbers', ()", "numbers', { skip: false }, ()"),
		"a hook":                           replace("  it(", "  test.beforeEach(async () => {})\n  it("),
		"a hook is deleted":                {files{"a.test.js": "test.beforeEach(f)\ntest('a', f)"}, files{"a.test.js": "test('a', f)"}, nil},
		"a helper is deleted":              {files{"tests/helper.js": "export const x = 1"}, nil, nil},
		"a module in node_modules":         {files{"node_modules/x/a.test.js": jsTwo}, nil, nil},
		"code":                             {files{"src/a.ts": "it('a', f)"}, files{"src/a.ts": "xit('a', f)"}, nil},
		"a skip is taken away":             {files{"a.test.js": "it.skip('a', f)\nit.only('b', f)"}, files{"a.test.js": "it('a', f)\nit('b', f)"}, nil},
		"the same name twice":              {files{"a.test.js": "it.skip('a', f)\nit('a', f)"}, files{"a.test.js": "it('a', f)\nit.skip('a', f)"}, nil},
		"a focus is moved to another file": {files{"a.test.js": "it.only('a', f)", "b.test.js": "it('b', f)"}, files{"a.test.js": "it('a', f)", "b.test.js": "it.only('b', f)"}, nil},
		"words in a template":              replace("  it(", "  const s = `\nit.only('x', f) ${g({ a: `it.only('z', f)` })} it.only('y', f)`\n  it("),
		"a focus is moved":                 {files{"a.test.js": "it.only('a', f)\nit('b', f)"}, files{"a.test.js": "it('a', f)\nit.only('b', f)"}, nil},
		"types":                            {files{"a.test.ts": "it.each<[number, string]>([[1, 'a']])('x %d', f)"}, files{"a.test.ts": "it.each([[1, 'a']])('x %d', f)"}, nil},
		"an apostrophe in a page":          {files{"a.test.tsx": "it('a', () => <p>Don't</p>)\nit('b', f)"}, files{"a.test.tsx": "it('a', () => <p>Do not</p>)\nit('b', f)"}, nil},
		"a quote in an expression":         {files{"a.test.js": "it('a', f)"}, files{"a.test.js": "const x = s.replace(/[`'/]/g, '')\nit('a', f)"}, nil},
		"the line ends":                    {files{"a.test.ts": jsTwo}, files{"a.test.ts": crlf(jsTwo)}, nil},
	})
}
