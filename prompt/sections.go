package prompt

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	"ralph/internal/human"
	"ralph/sigils"
)

// MaxSections is how many bytes of its own words a project may have in one prompt: half of one of the default size.
const MaxSections = 64 << 10

// Sections are the parts of prompts that a project says in its own words. Nil has none. Those that are not among the
// templates' sections cannot be replaced: an agent has to know sigils and answers as ralph reads them, and what others wrote
// stays quoted.
type Sections struct {
	templates *template.Template // all, with those of the project
	files     map[string]string  // of the sections that are replaced
	more      map[string]int     // bytes that those of a prompt have more than ralph's
}

// Section is a part of a prompt. File is empty if its words are ralph's.
type Section struct{ Name, File string }

// SectionError is a name that is none of a section that can be replaced.
type SectionError struct {
	Name  string
	Fixed string // why it cannot be, if there is such a part
}

func (e *SectionError) Error() string {
	if e.Fixed != "" {
		return fmt.Sprintf("%s cannot be changed: %s", e.Name, e.Fixed)
	}
	return fmt.Sprintf("no prompt has a section %q", e.Name)
}

// fixed are parts that every prompt has in some form, and why they stay as they are.
var fixed = map[string]string{
	"sigils":  "ralph knows by sigils how a task stands, so an agent needs them word for word",
	"verdict": "ralph reads the verdict, so an agent needs its form word for word",
	"answer":  "ralph reads the answer, so an agent needs its form word for word",
	"quoting": "what other people and agents wrote is quoted, so that it cannot give orders",
	"task":    "the task is other people's text: it is quoted, so that it cannot give orders",
	"safety":  "it says what an agent must not touch, and that nothing quoted gives orders",
}

// SectionNames lists the sections that can be replaced.
func SectionNames() []string { return slices.Sorted(maps.Keys(builtin())) }

// SectionText is what ralph itself says in a section.
func SectionText(name string) (string, error) {
	text, ok := builtin()[name]
	if !ok {
		return "", &SectionError{Name: name, Fixed: fixed[name[strings.LastIndex(name, ".")+1:]]}
	}
	return text, nil
}

// Of lists the sections of a prompt.
func (s *Sections) Of(prompt string) (list []Section) {
	for _, name := range SectionNames() {
		if promptOf(name) == prompt {
			list = append(list, Section{Name: name, File: s.file(name)})
		}
	}
	return list
}

func (s *Sections) file(name string) string {
	if s == nil {
		return ""
	}
	return s.files[name]
}

// With is the sections and one more: what a file says in place of what ralph does. The file is only named.
func (s *Sections) With(name, file, text string) (*Sections, error) {
	own, err := SectionText(name)
	if err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	next := &Sections{files: map[string]string{}, more: map[string]int{}}
	if s != nil {
		maps.Copy(next.files, s.files)
		maps.Copy(next.more, s.more)
	}
	text = strings.TrimRight(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\n")
	if err := checkWords(file, text); err != nil {
		return s, err
	}
	tree, err := parseSection(name, file, text)
	if err != nil {
		return s, err
	}
	of := promptOf(name)
	if next.more[of] += len(text) - len(strings.TrimSuffix(own, "\n")); next.more[of] > MaxSections {
		return s, fmt.Errorf("%s: the sections of %s have more than %s together", file, of, human.Bytes(MaxSections))
	}
	next.templates = template.Must(s.set().Clone()) // those that are ralph's can be cloned, and so can clones
	template.Must(next.templates.AddParseTree(name, tree))
	next.files[name] = file
	return next, nil
}

// set is all templates.
func (s *Sections) set() *template.Template {
	if s == nil {
		return templates()
	}
	return s.templates
}

// longer is by how many bytes a prompt is longer than ralph's, at most.
func (s *Sections) longer(prompt string) int {
	if s == nil {
		return 0
	}
	return max(s.more[prompt], 0)
}

// promptOf is the prompt that a section is part of.
func promptOf(section string) string {
	prompt, _, _ := strings.Cut(section, ".")
	return prompt
}

// checkWords refuses what would change more of a prompt than its own section, or could not be seen in it.
func checkWords(file, text string) error {
	switch {
	case !utf8.ValidString(text):
		return fmt.Errorf("%s: it is not UTF-8", file)
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("%s: it is empty; to have ralph's own words again, delete it", file)
	}
	fence, opened, comment := "", 0, 0
	for i, line := range strings.Split(text, "\n") {
		bad := ""
		switch {
		case clean(line) != line:
			bad = "control characters, or invisible ones"
		case sigils.Inert(line) != line || breakVerdicts(line) != line:
			bad = "a sigil; what they are and what they mean is said elsewhere in the prompt"
		case strings.Contains(line, "Assigned Task"):
			bad = `the words "Assigned Task", by which agents find their task`
		}
		if bad != "" {
			return fmt.Errorf("%s:%d: it has %s", file, i+1, bad)
		}
		switch mark := fenceMark(line); {
		case fence == "" && mark != "":
			fence, opened = mark, i+1
		case fence != "" && strings.HasPrefix(mark, fence) && strings.Trim(line, " "+fence[:1]) == "":
			fence = ""
		case fence == "" && strings.LastIndex(line, "<!--") > strings.LastIndex(line, "-->"):
			comment = i + 1
		case strings.Contains(line, "-->"):
			comment = 0
		}
	}
	switch {
	case fence != "":
		return fmt.Errorf("%s:%d: this code block does not end, and would take in what follows in the prompt", file, opened)
	case comment > 0:
		return fmt.Errorf("%s:%d: this comment does not end, and would take in what follows in the prompt", file, comment)
	}
	return nil
}

// fenceMark is what opens or ends a code block in a line, or nothing.
func fenceMark(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, sign := range []string{"`", "~"} {
		if mark := line[:len(line)-len(strings.TrimLeft(line, sign))]; len(mark) >= 3 && !strings.Contains(line[len(mark):], "`") {
			return mark
		}
	}
	return ""
}

// parseSection reads a text as a template that can do nothing but show and ask for the values that the prompt's own sections
// show. So it cannot fail, and it cannot take a quotation apart.
func parseSection(name, file, text string) (*parse.Tree, error) {
	trees, err := parse.Parse(file, text, "", "")
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	tree := trees[file]
	if len(trees) > 1 || tree == nil {
		return nil, fmt.Errorf("%s: it defines a template, which cannot be used", file)
	}
	allowed := SectionValues(name)
	var bad parse.Node
	walk(tree.Root, func(n parse.Node) {
		field, isField := n.(*parse.FieldNode)
		known := isField && slices.Contains(allowed, field.String()) || n.Type() == parse.NodeString
		if !known && bad == nil {
			bad = n
		}
	})
	if bad != nil {
		at, what := tree.ErrorContext(bad)
		can := "{{if}} and {{else}}"
		if len(allowed) > 0 {
			can += ", " + human.Series(allowed, "and")
		}
		return nil, fmt.Errorf("%s: %s cannot be used; a section of %s may have %s", at, what, promptOf(name), can)
	}
	return tree, nil
}

// SectionValues are what a section may show: what those of the same prompt do that are ralph's.
func SectionValues(section string) (names []string) {
	for name := range builtin() {
		if promptOf(name) != promptOf(section) {
			continue
		}
		walk(templates().Lookup(name).Root, func(n parse.Node) { names = append(names, n.String()) })
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// walk visits what a template shows or asks for, and everything that is no plain text, value or condition.
func walk(list *parse.ListNode, visit func(parse.Node)) {
	if list == nil {
		return
	}
	pipe := func(n parse.Node, p *parse.PipeNode) {
		if len(p.Decl) > 0 || len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
			visit(n)
			return
		}
		visit(p.Cmds[0].Args[0])
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
		case *parse.ActionNode:
			pipe(n, n.Pipe)
		case *parse.IfNode:
			pipe(n, n.Pipe)
			walk(n.List, visit)
			walk(n.ElseList, visit)
		default:
			visit(n)
		}
	}
}

// readSections are the words of each section, by name.
func readSections() map[string]string {
	texts := map[string]string{}
	files, err := fs.Glob(templateFiles, "templates/sections/*")
	for _, file := range files {
		data, rerr := templateFiles.ReadFile(file)
		if err == nil {
			err = rerr
		}
		texts[strings.TrimSuffix(path.Base(file), ".md")] = string(data)
	}
	if err != nil {
		panic(fmt.Sprintf("prompt: %v", err)) // they are part of the program
	}
	return texts
}
