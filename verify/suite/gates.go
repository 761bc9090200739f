package suite

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"ralph/internal/git"
	"ralph/internal/lazyregexp"
)

// followed is what the gates run, as far as their text and that of what they run tells. It is no shell: it looks for
// words that are files, and takes those for scripts whose names say so.
type followed struct {
	read    Read
	reads   int
	scripts map[string]bool // those that were there, and what would be run instead of one
	own     map[string]bool // those that a gate names itself
	words   map[string]bool // all that commands consist of
	mute    map[string]bool // gates that run what the base does not have
	needs   map[string][]string
	entries []entry
	err     error
}

const (
	maxDepth = 6
	maxReads = 2000
)

func follow(gates []string, read Read) (*followed, error) {
	f := &followed{read: read, scripts: map[string]bool{}, own: map[string]bool{}, words: map[string]bool{}, mute: map[string]bool{}, needs: map[string][]string{}}
	for _, gate := range gates {
		f.direct(gate)
		f.commands(gate, gate, "", 0)
	}
	return f, f.err
}

// text reads a file of the base, if it is there. What is too large, or a folder, has no text.
func (f *followed) text(file string) (text string, there bool) {
	if f.reads++; f.reads > maxReads {
		return "", false
	}
	data, err := f.read(file)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing && !errors.Is(err, git.ErrTooLarge) {
		f.err = errors.Join(f.err, err)
	}
	return string(data), !missing
}

var (
	comment   = lazyregexp.New(`(?m)^\s*#.*$`)
	separator = lazyregexp.New(`&&|\|\||[;\n]`)
	subject   = lazyregexp.New("\\$\\(|`|>|\\|\\s*(?:$|[^t\\s]|t[^ae])") // a pipe to tee or tail shows what is printed
	opening   = lazyregexp.New(`^(?:(?:\w+=\S*|env|exec|time|sh|bash|timeout\s+\S+|-\w+)\s+)*([\w./-]+)`)
	goal      = lazyregexp.New(`\b(?:g?make|just)\s+(?:-\w\s+)*([a-zA-Z][\w.-]*)|\b(?:npm|pnpm|yarn)\s+(?:run(?:-script)?\s+([\w:.-]+)|(test|t)\b)`)
	folder    = lazyregexp.New(`(?:\bcd\s+|-C\s*|--(?:prefix|cwd|dir|directory)[ =])["']?([\w./-]+)`)
	submodule = lazyregexp.New(`-m\s+([\w]+(?:\.\w+)+)`)
	document  = lazyregexp.New(`\bdoctest\s+(?:-\S+\s+)*(\S+\.\w+)`)
	// list is a file that a script may read to know what to check, or how strictly.
	list = lazyregexp.New(`^(?:[\w./-]*/)?(?:\.[a-z][\w-]+|[\w-]+\.(?:list|lst|cfg|conf|ini|rc|env|baseline)|[\w-]*(?:ignore|allow|skip|exclude|baseline|threshold)[\w-]*)$`)
	// looped are the words of a command that goes through a file: what a script does for each line is a check, while a
	// file of which it checks the content is work.
	looped = lazyregexp.New(`(?:\bdone|\bxargs\b[^\n|<]*)\s*<\s*(\S+)|\bin\s+\$\((?:cat|<)\s*([^\s)]+)|(\S+)\s*\|\s*(?:xargs|while)\b`)
	checks = lazyregexp.New(`(?i)(?:^|[/_.-])(?:checks?|tests?|verify|verification|validate|lint|ci|gates?|tools?|scripts?|hack|xtask|build|dev|smoke|e2e|suite|qa|runner|run_?(?:all|tests?)?)(?:$|[/_.-])`)
)

// starters read a file of their own, the first of these.
var starters = map[string][]string{
	"make": {"GNUmakefile", "makefile", "Makefile"}, "gmake": {"GNUmakefile", "makefile", "Makefile"},
	"just": {"justfile", "Justfile", ".justfile"}, "task": {"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"},
	"rake": {"rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"}, "mage": {"magefile.go"}, "invoke": {"tasks.py"}, "inv": {"tasks.py"},
	"ant": {"build.xml"}, "earthly": {"Earthfile"}, "npm": {"package.json"}, "pnpm": {"package.json"}, "yarn": {"package.json"},
	"bun": {"package.json"}, "composer": {"composer.json"}, "deno": {"deno.json", "deno.jsonc"},
}

// direct takes the program that a gate runs for a script, whatever its name, unless what it prints is checked: then it
// may be the work.
func (f *followed) direct(gate string) {
	for _, m := range document.Get().FindAllStringSubmatch(gate, -1) {
		f.scripts[path.Clean(m[1])] = true
	}
	for _, part := range separator.Get().Split(gate, -1) {
		m := opening.Get().FindStringSubmatch(strings.TrimSpace(part))
		if m == nil || subject.Get().MatchString(part) || !strings.ContainsAny(m[1], "/.") {
			continue
		}
		file := path.Clean(m[1])
		f.entries = append(f.entries, entry{file: file})
		if text, there := f.text(file); there {
			f.script(file, text, gate, 0)
		} else {
			f.needs[gate] = append(f.needs[gate], file)
		}
	}
}

func (f *followed) script(file, text, gate string, depth int) {
	f.own[file] = f.own[file] || depth == 0
	if !f.scripts[file] && depth < maxDepth {
		f.scripts[file] = true
		if target := path.Join(path.Dir(file), text); text != "" && !strings.ContainsAny(text, " \n") { // a link, or the name of a program
			if text, there := f.text(target); there {
				f.script(target, text, gate, depth+1)
			}
		}
		f.commands(comment.Get().ReplaceAllString(text, ""), gate, path.Dir(file), depth+1)
	}
}

// commands follows the words of a text that is in a folder.
func (f *followed) commands(text, gate, in string, depth int) {
	dirs := []string{"", in}
	for _, m := range folder.Get().FindAllStringSubmatch(text, 20) {
		dirs = append(dirs, m[1])
	}
	loops := map[string]bool{}
	for _, m := range looped.Get().FindAllStringSubmatch(text, -1) {
		loops[path.Clean(strings.Trim(m[1]+m[2]+m[3], `"'`))] = true
	}
	for _, m := range submodule.Get().FindAllStringSubmatch(text, 20) {
		text += " " + strings.ReplaceAll(m[1], ".", "/") + ".py"
	}
	last, done := "", map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()<>\"'`=,@{}[]:", r) }) {
		if strings.HasPrefix(word, "$") {
			_, word, _ = strings.Cut(word, "/")
		}
		word = strings.TrimLeft(word, "/-+")
		if done[word] || f.reads > maxReads {
			continue
		}
		f.words[word], done[word] = true, true
		names, starts := starters[word]
		switch {
		case starts:
			f.start(text, gate, dirs, names, depth)
		case strings.Contains(word, ".mk"), strings.ContainsAny(word, "/.") && checks.Get().MatchString(word), depth > 0 && (list.Get().MatchString(word) || loops[path.Clean(word)]),
			in != "." && in != "" && path.Ext(word) == ".sh" && !strings.Contains(word, "/"): // beside the script
			f.named(word, gate, dirs, last == "run", depth)
		}
		last = word
	}
}

// start follows what a program reads that runs other commands by name.
func (f *followed) start(text, gate string, dirs, names []string, depth int) {
	var missing, goals []string
	for _, m := range goal.Get().FindAllStringSubmatch(text, -1) {
		if goals = append(goals, m[1]+m[2]+m[3]); m[3] != "" {
			goals[len(goals)-1] = "test"
		}
	}
	for _, dir := range dirs {
		for _, name := range names {
			file := path.Join(dir, name)
			content, there := f.text(file)
			for _, goal := range goals {
				if depth == 0 {
					f.entries = append(f.entries, entry{file, goal})
				}
			}
			if !there {
				missing = append(missing, file)
				continue
			}
			undefined := func(goal string) bool { return !defines(content, goal) }
			f.mute[gate] = f.mute[gate] || depth == 0 && slices.ContainsFunc(goals, undefined)
			for _, other := range missing {
				f.scripts[other] = f.scripts[other] || path.Dir(other) == path.Dir(file)
			}
			if name == "package.json" || name == "composer.json" {
				content = scriptsOf(content)
			}
			f.script(file, content, gate, depth)
			return
		}
	}
	if depth == 0 {
		f.needs[gate] = append(f.needs[gate], missing...)
	}
}

// defines says that a file has something to run by that name, or may have it from elsewhere.
func defines(text, name string) bool {
	return regexp.MustCompile(`(?m)^(?:[^\s#][^=\n]*)?\b`+regexp.QuoteMeta(name)+`\b[^=\n]*:|"`+regexp.QuoteMeta(name)+`"\s*:|^-?s?include|^import|^mod\b|%|\$\(eval`).MatchString(text) || text == ""
}

func scriptsOf(text string) string {
	table, _ := readJSON([]byte(text))
	scripts, _ := table["scripts"].(map[string]any)
	var lines []string
	for _, script := range scripts {
		if line, ok := script.(string); ok {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// named follows a file that a command names. Of a folder, only one whose program is run is meant.
func (f *followed) named(word, gate string, dirs []string, run bool, depth int) {
	for _, dir := range dirs {
		for _, ext := range []string{"", ".js", ".mjs", ".ts"} {
			file := path.Join(dir, word+ext)
			text, there := f.text(file)
			if there && (text != "" || run) {
				f.script(file, text, gate, depth)
				return
			}
			if ext == "" && !there && depth > 0 {
				f.scripts[file] = true // what a script would run if it were there
			}
			if path.Ext(word) != "" || !strings.Contains(word, "/") {
				break
			}
		}
	}
	if depth == 0 && path.Ext(word) != "" {
		f.needs[gate] = append(f.needs[gate], path.Clean(word))
	}
}
