package main

import (
	"cmp"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"mvdan.cc/sh/v3/shell"

	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/seq"
	"ralph/internal/taskfile"
	"ralph/internal/template"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
	"ralph/prompt"
)

// TestCommandsAreDocumented writes docs/cli.md from the help of every command.
func TestCommandsAreDocumented(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	doc := introOf(t, "docs/cli.md") + fmt.Sprintf("\n## ralph\n\n```\n%s```\n", b.run(0, "help", "--all"))
	for name := range visible("", newApp(cli.System{}).Root.Sub) {
		help := b.run(0, append(strings.Fields(name), "--help")...)
		check.Contains(t, "help of"+name, "Example:", help)
		check.Contains(t, "help of"+name, "Exit status:", help)
		doc += fmt.Sprintf("\n## ralph%s\n\n```\n%s```\n", name, help)
	}
	golden.Check(t, "../../docs/cli.md", withContents(doc))
}

// TestKeysAreDocumented writes docs/config.md from the table of keys.
func TestKeysAreDocumented(t *testing.T) {
	t.Parallel()
	golden.Check(t, "../../docs/config.md", withContents(introOf(t, "docs/config.md")+project.Reference()))
}

// visible are all commands that are not hidden, in the order of the help, by their words, each after a space.
func visible(path string, commands []cli.Command) iter.Seq2[string, cli.Command] {
	return func(yield func(string, cli.Command) bool) {
		for _, c := range commands {
			if c.Hidden {
				continue
			}
			if !yield(path+" "+c.Name, c) {
				return
			}
			visible(path+" "+c.Name, c.Sub)(yield)
		}
	}
}

// repoFile is what is in a file of the repository.
func repoFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../" + name)
	check.OK(t, err)
	return string(data)
}

// between is the part of a file of the repository that starts after one text and ends before another.
func between(t *testing.T, name, start, end string) string {
	t.Helper()
	_, rest, found := strings.Cut(repoFile(t, name), start)
	part, _, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no %q, or no %q after it", name, start, end)
	}
	return part
}

// introOf is what people write at the top of a page whose rest a test writes.
func introOf(t *testing.T, path string) string {
	t.Helper()
	intro, _, _ := strings.Cut(repoFile(t, path), "\n## ")
	return intro
}

// TestSessionsOfPagesWork runs the sessions of the README and of the pages as they are printed there.
func TestSessionsOfPagesWork(t *testing.T) {
	t.Parallel()
	session := regexp.MustCompile("(?s)<!-- session -->\n```sh\n(.*?\n)```\n\n")
	pages := pagesOf(t, "README.md", "docs/*.md")
	check.Contains(t, "README.md", "<!-- session -->", pages["README.md"])
	for name, text := range pages {
		for _, m := range session.FindAllStringSubmatch(text, -1) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", m[1])
				cmd.Dir = t.TempDir()
				cmd.Env = append(os.Environ(), "HOME="+cmd.Dir)
				out, err := cmd.CombinedOutput()
				check.That(t, err == nil, "%v\n%s", err, out)
			})
		}
	}
}

// longPage is how many lines a page may have without a table of contents.
const longPage = 350

// pagesOf are the pages that match one of some patterns of paths in the repository, with their text.
func pagesOf(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range patterns {
		paths, err := filepath.Glob("../../" + pattern)
		check.OK(t, err)
		for _, path := range paths {
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			pages[name] = repoFile(t, name)
		}
	}
	return pages
}

// TestTheIndexListsEveryPage: docs/README.md links every page, every page links back in its
// first lines, and a long page begins with its contents.
func TestTheIndexListsEveryPage(t *testing.T) {
	t.Parallel()
	index := repoFile(t, "docs/README.md")
	for path, text := range pagesOf(t, "docs/*.md", "docs/dev/*.md") {
		name := strings.TrimPrefix(path, "docs/")
		if name == "README.md" {
			continue
		}
		if !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
		back := strings.Repeat("../", strings.Count(name, "/")) + "README.md"
		if top := strings.Join(strings.SplitN(text, "\n", 5)[:4], "\n"); !strings.Contains(top, "]("+back+")") {
			t.Errorf("the top of %s has no link to the index: write [Documentation](%s)", path, back)
		}
		if strings.Count(text, "\n") > longPage {
			golden.Check(t, "../../"+path, withContents(text))
		}
	}
}

var (
	code    = regexp.MustCompile("(?ms)^````.*?^````$|^ *```.*?^ *```$")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	link    = regexp.MustCompile(`\]\(([^)\s:]*)\)`)
)

// anchor is how a link names a heading.
func anchor(heading string) string {
	plain := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(plain, " ", "-")
}

// TestLinksLeadToWhatExists: each link from a page to a file or a folder, and each anchor.
func TestLinksLeadToWhatExists(t *testing.T) {
	t.Parallel()
	for name, text := range pagesOf(t, "*.md", "docs/*.md", "docs/*/*.md", "*/README.md", "*/*/README.md", "*/*/*/README.md", "*/*/*/*/README.md") {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			path, fragment, _ := strings.Cut(m[1], "#")
			target := name
			if path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), path))
			}
			if _, err := os.Stat("../../" + target); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
				continue
			}
			if fragment == "" {
				continue
			}
			var anchors []string
			for _, h := range heading.FindAllStringSubmatch(code.ReplaceAllString(repoFile(t, target), ""), -1) {
				anchors = append(anchors, anchor(h[1]))
			}
			check.That(t, slices.Contains(anchors, fragment), "%s links to %s, and %s has no such heading", name, m[1], target)
		}
	}
}

var contents = regexp.MustCompile(`(?s)\n## Contents\n\n.*?\n\n`)

// withContents lists the headings of a page's second level before the first of them.
func withContents(page string) string {
	page = contents.ReplaceAllString(page, "\n")
	var list strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(code.ReplaceAllString(page, ""), -1) {
		fmt.Fprintf(&list, "- [%s](#%s)\n", m[1], anchor(m[1]))
	}
	before, after, _ := strings.Cut(page, "\n## ")
	return before + "\n## Contents\n\n" + list.String() + "\n## " + after
}

// TestTheMapOfNewCodeNamesFiles: the table in docs/dev/architecture.md names what exists.
func TestTheMapOfNewCodeNamesFiles(t *testing.T) {
	t.Parallel()
	table := between(t, "docs/dev/architecture.md", "\n## Where new code goes\n", "\n## ")
	for _, row := range []string{"a notification kind", "a gate verdict", "a verb", "an agent", "a sandbox level"} {
		if !strings.Contains(table, "| "+row+" | `") {
			t.Errorf("the table does not say where %s goes", row)
		}
	}
	for _, m := range regexp.MustCompile("`([a-z]+/[^` ]*)`").FindAllStringSubmatch(table, -1) {
		if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
			t.Error(err)
		}
	}
}

// TestImportPageIsTrue imports each example of docs/import.md and wants the tree
// that is printed below it.
func TestImportPageIsTrue(t *testing.T) {
	t.Parallel()
	example := regexp.MustCompile("(?s)<!-- import -->\n```[a-z]+\n(.*?)```\n.*?```text\n(.*?)```\n")
	found := example.FindAllStringSubmatch(repoFile(t, "docs/import.md"), -1)
	if len(found) != len(taskfile.Formats())-2 { // two are ralph's own
		t.Fatalf("got %d examples, want one of each format", len(found))
	}
	b := newBench(t)
	for _, m := range found {
		plan := filepath.Join(t.TempDir(), "plan")
		check.OK(t, os.WriteFile(plan, []byte(m[1]), 0o600))
		check.Equal(t, "the tree on the page", m[2], b.run(0, "task", "import", plan, "--dry-run"))
		b.run(0, "task", "import", plan)
	}
}

// TestAgentsAreDocumented holds docs/agents.md to the presets: how to start each
// in three lines, and how they differ.
func TestAgentsAreDocumented(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../../docs/agents.md", "<!-- agents -->\n", "<!-- /agents -->\n"
	page, err := os.ReadFile(path)
	check.OK(t, err)
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("docs/agents.md has no place for the agents")
	}
	golden.Check(t, path, before+begin+agentsPage()+end+after)

	var order []string
	for _, p := range agents.Installed(func(string) (string, error) { return "", nil }) {
		order = append(order, p.Name)
	}
	own := human.Series(seq.Map(agents.Own(), func(p agents.Preset) string { return p.Name }), "and")
	if text := strings.Join(order, ", ") + "; else the first of " + own + " that"; !strings.Contains(strings.ReplaceAll(string(page), "\n", " "), "on PATH: "+text) {
		t.Errorf("docs/agents.md does not say that the order is %s", text)
	}
}

const asksIntro = `With a [rule](security.md#permissions) that denies or asks, or a hook on ` + "`tool.before`" + `, ralph starts each agent so that it asks; we saw each
do so on 2026-11-17, unless it says "not known". Files and terminals that an agent wants from ralph are decided in any case.
The last two columns were tried on the same day, too ([e2e](../tools/e2e/README.md)): each agent asked a person and reported by a tool, and got an answer
from a provider that only a proxy could reach.

`

// agentsPage is the part of the page that is made of presets.
func agentsPage() string {
	var b strings.Builder
	var table, asks strings.Builder
	asks.WriteString("| name | asks | calls [ralph's tools](mcp.md) | obeys HTTPS_PROXY |\n|---|---|---|---|\n")
	table.WriteString("| name | comes from | takes its model by | reports about its usage | credentials, the first that is set | keeps its state in |\n|---|---|---|---|---|---|\n")
	for _, p := range agents.All() {
		if p.Channel == agents.NoModel {
			continue
		}
		from := "built in"
		if len(p.Self) == 0 { // what is built in is not installed
			from = p.Package
			fmt.Fprintf(&b, "**%s**\n\n```sh\nnpm install -g %s\n# %s\nralph run --agent %s\n```\n\n", p.Title, p.Package, p.Login, p.Name)
		}
		credentials := cmp.Or(strings.Join(p.Credentials, ", "), "none")
		if p.ByModel {
			credentials = "that of the model's provider: " + strings.Join(p.Credentials[:3], ", ") + ", ..."
		}
		state := p.StateFolders([]string{"HOME=/~"})
		slices.Sort(state)
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s | %s |\n", p.Name, from, p.ModelBy(), p.Reports, credentials, strings.ReplaceAll(strings.Join(state, ", "), "/~", "~"))
		fmt.Fprintf(&asks, "| `%s` | %s | %s | %s |\n", p.Name, p.Asking.Words(), yesNo(!p.NoTools), yesNo(p.Proxy))
	}
	return "\n" + b.String() + "## How they differ\n\n" + table.String() + "\n## Which agents ask\n\n" + asksIntro + asks.String() + "\n"
}

func yesNo(is bool) string { return map[bool]string{true: "yes", false: "no"}[is] }

// TestTheManualIsDocumented writes docs/ralph.1 from what the commands say of themselves.
func TestTheManualIsDocumented(t *testing.T) {
	t.Parallel()
	page := newBench(t).run(0, "man")
	golden.Check(t, "../../docs/ralph.1", page)
	plain := strings.NewReplacer(`\-`, "-", `\e`, `\`).Replace(page)
	for name, c := range visible("", newApp(cli.System{}).Root.Sub) {
		check.Contains(t, "the manual", "\n.SS ralph"+name, plain)
		for _, f := range c.Flags {
			check.Contains(t, "the manual", "--"+f.Name, plain)
		}
	}
	for line := range strings.Lines(page) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(word, ".") &&
			!slices.Contains(strings.Fields(".TH .SH .SS .TP .B .PP .nf .fi .RS .RE"), word) {
			t.Errorf("unknown request in %q", line)
		}
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		cmd := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww")
		cmd.Stdin = strings.NewReader(page)
		var complaints strings.Builder
		cmd.Stderr = &complaints
		if err := cmd.Run(); err != nil || complaints.Len() > 0 {
			t.Errorf("%v: %s", err, complaints.String())
		}
	}
}

// TestSectionsAreDocumented: docs/prompts.md has a row for each section of prompts, with its values.
func TestSectionsAreDocumented(t *testing.T) {
	t.Parallel()
	table := between(t, "docs/prompts.md", "\n## Sections\n", "\n## ")
	var found []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+[.][a-z]+)` \\| .* \\|(.*)\\|$").FindAllStringSubmatch(table, -1) {
		found = append(found, row[1])
		values := strings.FieldsFunc(row[2], func(r rune) bool { return strings.ContainsRune(" `,", r) })
		slices.Sort(values)
		check.Equal(t, row[1], prompt.SectionValues(row[1]), values, cmpopts.EquateEmpty())
	}
	slices.Sort(found)
	check.Equal(t, "sections", prompt.SectionNames(), found)
}

// TestTheTemplatesPageIsTrue applies the templates of the page by its commands.
func TestTheTemplatesPageIsTrue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	folder := filepath.Join(b.dir, filepath.FromSlash(project.TemplateFolder))
	check.OK(t, os.MkdirAll(folder, 0o700))
	for _, text := range blocks(t, "docs/templates.md", "yaml") {
		parsed, err := template.Parse([]byte(text))
		check.OK(t, err)
		check.OK(t, os.WriteFile(filepath.Join(folder, parsed.Name+".yaml"), []byte(text), 0o600))
	}
	check.Contains(t, "the script", blocks(t, "docs/templates.md", "yaml")[0], repoFile(t, "cmd/ralph/testdata/script/template_hello.txtar"))
	shown := ""
	for _, script := range blocks(t, "docs/templates.md", "sh") {
		for line := range strings.Lines(script) {
			args, err := shell.Fields(line, nil)
			check.OK(t, err)
			if args[1] == "template" { // a script runs what they make
				shown += b.run(0, args[1:]...)
			}
		}
	}
	check.Contains(t, "the dry run", blocks(t, "docs/templates.md", "text")[0], shown)
}
