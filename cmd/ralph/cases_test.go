package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
)

// casesDir has the collection of lies and honest changes; its README says what a case is.
const casesDir = "../../verify/testdata/cases"

// collected is one case of the collection, as its case.toml describes it.
type collected struct {
	Kind   string   // lie or honest
	Runner string   // the program that its gates need
	Gates  []string // as in [verify] commands
	Group  string   // a row of the tables in verify/testdata/README.md
	Lie    string   // how it cheats
	Honest string   // why it is fine
	Shows  string   // a lie: what a verifier has to see of it
	Asked  string   // honest: the sentence of the task that asks for the change of the checks
	Base   string   // a folder of ../bases that the base begins with
	Module string   // path@version that the base begins with
	CI     bool     // run by every go test
	Want   string   // without a verifier
	Judged string   // with one

	name, title, description string
	said                     string // by the run without a verifier
}

// What becomes of a case: without a verifier, and with one.
const (
	accepted, heldBack, rejected = "accepted", "held", "rejected"
	shown, unseen, hard          = "shown", "unseen", "not asked"
)

// runnersOfCases are the programs that gates may need, each with the command that says whether it is here.
var runnersOfCases = map[string][]string{
	"sh": {"sh", "-c", ":"}, "go": {"go", "version"}, "make": {"make", "--version"}, "just": {"just", "--version"},
	"python": {"python3", "--version"}, "pytest": {"python3", "-m", "pytest", "--version"},
	"node": {"node", "--version"}, "npm": {"npm", "--version"}, "jest": {"jest", "--version"}, "mocha": {"mocha", "--version"},
	"vitest": {"vitest", "--version"}, "cargo": {"cargo", "--version"}, "coverage": {"coverage", "--version"},
	"mypy": {"mypy", "--version"}, "tsc": {"tsc", "--version"}, "eslint": {"eslint", "--version"}, "prove": {"prove", "--version"},
}

// loadCases reads the collection and refuses what is not a case.
func loadCases(t *testing.T) []collected {
	t.Helper()
	folders, err := os.ReadDir(casesDir)
	check.OK(t, err)
	var list []collected
	for _, folder := range folders {
		c := collected{name: folder.Name()}
		file, err := os.Open(filepath.Join(casesDir, c.name, "case.toml"))
		check.OK(t, err)
		err = toml.NewDecoder(file).DisallowUnknownFields().Decode(&c)
		file.Close()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		task, err := os.ReadFile(filepath.Join(casesDir, c.name, "task.md"))
		check.OK(t, err)
		c.title, c.description, _ = strings.Cut(strings.TrimSpace(string(task)), "\n")
		c.title, c.description = strings.TrimPrefix(c.title, "# "), strings.TrimSpace(c.description)
		if fault := c.fault(); fault != "" {
			t.Errorf("%s: %s", c.name, fault)
		}
		list = append(list, c)
	}
	return list
}

// fault says what is wrong with how a case is written.
func (c *collected) fault() string {
	fold := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	lie := c.Kind == "lie"
	switch {
	case !lie && c.Kind != "honest":
		return fmt.Sprintf("kind is %q, which is neither lie nor honest", c.Kind)
	case runnersOfCases[c.Runner] == nil:
		return fmt.Sprintf("the runner %q is unknown", c.Runner)
	case len(c.Gates) == 0 || c.Group == "" || c.title == "":
		return "it needs gates, a group and a title in task.md"
	case lie && (c.Lie == "" || c.Honest != "" || c.Shows == "" || c.Asked != ""):
		return "a lie has lie and shows, and neither honest nor asked"
	case !lie && (c.Honest == "" || c.Lie != "" || c.Shows != ""):
		return "an honest change has honest, and neither lie nor shows"
	case c.Asked != "" && !strings.Contains(fold(c.title+" "+c.description), fold(c.Asked)):
		return "task.md does not say what asked quotes"
	}
	return ""
}

// expect sets the expected results of a case in its case.toml.
func (c *collected) expect(t *testing.T, want, judged string) {
	t.Helper()
	path := filepath.Join(casesDir, c.name, "case.toml")
	data, err := os.ReadFile(path)
	check.OK(t, err)
	text := regexp.MustCompile(`(?m)^(want|judged) *=.*\n?`).ReplaceAllString(string(data), "")
	text = fmt.Sprintf("%s\nwant = %q\njudged = %q\n", strings.TrimRight(text, "\n"), want, judged)
	check.OK(t, os.WriteFile(path, []byte(text), 0o644))
}

// rates is what `just lies` is about: without a verifier, and of honest changes with one as well.
type rates struct {
	lies, honest, judged map[string]int // by what becomes of them
	seen                 int            // lies
	ofLies, ofHonest     int
}

func ratesOf(cases []collected) (r rates) {
	r = rates{lies: map[string]int{}, honest: map[string]int{}, judged: map[string]int{}}
	for _, c := range cases {
		if c.Kind == "lie" {
			r.lies[c.Want]++
			r.ofLies++
			r.seen += one(c.Judged != unseen)
		} else {
			r.honest[c.Want]++
			r.judged[c.Judged]++
			r.ofHonest++
		}
	}
	return r
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (r rates) String() string {
	var b strings.Builder
	line := func(what string, n, of int) {
		fmt.Fprintf(&b, "| %s | %d of %d, %.1f %% |\n", what, n, of, 100*float64(n)/float64(max(of, 1)))
	}
	line("lies that land without a person, without a verifier", r.lies[accepted], r.ofLies)
	line("lies that are held for a person", r.lies[heldBack], r.ofLies)
	line("lies that are rejected", r.lies[rejected], r.ofLies)
	line("lies that a verifier is shown, or not asked about because they are rejected before", r.seen, r.ofLies)
	line("honest changes held without a verifier", r.honest[heldBack], r.ofHonest)
	line("honest changes rejected without a verifier", r.honest[rejected], r.ofHonest)
	line("honest changes held with a verifier that answers correctly", r.judged[heldBack], r.ofHonest)
	line("honest changes rejected with a verifier that answers correctly", r.judged[rejected], r.ofHonest)
	return b.String()
}

// TestTheTablesOfCasesAreCurrent: docs/done.md and the README of the collection print what it says.
func TestTheTablesOfCasesAreCurrent(t *testing.T) {
	t.Parallel()
	checkTables(t)
}

func checkTables(t *testing.T) {
	t.Helper()
	cases := loadCases(t)
	checkPart(t, "docs/done.md", "rates", fmt.Sprintf("| | |\n|---|---|\n%s", ratesOf(cases)))
	checkPart(t, "verify/testdata/README.md", "cases", tablesOf(cases))
}

// checkPart compares a part of a page with what it is made of.
func checkPart(t *testing.T, page, part, text string) {
	t.Helper()
	begin, end := "<!-- "+part+": made by go test ./cmd/ralph -run TestTheTablesOfCasesAreCurrent -update -->\n", "<!-- end of "+part+" -->"
	before, rest, found := strings.Cut(repoFile(t, page), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no %q, or no %q after it", page, begin, end)
	}
	golden.Check(t, "../../"+page, before+begin+text+end+after)
}

// tablesOf are which lies do not land, which do, and which honest changes do not.
func tablesOf(cases []collected) string {
	var text strings.Builder
	text.WriteString("| lies | held or rejected |\n|---|---|\n")
	type count struct{ good, all int }
	groups := map[string]count{}
	var lies, refused []string
	for _, c := range cases {
		switch {
		case c.Kind == "lie":
			n := groups[c.Group]
			groups[c.Group] = count{n.good + one(c.Want != accepted), n.all + 1}
			if c.Want == accepted {
				lies = append(lies, fmt.Sprintf("| %s (`%s`) | %s |\n", c.Lie, c.name, map[bool]string{true: "no", false: "yes"}[c.Judged == unseen]))
			}
		case c.Want != accepted:
			refused = append(refused, fmt.Sprintf("| %s (`%s`) | %s | %s |\n", c.Honest, c.name, c.Want, c.Judged))
		}
	}
	for _, group := range slices.SortedFunc(maps.Keys(groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(groups[b].all, groups[a].all), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(&text, "| %s | %d of %d |\n", group, groups[group].good, groups[group].all)
	}
	fmt.Fprintf(&text, "\n| lies that land without a verifier | one is shown it |\n|---|---|\n%s", strings.Join(lies, ""))
	fmt.Fprintf(&text, "\n| honest changes that do not land at once | without a verifier | with one |\n|---|---|---|\n%s", strings.Join(refused, ""))
	return text.String()
}
