package features

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
	"ralph/internal/proof"
)

// Level says what a finding means.
type Level string

// The levels: a fault goes back to the agent, a warning to the person.
const (
	Fault   Level = "error"
	Warning Level = "warning"
)

// Finding is something wrong with a plan.
type Finding struct {
	Level Level  `json:"level"`
	Rule  string `json:"rule"`
	Text  string `json:"text"`
}

// String is the finding in a line.
func (f Finding) String() string { return f.Text + " [" + f.Rule + "]" }

// Ground is what a plan is held against.
type Ground struct {
	Gates  []string               // what ralph runs after every task anyway
	Exists func(path string) bool // in the project

	Protect []string // globs of what no work may change unless its task names it in may_change

	Criteria []proof.Criterion // of the specification
	Proven   []string          // criteria that tasks prove which stay
}

// The sizes beyond which a task is more than one sitting of work.
const (
	longDescription    = 6 << 10  // a warning
	hugeDescription    = 32 << 10 // a fault: no agent keeps all of that in mind
	manyCriteria       = 15
	manyFiles          = 12
	shortDescription   = 25 // below it, nothing can have been said
	longChain          = 5
	manyTasks          = 200
	chainShare         = 0.75
	shownOfChain       = 6
	maxFindingsPerRule = 10
)

// Lint says what is wrong with a plan, without asking any model. Cycles and orphan
// dependencies are found by the import itself, which knows the rest of the graph.
func Lint(specs []dag.Spec, on Ground) []Finding {
	l := &linter{ground: on, groups: map[string]bool{}, byRef: map[string]*dag.Spec{}, count: map[string]int{}}
	for i := range specs {
		if specs[i].Parent != "" {
			l.groups[specs[i].Parent] = true
		}
		if specs[i].Ref != "" {
			l.byRef[specs[i].Ref] = &specs[i]
		}
	}
	titles := map[string]*dag.Spec{}
	for i := range specs {
		s := &specs[i]
		title := strings.ToLower(strings.TrimSpace(s.Title))
		if first, taken := titles[title]; taken {
			l.add(Warning, "duplicate", "%s has the title of %s: %q", name(s), name(first), s.Title)
		}
		titles[title] = s
		l.task(s)
	}
	l.files(specs)
	l.proven(specs)
	l.gates(specs)
	l.chain(specs)
	if leaves := l.leaves(specs); len(leaves) > manyTasks {
		l.add(Warning, "oversized", "the plan has %d tasks; more than %d are hard to oversee", len(leaves), manyTasks)
	}
	return l.findings
}

type linter struct {
	ground   Ground
	groups   map[string]bool // refs that are a parent
	byRef    map[string]*dag.Spec
	count    map[string]int
	findings []Finding
}

func (l *linter) add(level Level, rule, format string, args ...any) {
	if l.count[rule+string(level)]++; l.count[rule+string(level)] <= maxFindingsPerRule {
		l.findings = append(l.findings, Finding{level, rule, fmt.Sprintf(format, args...)})
	}
}

func (l *linter) isGroup(s *dag.Spec) bool { return s.Ref != "" && l.groups[s.Ref] }

func (l *linter) leaves(specs []dag.Spec) []*dag.Spec {
	var list []*dag.Spec
	for i := range specs {
		if !l.isGroup(&specs[i]) {
			list = append(list, &specs[i])
		}
	}
	return list
}

// name is how a task is called in a finding.
func name(s *dag.Spec) string {
	if s.Ref != "" {
		return s.Ref
	}
	return fmt.Sprintf("line %d", s.Line)
}

var (
	criteria   = lazyregexp.New(`(?i)\b(acceptance|accept(ed)? (if|when)|done when|definition of done|criteri(a|on)|expected (result|output|behaviou?r)|success(ful)? (if|when))\b`)
	listItem   = lazyregexp.New(`(?m)^\s*([-*+]|\d+[.)])\s+\S`)
	vagueWords = lazyregexp.New(`(?i)\b(tbd|tbc|todo|fixme|etc\.?|and so on|and more|some kind of|somehow|various|miscellaneous|misc|stuff|whatever|as needed|as appropriate|if necessary|where possible|clean ?up everything|improve (the )?(code|quality|performance))(\b|$)`)
)

// task looks at one task by itself.
func (l *linter) task(s *dag.Spec) {
	text := strings.TrimSpace(s.Description)
	if s.Status != "" && s.Status != dag.Pending {
		l.add(Fault, "status", "%s is %s already: a new task has no status", name(s), s.Status)
	}
	l.mayChange(s, text)
	if words := len(strings.Fields(s.Title)); words < 2 && !l.isGroup(s) {
		l.add(Warning, "vague", "%s: the title %q does not say what is to be done", name(s), s.Title)
	}
	if found := vagueWords.Get().FindString(s.Title); found != "" {
		l.add(Fault, "vague", "%s: %q in the title says nothing", name(s), found)
	} else if found := vagueWords.Get().FindString(text); found != "" {
		l.add(Warning, "vague", "%s: %q leaves open what is to be done", name(s), found)
	}
	if l.isGroup(s) {
		return
	}
	switch {
	case text == "":
		l.add(Fault, "vague", "%s has no description: whoever does it knows nothing else", name(s))
	case len(text) < shortDescription:
		l.add(Fault, "vague", "%s: the description has %d characters: whoever does it knows nothing else", name(s), len(text))
	case !criteria.Get().MatchString(text) && len(s.Gates) == 0:
		l.add(Fault, "criteria", "%s has neither acceptance criteria (a line \"Acceptance:\" and what must hold) nor a gate", name(s))
	}
	switch paths := pathsIn(text); {
	case len(text) > hugeDescription:
		l.add(Fault, "oversized", "%s: the description has %d KiB; split the task", name(s), len(text)>>10)
	case len(text) > longDescription:
		l.add(Warning, "oversized", "%s: the description has %d KiB; it may be more than one task", name(s), len(text)>>10)
	case len(listItem.Get().FindAllString(text, -1)) > manyCriteria:
		l.add(Warning, "oversized", "%s has %d points; it may be more than one task", name(s), len(listItem.Get().FindAllString(text, -1)))
	case len(paths) > manyFiles:
		l.add(Warning, "oversized", "%s names %d files; it may be more than one task", name(s), len(paths))
	}
}

// gates warns when nothing but an agent's word says that a task is done.
func (l *linter) gates(specs []dag.Spec) {
	if len(l.ground.Gates) > 0 {
		return
	}
	var without []string
	leaves := l.leaves(specs)
	for _, s := range leaves {
		if len(s.Gates) == 0 {
			without = append(without, name(s))
		}
	}
	switch {
	case len(without) == 0:
	case len(without) == len(leaves):
		l.add(Warning, "gate", "no task has a gate and the project has none: nothing but the agent's word says that work is done")
	default:
		l.add(Warning, "gate", "without a gate, in a project without any: %s", strings.Join(without[:min(len(without), maxFindingsPerRule)], ", "))
	}
}

// Faulty says whether a plan cannot be taken as it is.
func Faulty(list []Finding) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Level == Fault })
}

// chain warns when most tasks wait for one another in a single file although some
// of them have nothing to do with each other. Tasks that name the same files may
// have to wait; where no files are named, nobody can tell, and a person should.
func (l *linter) chain(specs []dag.Spec) {
	leaves := l.leaves(specs)
	path := l.longest(leaves)
	if len(path) < longChain || float64(len(path)) < chainShare*float64(len(leaves)) {
		return
	}
	var loose []string
	for i := 1; i < len(path); i++ {
		if !related(path[i-1], path[i]) {
			loose = append(loose, name(path[i])+" after "+name(path[i-1]))
		}
	}
	if len(loose) > 0 {
		l.add(Warning, "chain", "%d of %d tasks wait for one another in a single line, and some could be done side by side: %s",
			len(path), len(leaves), strings.Join(loose[:min(len(loose), shownOfChain)], ", "))
	}
}

// longest is the longest way along dependencies between leaves. A cycle, which the
// import refuses anyway, is not walked twice.
func (l *linter) longest(leaves []*dag.Spec) []*dag.Spec {
	length, before := map[*dag.Spec]int{}, map[*dag.Spec]*dag.Spec{}
	var walk func(s *dag.Spec) int
	walk = func(s *dag.Spec) int {
		if n, known := length[s]; known {
			return n
		}
		length[s] = 0 // while it is under way: a cycle ends here
		longest := 0
		for _, ref := range s.After {
			blocker := l.byRef[ref]
			if blocker == nil || l.isGroup(blocker) {
				continue
			}
			if n := walk(blocker); n > longest {
				longest, before[s] = n, blocker
			}
		}
		length[s] = longest + 1
		return length[s]
	}
	var last *dag.Spec
	for _, s := range leaves {
		if n := walk(s); last == nil || n > length[last] {
			last = s
		}
	}
	var path []*dag.Spec
	for s := last; s != nil && len(path) < len(leaves); s = before[s] {
		path = append(path, s)
	}
	slices.Reverse(path)
	return path
}

// related says that two tasks name a file in common, or one of them the other.
func related(a, b *dag.Spec) bool {
	if mentions(a.Description, b.Ref) || mentions(b.Description, a.Ref) {
		return true
	}
	files := pathsIn(a.Description)
	return slices.ContainsFunc(pathsIn(b.Description), func(path string) bool { return slices.Contains(files, path) })
}

// mentions looks for a ref as a word of its own. One of a letter or two is no name.
func mentions(text, ref string) bool {
	if len(ref) < 3 {
		return false
	}
	found, err := regexp.MatchString(`(^|[^\w-])`+regexp.QuoteMeta(ref)+`([^\w-]|$)`, text)
	return err == nil && found
}

var (
	inCode   = lazyregexp.New("`([^`\n]+)`")
	pathLike = lazyregexp.New(`^\.?/?[\w.@-]+(/[\w.@-]+)*$`)
	bareFile = lazyregexp.New(`(^|[\s(])((?:[\w@-][\w.@-]*/)+[\w@-][\w.@-]*\.[A-Za-z][A-Za-z0-9]{0,5})\b`)
	creates  = lazyregexp.New(`(?i)\b(create[sd]?|creating|add(s|ed|ing)?|new|writes?|writing|generate[sd]?|introduce[sd]?|into a|make[s]?|output)\b`)
)

// pathsIn lists the files that a text names: between backticks, or with a folder
// and an ending.
func pathsIn(text string) []string {
	var list []string
	note := func(path string) {
		path = strings.TrimPrefix(strings.TrimSuffix(path, "/"), "./")
		if path != "" && !strings.Contains(path, "..") && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	for _, m := range inCode.Get().FindAllStringSubmatch(text, -1) {
		if pathLike.Get().MatchString(m[1]) && plain.HasEnding(m[1]) && !isSymbol(m[1]) {
			note(m[1])
		}
	}
	for _, m := range bareFile.Get().FindAllStringSubmatch(inCode.Get().ReplaceAllString(text, ""), -1) {
		note(m[2])
	}
	return list
}

// isSymbol tells fmt.Println and os.File from files: after the dot comes a capital.
func isSymbol(word string) bool {
	_, last, _ := strings.Cut(word, ".")
	return !strings.Contains(word, "/") && last != "" && last[0] >= 'A' && last[0] <= 'Z'
}

// files warns about files that neither exist nor are made by any task.
func (l *linter) files(specs []dag.Spec) {
	if l.ground.Exists == nil {
		return
	}
	made := map[string]bool{}
	for i := range specs {
		for line := range strings.Lines(specs[i].Title + "\n" + specs[i].Description) {
			if creates.Get().MatchString(line) {
				for _, path := range pathsIn(line) {
					made[path] = true
				}
			}
		}
	}
	for i := range specs {
		for _, path := range pathsIn(specs[i].Description) {
			if !made[path] && !l.ground.Exists(path) {
				l.add(Warning, "file", "%s names %s, which does not exist and which no task says it makes", name(&specs[i]), path)
			}
		}
	}
}
