package tamper

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"ralph/internal/git"
	"ralph/internal/lazyregexp"
)

// NeuteredGates says which changes leave a gate nothing to do, or make it pass whatever
// comes of it: a script that a gate names, a target of a Makefile or justfile, a
// script of a package.json, that ran something and runs nothing any more, or whose
// test program's exit status counts no longer. To edit them is work like any other.
func NeuteredGates(changes []git.Change, before, after Read, gates []string) []Finding {
	words := map[string]bool{}
	for _, gate := range gates {
		for word := range strings.FieldsFuncSeq(gate, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()\"'`", r) }) {
			words[path.Clean(word)] = true
		}
	}
	var findings []Finding
	for _, c := range changes {
		if c.Kind != git.Modified || recipesOf(c.Path, "", words) == nil {
			continue
		}
		old, err1 := before(c.Path)
		now, err2 := after(c.Path)
		if err1 != nil || err2 != nil {
			continue // too large to be one
		}
		was, is := recipesOf(c.Path, string(old), words), recipesOf(c.Path, string(now), words)
		for _, name := range slices.Sorted(maps.Keys(was)) {
			recipe, still := is[name]
			if !still {
				continue // whoever calls it fails
			}
			where := plain(c.Path)
			if name != "" {
				where += " (" + plain(name) + ")"
			}
			if what := was[name].weaker(recipe); what != "" {
				findings = append(findings, Finding{c.Path, what + ": " + where})
			}
		}
	}
	return findings
}

// recipe is what is run by one name.
type recipe struct {
	commands []string // that do something
	needs    []string // other recipes
}

// weaker says how a recipe does less than it did, or nothing.
func (was recipe) weaker(is recipe) string {
	another := func(name string) bool { return !slices.Contains(was.needs, name) }
	if len(was.commands) > 0 && len(is.commands) == 0 && !slices.ContainsFunc(is.needs, another) {
		return "what the gates run does nothing any more"
	}
	for _, command := range is.commands {
		bare := strings.TrimSpace(swallow().ReplaceAllString(strings.TrimPrefix(command, "-"), ""))
		if bare != command && testCommand().MatchString(bare) && slices.Contains(was.commands, bare) && !slices.Contains(is.commands, bare) {
			return fmt.Sprintf("what the gates run passes whatever comes of %q", bare)
		}
	}
	return ""
}

var (
	swallow     = lazyregexp.New(`\s*(?:\|\|\s*(?:true|:|exit 0|echo\b.*)|;\s*(?:true|:|exit 0))\s*$`)
	testCommand = lazyregexp.New(`\b(?:tests?|check|vet|lint|pytest|unittest|tox|jest|vitest|mocha|eslint|tsc|mypy|ruff|clippy|golangci-lint|playwright|cypress)\b`)
	target      = lazyregexp.New(`^@?([\w.-]+)[^:=\n]*:([^=\n]*)$`)
	usual       = lazyregexp.New(`^(?:test|check|lint|ci|verify|vet|unit|typecheck)`)
)

// recipesOf reads what a file runs, by name, or returns nil for a file that is none
// of those. Names that neither a gate uses nor everybody does are left out.
func recipesOf(file, text string, words map[string]bool) map[string]recipe {
	base := path.Base(file)
	recipes := map[string]recipe{}
	keep := func(name string) bool { return words[name] || usual().MatchString(name) }
	switch {
	case base == "package.json":
		var p struct {
			Scripts map[string]string `json:"scripts"`
		}
		_ = json.Unmarshal([]byte(text), &p) // what npm cannot read fails by itself
		for name, command := range p.Scripts {
			if keep(name) {
				recipes[name] = recipe{commands: commandsOf(command)}
			}
		}
	case strings.EqualFold(base, "makefile") || base == "GNUmakefile" || path.Ext(base) == ".mk" || strings.EqualFold(base, "justfile"):
		readTargets(text, func(name, needs, lines string) {
			if keep(name) { // a target may have several rules
				recipes[name] = recipe{append(recipes[name].commands, commandsOf(lines)...), append(recipes[name].needs, strings.Fields(needs)...)}
			}
		})
	case words[file] || words[base] && path.Ext(base) == ".sh":
		if text != "" && path.Ext(base) != ".sh" && !shell().MatchString(text) {
			return recipes
		}
		recipes[""] = recipe{commands: commandsOf(text)}
	default:
		return nil
	}
	return recipes
}

var (
	shell       = lazyregexp.New(`^#!.*\b(?:sh|bash|dash|zsh|ksh)\b`)
	conditional = lazyregexp.New(`^(?:ifeq|ifneq|ifdef|ifndef|else|endif)\b`) // in a Makefile
)

func readTargets(text string, each func(name, needs, lines string)) {
	name, needs, lines := "", "", ""
	flush := func() {
		if name != "" {
			each(name, needs, lines)
		}
		name, lines = "", ""
	}
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if line[0] == '\t' || line[0] == ' ' && trimmed != "" {
			lines += strings.TrimLeft(trimmed, "@+") + "\n"
			continue
		}
		if conditional().MatchString(line) {
			continue // the recipe goes on
		}
		if m := target().FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil && !strings.HasPrefix(m[1], ".") {
			flush()
			name = m[1]
			needs, _, _ = strings.Cut(m[2], "#")
			if _, inline, is := strings.Cut(needs, ";"); is {
				needs, lines = strings.TrimSuffix(needs, ";"+inline), inline+"\n"
			}
		} else if trimmed != "" && trimmed[0] != '#' {
			flush()
		}
	}
	flush()
}

var (
	assignment = lazyregexp.New(`^\w+=\S*$`)
	leaves     = lazyregexp.New(`^(?:exit|exit 0|exec true|return 0)$`)
	opens      = lazyregexp.New(`^(?:if|for|while|until|case|select)\b|\{$`)
	ends       = lazyregexp.New(`^(?:fi|done|esac|\})`)
	// dullWords do nothing that could fail.
	dullWords = strings.Fields(`set echo printf cd true : export local readonly shopt umask pwd date fi done esac } exit return`)
	// openWords stand before a command.
	openWords = strings.Fields(`then else do { !`)
)

// commandsOf lists the commands of a shell script that do something, up to where it
// ends in any case. It is no parser: what it does not understand does something.
func commandsOf(script string) (commands []string) {
	depth := 0
	script = strings.ReplaceAll(script, "\\\n", " ")
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if ends().MatchString(line) {
			depth = max(0, depth-1)
		}
		doing, leaving := steps(line)
		if depth == 0 && leaving {
			return commands
		}
		if doing {
			commands = append(commands, line)
		}
		if opens().MatchString(line) && !closesItself(line) {
			depth++
		}
	}
	return commands
}

// steps says whether a line does something, and whether it leaves the script before
// it does, whatever comes of it.
func steps(line string) (doing, leaving bool) {
	if strings.Contains(line, "||") {
		return true, false
	}
	for part := range strings.FieldsFuncSeq(strings.ReplaceAll(line, "&&", ";"), func(r rune) bool { return r == ';' }) {
		part, _, _ = strings.Cut(part, " #")
		part = strings.TrimSpace(part)
		words := strings.Fields(part)
		for len(words) > 0 && slices.Contains(openWords, words[0]) {
			words = words[1:]
		}
		switch {
		case leaves().MatchString(part):
			return doing, !doing
		case len(words) == 0, assignment().MatchString(part):
		case slices.Contains(dullWords, words[0]) && !strings.Contains(part, "$(") && !strings.Contains(part, "|"):
		default:
			doing = true
		}
	}
	return doing, false
}

func closesItself(line string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ';' })
	return slices.ContainsFunc(words, func(w string) bool { return w == "fi" || w == "done" || w == "esac" || w == "}" })
}
