package tamper

import (
	"strings"
	"testing"
)

const goOne = `package a

import (
	"strings"
	"testing"
)

func TestOne(t *testing.T) {
	if one() != 1 {
		t.Error("not one")
	}
}
`

const goTwo = goOne + `
func TestTwo(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		if two() != 2 {
			t.Fatal("not two")
		}
	})
}
`

func TestTamperingWithGo(t *testing.T) {
	t.Parallel()
	skip := func(line string) string {
		return "package a\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\t" + line + "\n\tif one() != 1 {\n\t\tt.Error(\"not one\")\n\t}\n}\n"
	}
	one := func(text string) files { return files{"a_test.go": text} }
	runTampering(t, map[string]tampering{
		"a file is deleted":                     {one(goOne), nil, []string{"test file deleted: a_test.go (TestOne)"}},
		"a file is deleted with what it tested": {files{"a.go": "x", "a_test.go": goOne}, nil, []string{"test file deleted: a_test.go (TestOne)"}},
		"a file with a suite is deleted":        {one("package a\nfunc (s *S) TestX() {}\n"), nil, []string{"test file deleted: a_test.go (TestX)"}},
		"a file whose tests are not known":      {one("package a\nvar _ = Describe()\n"), nil, []string{"test file deleted: a_test.go"}},
		"a test is deleted":                     {one(goTwo), one(goOne), []string{"1 test fewer: TestTwo in a_test.go"}},
		"a test is commented out":               {one(goOne), one("package a\n\n/*\n" + goOne + "*/\n"), []string{"1 test fewer: TestOne in a_test.go"}},
		"all tests but one of two files": {
			files{"a_test.go": goTwo, "b_test.go": "package a\nfunc TestB(t *testing.T) {}\nfunc FuzzC(f *testing.F) {}\n"},
			files{"a_test.go": goOne, "b_test.go": "package a\n"},
			[]string{"3 tests fewer: FuzzC in b_test.go, TestB in b_test.go, TestTwo in a_test.go"},
		},
		"a test is renamed so that it does not run": {one(goOne), one("package a\nfunc testOne(t *testing.T) {}\n"), []string{"1 test fewer: TestOne in a_test.go"}},
		"t.Skip":             {one(goOne), one(skip(`t.Skip("later")`)), []string{"test newly skipped: TestOne in a_test.go (t.Skip)"}},
		"t.Skipf":            {one(goOne), one(skip(`t.Skipf("later %d", 1)`)), []string{"test newly skipped: TestOne in a_test.go (t.Skipf)"}},
		"t.SkipNow":          {one(goOne), one(skip(`t.SkipNow()`)), []string{"test newly skipped: TestOne in a_test.go (t.SkipNow)"}},
		"on a condition":     {one(goOne), one(skip(`if testing.Short() { t.Skip() }`)), []string{"test newly skipped: TestOne in a_test.go (t.Skip)"}},
		"one more condition": {one(skip(`if testing.Short() { t.Skip() }`)), one(skip(`if testing.Short() { t.Skip() }; t.Skip()`)), []string{"test newly skipped: TestOne in a_test.go (t.Skip)"}},
		"in a subtest": {
			one(goTwo), one(goOne + "\nfunc TestTwo(t *testing.T) {\n\tt.Run(\"sub\", func(tt *testing.T) {\n\t\ttt.Skip()\n\t})\n}\n"),
			[]string{"test newly skipped: TestTwo in a_test.go (t.Skip)"},
		},
		"in a suite": {
			one("package a\nfunc (s *S) TestX() {\n}\n"), one("package a\nfunc (s *S) TestX() {\n\ts.T().Skip()\n}\n"),
			[]string{"test newly skipped: TestX in a_test.go (t.Skip)"},
		},
		"through a new helper": {
			one(goOne),
			files{"a_test.go": skip("needsNet(t)"), "h_test.go": "package a\nfunc needsNet(t *testing.T) {\n\tt.Helper()\n\tt.Skip()\n}\n"},
			[]string{"test newly skipped: TestOne in a_test.go (t.Skip in needsNet)"},
		},
		"through an old helper": {
			one("package a\nfunc newDB(tb testing.TB) *DB {\n\treturn open(tb)\n}\n"), one("package a\nfunc newDB(tb testing.TB) *DB {\n\ttb.Skip()\n\treturn open(tb)\n}\n"),
			[]string{"helper newly skips tests: newDB in a_test.go (t.Skip)"},
		},
		"renamed and skipped": {
			one(goOne), one("package a\nfunc TestUno(t *testing.T) {\n\tt.Skip()\n}\n"), []string{"1 test fewer: TestOne in a_test.go"},
		},
		"moved and skipped": {
			files{"a_test.go": goTwo, "b_test.go": "package a\n"},
			files{"a_test.go": goOne, "b_test.go": "package a\nfunc TestTwo(t *testing.T) { t.Skip() }\n"},
			[]string{"test newly skipped: TestTwo in b_test.go (t.Skip)"},
		},
		"left out of the build": {one(goTwo), one("//go:build ignore\n\n" + goTwo), []string{"tests newly skipped: TestOne, TestTwo in a_test.go (left out of the build)"}},
		"built with a tag only": {one(goOne), one("//go:build integration\n\n" + goOne), []string{"test newly skipped: TestOne in a_test.go (left out of the build)"}},
		"built on another system": {
			one(goOne), files{"a_plan9_test.go": goOne}, []string{"test newly skipped: TestOne in a_plan9_test.go (left out of the build)"},
		},
		"renamed to a file of code":            {one(goOne), files{"a.go": goOne}, []string{"test file renamed so that it does not run: a_test.go -> a.go (TestOne)"}},
		"renamed to a file of nothing":         {one(goOne), files{"a_test.go.off": goOne}, []string{"test file renamed so that it does not run: a_test.go -> a_test.go.off (TestOne)"}},
		"renamed to a file that go leaves out": {one(goOne), files{"_a_test.go": goOne}, []string{"test file renamed so that it does not run: a_test.go -> _a_test.go (TestOne)"}},
		"moved to a folder that go leaves out": {one(goOne), files{"testdata/a_test.go": goOne}, []string{"test file renamed so that it does not run: a_test.go -> testdata/a_test.go (TestOne)"}},
		"no test is run at all": {
			one(goOne), one(goOne + "\nfunc TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n"), []string{"tests newly silenced: a_test.go (a TestMain that runs no tests)"},
		},
		"a failure does not count": {
			one(goOne), one(goOne + "\nfunc TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(0)\n}\n"), []string{"tests newly silenced: a_test.go (os.Exit(0) in TestMain)"},
		},
		"nothing is run": {
			one(goOne), one(goOne + "\nfunc init() { os.Exit(0) }\n"), []string{"tests newly silenced: a_test.go (os.Exit(0) in init)"},
		},
		"a test that returns at once": {
			one("package a\n\nfunc TestX(t *testing.T) {\n\tt.Fatal(1)\n}\n"), one("package a\n\nfunc TestX(t *testing.T) {\n\treturn\n\tt.Fatal(1)\n}\n"),
			[]string{"test newly skipped: TestX in a_test.go (it returns at once)"},
		},
	})
}

func TestOrdinaryWorkOnTestsInGo(t *testing.T) {
	t.Parallel()
	one := func(text string) files { return files{"a_test.go": text} }
	const helper = "\nfunc TestMain(m *testing.M) {\n\tif os.Getenv(\"HELPER\") != \"\" {\n\t\thelp()\n\t\tos.Exit(0)\n\t}\n\tos.Exit(m.Run())\n}\n"
	skipped := "package a\n\nfunc TestOld(t *testing.T) {\n\tif testing.Short() {\n\t\tt.Skip()\n\t}\n}\n"
	runTampering(t, map[string]tampering{
		"a new file":                   {nil, one(goTwo), nil},
		"a TestMain with a helper":     {one(goOne), one(goOne + helper), nil},
		"a TestMain that is a helper":  {one(goOne), one(goOne + strings.Replace(helper, "\t\thelp()\n", "", 1)), nil},
		"a new test":                   {one(goOne), one(goTwo), nil},
		"a new test that is skipped":   {one(goOne), one(goOne + "\nfunc TestNet(t *testing.T) {\n\tif offline() {\n\t\tt.Skip()\n\t}\n}\n"), nil},
		"a new test with a helper":     {one(goOne), one(goOne + "\nfunc needs(t *testing.T) { t.Skip() }\n\nfunc TestNet(t *testing.T) {\n\tneeds(t)\n}\n"), nil},
		"a new file for one system":    {nil, files{"a_plan9_test.go": goOne}, nil},
		"another expectation":          {one(goOne), one("package a\n\nfunc TestOne(t *testing.T) {\n\tif one() != 11 {\n\t\tt.Error()\n\t}\n}\n"), nil},
		"a test is renamed":            {one(goOne), one("package a\nfunc TestUno(t *testing.T) {}\n"), nil},
		"a test is split":              {one(goOne), one("package a\nfunc TestOneA(t *testing.T) {}\nfunc TestOneB(t *testing.T) {}\n"), nil},
		"a test is moved":              {files{"a_test.go": goTwo, "b_test.go": "package a\n"}, files{"a_test.go": goOne, "b_test.go": "package a\nfunc TestTwo(t *testing.T) {}\n"}, nil},
		"a skipped test is moved":      {files{"a_test.go": skipped, "b_test.go": "package a\n"}, files{"a_test.go": "package a\n", "b_test.go": skipped}, nil},
		"all tests are moved":          {one(goTwo), files{"all_test.go": "package a\n\n// more\n" + goTwo}, nil},
		"a file is renamed":            {one(goTwo), files{"b/b_test.go": goTwo}, nil},
		"a file is renamed and edited": {one(goTwo), files{"b_test.go": goTwo + "// moved:a_test.go\n"}, nil},
		"a skip is taken away":         {one(skipped), one("package a\n\nfunc TestOld(t *testing.T) {\n}\n"), nil},
		"a skipped test is renamed":    {one(skipped), one("package a\n\nfunc TestNew(t *testing.T) {\n\tt.Skip()\n}\n"), nil},
		"another skip":                 {one(skipped), one("package a\n\nfunc TestOld(t *testing.T) {\n\tif slow() {\n\t\tt.Skipf(\"slow\")\n\t}\n}\n"), nil},
		"words in a comment":           {one(goOne), one("package a\n\nfunc TestOne(t *testing.T) {\n\t// not t.Skip() any more\n\t/* t.SkipNow() */\n}\n"), nil},
		"words in a string":            {one(goOne), one("package a\n\nfunc TestOne(t *testing.T) {\n\trun(\"t.Skip()\", `t.Skip()`)\n}\n"), nil},
		"another Skip":                 {one(goOne), one("package a\n\nfunc TestOne(t *testing.T) {\n\tdec.Skip()\n\titems.Skip(3)\n}\n"), nil},
		"built where it runs":          {one(goOne), one("//go:build !plan9\n\n" + goOne), nil},
		"a TestMain":                   {one(goOne), one(goOne + "\nfunc TestMain(m *testing.M) {\n\tos.Exit(m.Run())\n}\n"), nil},
		"a TestMain is deleted":        {one(goOne + "\nfunc TestMain(m *testing.M) {\n\tm.Run()\n}\n"), one(goOne), nil},
		"a helper is deleted":          {one(goOne + "\nfunc help(t *testing.T) {}\n"), one(goOne), nil},
		"a helper becomes code":        {files{"h_test.go": "package a\nfunc help() {}\n"}, files{"h.go": "package a\nfunc help() {}\n"}, nil},
		"a benchmark is deleted":       {one(goOne + "\nfunc BenchmarkX(b *testing.B) {}\n"), one(goOne), nil},
		"code with tests in its name":  {files{"testing.go": "package a\nfunc TestX() {}\n"}, files{"testing.go": "package a\n"}, nil},
		"what was vendored":            {files{"vendor/x/a_test.go": goOne}, nil, nil},
		"the line ends":                {one(goOne), one(crlf(goOne)), nil},
		"broken code":                  {one(goOne), one("package a\n\nfunc TestOne(t *testing.T) {\n\tx := \"\n\tif {\n"), nil},
	})
}

// TestADoubleOfATestIsNoLoss, if it did the same under any name, and only then.
func TestADoubleOfATestIsNoLoss(t *testing.T) {
	t.Parallel()
	fn := func(name, body string) string { return "func " + name + "(t *testing.T) {\n\t" + body + "\n}\n\n" }
	file := func(functions ...string) files {
		return files{"a_test.go": "package a\n\nimport \"testing\"\n\n" + strings.Join(functions, "")}
	}
	const check = `if one() != "1" {` + "\n\t\tt.Error(\"not one\")\n\t}"
	fewer := []string{"1 test fewer: TestB in a_test.go"}
	double := func(body string, want ...string) tampering {
		return tampering{file(fn("TestA", body), fn("TestB", body)), file(fn("TestA", body)), want}
	}
	runTampering(t, map[string]tampering{
		"a double":                   double(check),
		"a double that asserts":      double("t.Parallel()\n\tdir := t.TempDir()\n\trequire.NoError(t, fill(dir))\n\tassert.Equal(t, 1, one())"),
		"two doubles":                {file(fn("TestA", check), fn("TestB", check), fn("TestC", check)), file(fn("TestB", check)), nil},
		"one that is edited as well": {file(fn("TestA", check), fn("TestB", check)), file(fn("TestA", "t.Log()")), fewer},
		"all doubles":                {file(fn("TestA", check), fn("TestB", check)), file(), []string{"2 tests fewer: TestA in a_test.go, TestB in a_test.go"}},
		"all doubles, with the file": {file(fn("TestA", check), fn("TestB", check)), nil, []string{"test file deleted: a_test.go (TestA, TestB)"}},
		"another string":             {file(fn("TestA", check), fn("TestB", strings.ReplaceAll(check, "1", "2"))), file(fn("TestA", check)), fewer},
		"another comment":            {file(fn("TestA", check), fn("TestB", check+" // \"2\"")), file(fn("TestA", check)), fewer},
		"of what is new":             {file(fn("TestB", check), fn("TestC", "t.Fatal()")), file(fn("TestA", check)), []string{"1 test fewer: TestB in a_test.go, TestC in a_test.go"}},
		"of what is skipped now":     {file(fn("TestA", check), fn("TestB", check)), file(fn("TestA", "t.Skip()\n\t"+check)), append(fewer, "test newly skipped: TestA in a_test.go (t.Skip)")},
		"of what is not built now": {
			file(fn("TestA", check), fn("TestB", check)),
			files{"a_test.go": "//go:build never\n\n" + file(fn("TestA", check))["a_test.go"]},
			append(fewer, "test newly skipped: TestA in a_test.go (left out of the build)"),
		},
		"of what was skipped":      double("t.Skip()\n\t"+check, fewer...),
		"a name that chooses":      double("run(t.Name())", fewer...),
		"a helper that may choose": double("golden(t)", fewer...),
		"a part that may choose":   double("t.Run(\"x\", golden)", fewer...),
		"a handle that is kept":    double("s := suite{t}\n\ts.run()", fewer...),
		"a method that is kept":    double("f := t.Name\n\trun(f)", fewer...),
		"of another suite": {
			file("func (s *A) TestA() {\n\tcheck()\n}\n", "func (s *B) TestB() {\n\tcheck()\n}\n"), file("func (s *A) TestA() {\n\tcheck()\n}\n"), fewer,
		},
		"of the same suite": {
			file("func (s *A) TestA() {\n\tcheck()\n}\n", "func (s *A) TestB() {\n\tcheck()\n}\n"), file("func (s *A) TestA() {\n\tcheck()\n}\n"), fewer,
		},
		"nothing": double("", fewer...),
		"one of a name in each of two files": {
			files{"a_test.go": file(fn("TestA", check))["a_test.go"], "b_test.go": file(fn("TestB", check))["a_test.go"]},
			files{"a_test.go": file(fn("TestA", check))["a_test.go"], "b_test.go": "package a\n"},
			[]string{"1 test fewer: TestB in b_test.go"},
		},
	})
}

// TestALongTestIsReadOnce: with a look at the rest of it for each handle this one would
// take minutes.
func TestALongTestIsReadOnce(t *testing.T) {
	t.Parallel()
	long := func(name string) string {
		return "func " + name + "(t *testing.T) {\n" + strings.Repeat("\trequire.NoError(t, work(1))\n\tassert.True(t, true)\n", 10_000) + "}\n\n"
	}
	const begin = "package a\n\nimport \"testing\"\n\n"
	runTampering(t, map[string]tampering{
		"a double": {files{"a_test.go": begin + long("TestA") + long("TestB")}, files{"a_test.go": begin + long("TestA")}, nil},
	})
}
