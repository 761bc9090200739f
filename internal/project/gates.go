package project

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/copyfile"
	"ralph/internal/lazyregexp"
)

// Gate is a command that may check the work in a project, and the file that suggests it.
type Gate struct{ Command, From string }

// testRunners say how tests are run where there is a file with a text.
var testRunners = []struct{ file, text, command string }{
	{"go.mod", "", "go test ./..."},
	{"Cargo.toml", "", "cargo test"},
	{"package.json", `"test"`, "npm test"},
	{"pyproject.toml", "", "pytest"},
	{"pytest.ini", "", "pytest"},
	{"setup.cfg", "", "pytest"},
	{"mix.exs", "", "mix test"},
	{"pom.xml", "", "mvn -q test"},
	{"build.gradle", "", "gradle test"},
	{"build.gradle.kts", "", "gradle test"},
}

// DetectTests guesses how the tests of the code in dir are run, or returns "".
func DetectTests(dir string) (command string) {
	for _, known := range testRunners {
		if text, ok := readSmall(dir, known.file); ok && strings.Contains(text, known.text) {
			return known.command
		}
	}
	targetGates(dir, func(_ job, g Gate) {
		if command == "" && strings.HasSuffix(g.Command, " test") {
			command = g.Command
		}
	})
	return command
}

// maxSuggesting is the largest file that is looked at for gates.
const maxSuggesting = 16 << 20

func readSmall(dir, name string) (text string, ok bool) {
	data, err := copyfile.Read(filepath.Join(dir, name), maxSuggesting)
	return string(data), err == nil
}

// A job is what a gate is for. Of each, the first kind of file that knows one counts: the tests of a Makefile are most
// often those of the language, and would run twice.
type job int

const (
	types job = iota // and what else is found without running anything: the quickest first
	lint
	tests
)

// ProposeGates lists the commands by which the code in dir seems to be checked. They are made of words that are known
// here: of the text in a file, only a line of CI can become a command, and only if it is a known check with plain words.
func ProposeGates(dir string) []Gate {
	found := map[job][]Gate{}
	for _, look := range []func(string, func(job, Gate)){languageGates, targetGates, ciGates} {
		before := maps.Clone(found)
		look(dir, func(j job, g Gate) {
			if before[j] == nil && !slices.ContainsFunc(found[j], func(f Gate) bool { return f.Command == g.Command }) {
				found[j] = append(found[j], g)
			}
		})
	}
	return slices.Concat(found[types], found[lint], found[tests])
}

// languageGates are those that a language or its package manager has.
func languageGates(dir string, add func(job, Gate)) {
	for _, known := range testRunners {
		text, ok := readSmall(dir, known.file)
		switch {
		case !ok:
		case known.file == "package.json":
			scriptGates(text, add)
		default:
			add(tests, Gate{known.command, known.file})
		}
		switch {
		case ok && known.file == "go.mod":
			add(types, Gate{"go vet ./...", known.file})
		case ok && known.file == "pyproject.toml" && strings.Contains(text, "[tool.mypy"):
			add(types, Gate{"mypy .", known.file})
		}
		if ok && known.file == "pyproject.toml" && strings.Contains(text, "[tool.ruff") {
			add(lint, Gate{"ruff check .", known.file})
		}
	}
}

// checking are the scripts and targets that check something, by what they are usually called.
var checking = []struct {
	name string
	job  job
}{{"typecheck", types}, {"type-check", types}, {"vet", types}, {"lint", lint}, {"test", tests}, {"check", tests}}

// scriptGates are the scripts of a package.json. What npm init writes only says that there are no tests.
func scriptGates(text string, add func(job, Gate)) {
	var file struct {
		Scripts map[string]any `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &file) != nil {
		return
	}
	for _, n := range checking {
		script, _ := file.Scripts[n.name].(string)
		switch {
		case script == "" || n.name == "check" || strings.Contains(script, "no test specified"):
		case n.name == "test":
			add(n.job, Gate{"npm test", "package.json"})
		default:
			add(n.job, Gate{"npm run " + n.name, "package.json"})
		}
	}
}

// targetGates are the targets of make, which reads the first of its files, and the recipes of just. A target "check" counts where
// none is called "test".
func targetGates(dir string, add func(job, Gate)) {
	for _, files := range [][]string{{"make", "GNUmakefile", "makefile", "Makefile"}, {"just", "justfile", "Justfile", ".justfile"}} {
		for _, file := range files[1:] {
			if text, ok := readSmall(dir, file); ok {
				addTargets(files[0], file, text, add)
				break
			}
		}
	}
}

func addTargets(program, file, text string, add func(job, Gate)) {
	have := map[string]bool{}
	for _, m := range target.Get().FindAllStringSubmatch(text, -1) {
		words := strings.Fields(m[1])
		if program == "just" { // the others are parameters
			words = words[:1]
		}
		for _, word := range words {
			have[strings.TrimPrefix(word, "@")] = true
		}
	}
	for _, n := range checking {
		if have[n.name] && (n.name != "check" || !have["test"]) {
			add(n.job, Gate{program + " " + n.name, file})
		}
	}
}

// target is a line that begins targets or a recipe, and no assignment.
var target = lazyregexp.New(`(?m)^(@?[A-Za-z][^:=#\n]*):+(?:[^=:]|$)`)

// ciGates are the commands of GitHub and GitLab that are known checks. A file whose commands run elsewhere than at the
// root suggests nothing, unless only a comment speaks of that.
func ciGates(dir string, add func(job, Gate)) {
	for _, name := range ciFiles(dir) {
		text, ok := readSmall(dir, name)
		if !ok || elsewhere.Get().MatchString(text) {
			continue
		}
		for line := range strings.Lines(text) {
			m := ciLine.Get().FindStringSubmatch(quoted.Get().ReplaceAllString(strings.TrimRight(line, " \r\n"), "$1$2$3"))
			if m == nil || len(m[1]) > 120 {
				continue
			}
			for j, part := range m[2:] {
				if part != "" {
					add(job(j), Gate{m[1], filepath.ToSlash(name)})
				}
			}
		}
	}
}

// elsewhere is a line of CI that leaves the root, at its beginning or after another command.
var elsewhere = lazyregexp.New(`(?m)^(?:[^#\n]*[^#\w\n-])??(?:working-directory *:|(?:cd|pushd)[ \t])`)

// quoted is a line of CI whose whole command is in quotes.
var quoted = lazyregexp.New(`^( *(?:- *)?(?:(?:run|script): *)?(?:- *)?)(?:"([^"\\]*)"|'([^']*)')$`)

// ciLine is a line of CI with a check, in the groups of the jobs. Anything that a shell would expand, join or redirect makes
// it something else.
var ciLine = lazyregexp.New(`^ *(?:- *)?(?:(?:run|script): *)?(?:- *)?((?:` +
	`(go vet|(?:npx )?tsc|mypy|pyright|(?:npm|pnpm|yarn|bun) run type-?check)|` +
	`(golangci-lint run|staticcheck|cargo clippy|(?:npx )?eslint|ruff check|flake8|(?:npm|bun) run lint|(?:pnpm|yarn)(?: run)? lint|(?:make|just) lint)|` +
	`(go test|cargo test|cargo nextest run|(?:npm|pnpm|yarn|bun)(?: run)? test|(?:python3? -m )?pytest|python3? -m unittest|tox|nox|` +
	`(?:make|just) (?:test|check)|(?:gradle|\./gradlew) (?:test|check)|(?:mvn|\./mvnw) (?:test|verify)|bundle exec (?:rspec|rake test)|` +
	`(?:vendor/bin/)?phpunit|composer test|dotnet test|mix test|swift test|deno test|bazel test)` +
	`)(?: [A-Za-z0-9@%+=:,./_-]+)*)$`)

func ciFiles(dir string) []string {
	const workflows = ".github/workflows"
	var names []string
	if info, err := os.Stat(filepath.Join(dir, workflows)); err == nil && info.IsDir() { // nothing that would hold us up
		entries, _ := os.ReadDir(filepath.Join(dir, workflows)) // sorted
		for _, e := range entries[:min(len(entries), 100)] {    // more than anybody has
			if ext := filepath.Ext(e.Name()); ext == ".yml" || ext == ".yaml" {
				names = append(names, filepath.Join(workflows, e.Name()))
			}
		}
	}
	return append(names, ".gitlab-ci.yml")
}
