package suite

import (
	"bytes"
	"encoding/json"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"ralph/internal/lazyregexp"
)

// merge makes the text of a file that is partly work: what is about checking comes from the base, which is empty for
// a new file. It returns the work's own text if that is the same in both.
type merge func(base, work []byte) ([]byte, error)

// mixed returns how a file with that name is merged, or nil if it is not partly work.
func mixed(name string) merge {
	switch {
	case name == "package.json":
		return tables(readJSON, writeJSON, `jest mocha ava vitest c8 nyc tap babel eslintConfig eslintIgnore prettier stylelint xo standard
			husky overrides resolutions pnpm workspaces nx wireit`)
	case name == "composer.json":
		return tables(readJSON, writeJSON, `scripts autoload-dev`)
	case name == "deno.json" || name == "deno.jsonc":
		return tables(readJSON, writeJSON, `tasks test lint exclude`)
	case strings.HasPrefix(name, "tsconfig") && path.Ext(name) == ".json", name == "jsconfig.json":
		return tables(readJSON, writeJSON, `include exclude files ts-node compilerOptions.strict* compilerOptions.no* compilerOptions.allowUn*
			compilerOptions.skip* compilerOptions.checkJs compilerOptions.alwaysStrict compilerOptions.exactOptionalPropertyTypes`)
	case name == "pyproject.toml":
		return tables(readTOML, toml.Marshal, `tool.pytest* tool.tox tool.nox tool.coverage tool.ruff tool.mypy tool.*pyright tool.pylint
			tool.flake8 tool.bandit tool.hatch.envs tool.pdm.scripts tool.poe tool.taskipy tool.uv.override-dependencies`)
	case name == "Cargo.toml":
		return tables(readTOML, toml.Marshal, `test bench lib.test lib.doctest lib.harness package.autotests package.autobenches
			package.metadata.nextest patch replace profile lints workspace.members workspace.exclude workspace.default-members workspace.lints`)
	case name == "setup.cfg":
		return mergeSections
	case name == "go.mod":
		return lines(aboutLibraries.Get())
	case builders.has(name):
		return lines(aboutTests.Get())
	}
	return nil
}

// tables merges a file that is made of tables in tables, by the keys whose values come from the base. The last part
// of a key may have a wildcard.
func tables(read func([]byte) (map[string]any, error), write func(any) ([]byte, error), keys string) merge {
	return func(base, work []byte) ([]byte, error) {
		was, err := read(base)
		if err != nil {
			return nil, err
		}
		is, err := read(work)
		if err != nil {
			return nil, err
		}
		same, _ := read(work)
		for _, key := range strings.Fields(keys) {
			take(was, is, strings.Split(key, "."))
		}
		takeScripts(was, is)
		takeLibraries(was, is)
		if reflect.DeepEqual(is, same) {
			return work, nil
		}
		return write(is)
	}
}

// take puts the base's values for a key into a table, and takes out those that the base has not.
func take(base, work map[string]any, key []string) {
	if len(key) > 1 {
		was, _ := base[key[0]].(map[string]any)
		is, ok := work[key[0]].(map[string]any)
		if !ok && was != nil {
			is = map[string]any{}
		}
		if take(was, is, key[1:]); !ok && len(is) > 0 {
			work[key[0]] = is
		}
		return
	}
	matches := func(name string) bool { ok, _ := path.Match(key[0], name); return ok }
	for name := range work {
		if _, was := base[name]; !was && matches(name) {
			delete(work, name)
		}
	}
	for name, value := range base {
		if matches(name) {
			work[name] = value
		}
	}
}

// takeScripts puts back the scripts of a package.json, and takes out what would be run before or after those. Another new name is one
// that no check used.
func takeScripts(base, work map[string]any) {
	was, _ := base["scripts"].(map[string]any)
	is, _ := work["scripts"].(map[string]any)
	for name := range is {
		before, isBefore := strings.CutPrefix(name, "pre")
		after, isAfter := strings.CutPrefix(name, "post")
		if was[name] == nil && (isBefore && was[before] != nil || isAfter && was[after] != nil) {
			delete(is, name)
		}
	}
	for name, text := range was {
		if is == nil {
			is = map[string]any{}
			work["scripts"] = is
		}
		is[name] = text
	}
}

// takeLibraries puts back where libraries for tests come from that now come from a folder or an address, and where the
// tests find modules of the work.
func takeLibraries(base, work map[string]any) {
	for _, table := range []string{"dependencies", "devDependencies", "dev-dependencies", "imports"} {
		was, _ := base[table].(map[string]any)
		is, _ := work[table].(map[string]any)
		for name, value := range is {
			if table == "dependencies" && !library.Get().MatchString(name) {
				continue
			}
			if old, had := was[name]; had && redirected(value) {
				is[name] = old
			}
		}
	}
}

func redirected(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.ContainsAny(v, ":/")
	case map[string]any:
		return v["path"] != nil || v["git"] != nil || v["package"] != nil
	}
	return false
}

func readTOML(text []byte) (m map[string]any, err error) {
	err = toml.Unmarshal(text, &m)
	if m == nil {
		m = map[string]any{}
	}
	return m, err
}

func writeJSON(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") }

// readJSON reads what people write as JSON, with comments and commas before a bracket.
func readJSON(text []byte) (m map[string]any, err error) {
	m = map[string]any{}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if len(bytes.TrimSpace(text)) == 0 {
		return m, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&m); err != nil {
		d = json.NewDecoder(bytes.NewReader(trailing.Get().ReplaceAll(comments.Get().ReplaceAll(text, []byte("$1")), []byte("$1$2"))))
		d.UseNumber()
		m = map[string]any{}
		err = d.Decode(&m)
	}
	return m, err
}

var (
	comments = lazyregexp.New(`(?s)("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/`)
	trailing = lazyregexp.New(`(?s)("(?:[^"\\]|\\.)*")|,(\s*[}\]])`)
)

var checkSection = lazyregexp.New(`^\[(?:tool:pytest|pytest|tox|testenv|coverage|flake8|mypy|pycodestyle|pylint|pydocstyle|isort|aliases|nosetests|behave|bandit)\b`)

// mergeSections merges a setup.cfg.
func mergeSections(base, work []byte) ([]byte, error) {
	split := func(text []byte) (checks, rest []byte) {
		to := &rest
		for line := range bytes.Lines(text) {
			if line[0] == '[' {
				to = &rest
				if checkSection.Get().Match(line) {
					to = &checks
				}
			}
			*to = append(*to, line...)
		}
		return checks, rest
	}
	was, _ := split(base)
	is, rest := split(work)
	if bytes.Equal(bytes.TrimSpace(was), bytes.TrimSpace(is)) {
		return work, nil
	}
	return slices.Concat(bytes.TrimRight(rest, "\n"), []byte("\n"), was), nil
}

var (
	aboutTests     = lazyregexp.New(`(?i)test|spec\b|junit|surefire|failsafe|skip|exclude|ignore|coverage|jacoco|checkstyle|lint|verif`)
	aboutLibraries = lazyregexp.New(`=>|^(?:replace|ignore)\b|^\./`) // where they come from, and folders that are not in ./...
)

// lines takes the base's file whole if what changed is about checks, and the work's otherwise: it names libraries and
// sources, too.
func lines(about *regexp.Regexp) merge {
	return func(base, work []byte) ([]byte, error) {
		if len(base) == 0 {
			return work, nil
		}
		count := map[string]int{}
		for line := range bytes.Lines(base) {
			count[string(bytes.TrimSpace(line))]--
		}
		for line := range bytes.Lines(work) {
			count[string(bytes.TrimSpace(line))]++
		}
		for line, n := range count {
			if n != 0 && about.MatchString(line) {
				return base, nil
			}
		}
		return work, nil
	}
}
