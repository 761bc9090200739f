package tamper

import (
	"strings"
	"testing"
)

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
