package suite

import (
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

func TestAFileThatIsPartlyWorkKeepsThatPart(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, base, work, want string }{
		"a script of npm": {
			"package.json", `{"scripts":{"test":"jest","start":"a"},"dependencies":{"a":"1"}}`,
			`{"scripts":{"test":"true","start":"b","new":"c","pretest":"d"},"dependencies":{"a":"2","b":"1"},"jest":{"testPathIgnorePatterns":["x"]}}`,
			`{"dependencies":{"a":"2","b":"1"},"scripts":{"new":"c","start":"a","test":"jest"}}`,
		},
		"a dependency":              {"package.json", `{"dependencies":{}}`, `{"dependencies":{"a":"1"}}`, ""},
		"a runner from a folder":    {"package.json", `{"devDependencies":{"jest":"^29"}}`, `{"devDependencies":{"jest":"file:./fake"}}`, `{"devDependencies":{"jest":"^29"}}`},
		"a module from elsewhere":   {"package.json", `{"imports":{"#a":"./a.js"}}`, `{"imports":{"#a":"./b.js","#c":"./c.js"}}`, `{"imports":{"#a":"./a.js","#c":"./c.js"}}`},
		"a crate from elsewhere":    {"Cargo.toml", "[dev-dependencies]\ncompare = {path = 'compare'}\n", "[dev-dependencies]\ncompare = {path = 'fake'}\n", "[dev-dependencies]\n[dev-dependencies.compare]\npath = 'compare'\n"},
		"another version of it":     {"package.json", `{"devDependencies":{"jest":"^29"}}`, `{"devDependencies":{"jest":"^30"}}`, ""},
		"what npm cannot read":      {"package.json", `{"scripts":{}}`, `{"scripts":`, `{"scripts":{}}`},
		"pytest in a pyproject":     {"pyproject.toml", "[project]\nname = 'a'\n", "[project]\nname = 'b'\n[tool.pytest.ini_options]\naddopts = '-k nothing'\n", "[project]\nname = 'b'\n\n[tool]\n"},
		"the rest of a pyproject":   {"pyproject.toml", "[tool.ruff]\na = 1\n", "[project]\nname = 'b'\n[tool.ruff]\na = 1\n", ""},
		"a test of cargo":           {"Cargo.toml", "[package]\nname = 'a'\n", "[package]\nname = 'a'\nautotests = false\n[patch.crates-io]\nx = {path = 'x'}\n[dependencies]\ny = '1'\n", "[dependencies]\ny = '1'\n\n[package]\nname = 'a'\n"},
		"a section of a setup.cfg":  {"setup.cfg", "[metadata]\nname = a\n[tool:pytest]\ntestpaths = tests\n", "[metadata]\nname = b\n[tool:pytest]\naddopts = --co\n", "[metadata]\nname = b\n[tool:pytest]\ntestpaths = tests\n"},
		"a replaced module":         {"go.mod", "module a\n\ngo 1.22\n", "module a\n\ngo 1.22\n\nrequire b v1.0.0\n\nreplace github.com/stretchr/testify => ./fake\n", "module a\n\ngo 1.22\n"},
		"a folder left out of a go": {"go.mod", "module a\n\ngo 1.25\n", "module a\n\ngo 1.25\n\nignore ./broken\n", "module a\n\ngo 1.25\n"},
		"a required module":         {"go.mod", "module a\n", "module a\n\nrequire b v1.0.0\n", ""},
		"how strict a compiler is":  {"tsconfig.json", `{"compilerOptions":{"strict":true, /* as ever */ "target":"es5",}}`, `{"compilerOptions":{"strict":false,"target":"es6"},"exclude":["**/*.test.ts"]}`, `{"compilerOptions":{"strict":true,"target":"es6"}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, tree := plan(t, files{tt.file: tt.base, "a_test.go": ""}, files{tt.file: tt.work, "a_test.go": ""}, "", "npm test")
			if tt.want == "" {
				check.Equal(t, "changed", 0, len(p.Changed))
				return
			}
			check.That(t, len(p.Changed) == 1, "got %v", p.Changed)
			got, err := tree.read(tt.file)
			check.OK(t, err)
			if strings.HasSuffix(tt.file, ".json") {
				table, err := readJSON(got)
				check.OK(t, err)
				want, err := readJSON([]byte(tt.want))
				check.OK(t, err)
				check.Equal(t, "content", want, table)
				return
			}
			check.Equal(t, "content", tt.want, string(got))
		})
	}
}

func FuzzMixed(f *testing.F) {
	f.Add("package.json", `{"scripts":{"test":"a"}}`, `{"scripts":null}`)
	f.Add("pyproject.toml", "[tool.pytest]\na=1\n", "tool = 1\n")
	f.Add("Cargo.toml", "lib = 1\n", "[lib]\ntest=false\n[[test]]\nname='a'\n")
	f.Add("go.mod", "module a\nreplace b => c v1.0.0\n", "module a\n")
	f.Add("setup.cfg", "[tool:pytest]\n", "[")
	f.Add("tsconfig.json", "{// a\n}", `{"compilerOptions":[]}`)
	f.Add("src/lib.rs", "#[cfg(test)] mod t { '{' }", "#[cfg(test)] mod t {")
	f.Fuzz(func(t *testing.T, name, base, work string) {
		merge := mixed(name)
		if merge == nil {
			merge = mergeRust
		}
		text, err := merge([]byte(base), []byte(work))
		if err != nil {
			return
		}
		again, err := merge([]byte(base), text)
		if name != "src/lib.rs" && (err != nil || string(again) != string(text)) {
			t.Errorf("merged twice: %q, then %q, %v", text, again, err)
		}
	})
}
