package suite

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"ralph/internal/git"
	"ralph/internal/lazyregexp"
)

// followed is what the gates run, as far as their words and those of what they run name files of the base. What a gate starts is a check;
// of all else that it names, files whose names say so are. A file of neither sort that a gate reads is work like any other.
type followed struct {
	read    Read
	reads   int
	scripts map[string]bool // those that were there, and what would be run instead of one
	own     map[string]bool // those that a gate names itself
	words   map[string]bool // all that commands consist of
	err     error
}

const (
	maxDepth = 6
	maxReads = 2000
)

func follow(gates []string, read Read) (*followed, error) {
	f := &followed{read: read, scripts: map[string]bool{}, own: map[string]bool{}, words: map[string]bool{}}
	for _, gate := range gates {
		f.commands(gate, "", 0)
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
	comment = lazyregexp.New(`(?m)^\s*#.*$`)
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

// recipes are the files of starters that are nothing but commands.
var recipes = set(`GNUmakefile makefile Makefile justfile Justfile .justfile Taskfile.yml taskfile.yml Taskfile.yaml taskfile.yaml rakefile Rakefile
	rakefile.rb Rakefile.rb magefile.go Earthfile`)

func (f *followed) script(file, text string, depth int) {
	f.own[file] = f.own[file] || depth == 0
	if !f.scripts[file] && depth < maxDepth {
		f.scripts[file] = true
		if target := path.Join(path.Dir(file), text); text != "" && !strings.ContainsAny(text, " \n") { // a link, or the name of a program
			if text, there := f.text(target); there {
				f.script(target, text, depth+1)
			}
		}
		f.commands(comment.Get().ReplaceAllString(text, ""), path.Dir(file), depth+1)
	}
}

// commands follows the words of a text that is in a folder.
func (f *followed) commands(text, in string, depth int) {
	words := wordsOf(text)
	loops := map[string]bool{}
	for _, m := range looped.Get().FindAllStringSubmatch(text, -1) {
		loops[path.Clean(strings.Trim(m[1]+m[2]+m[3], `"'`))] = true
	}
	dirs := []string{"", in}
	if depth == 0 || slices.ContainsFunc(words, func(word string) bool { return starters[word] != nil }) {
		dirs = append(dirs, f.folders(words)...)
	}
	if depth == 0 {
		for _, word := range started(text) {
			f.started(word, dirs)
		}
	}
	for i, word := range words {
		last := ""
		if f.words[word] = true; i > 0 {
			last = words[i-1]
		}
		names, starts := starters[word]
		switch {
		case f.reads > maxReads:
			return
		case starts:
			f.start(dirs, names, depth)
		case last == "m" && strings.Contains(word, "."): // a module of Python
			f.named(strings.ReplaceAll(word, ".", "/")+".py", dirs, false, depth)
		case last == "doctest" && depth == 0:
			f.scripts[path.Clean(word)] = true
		case strings.Contains(word, ".mk"), strings.ContainsAny(word, "/.") && checks.Get().MatchString(word), depth > 0 && (list.Get().MatchString(word) || loops[path.Clean(word)]),
			in != "." && in != "" && path.Ext(word) == ".sh" && !strings.Contains(word, "/"): // beside the script
			f.named(word, dirs, last == "run", depth)
		}
	}
}

// wordsOf are the words of commands, each once, as they could name a file or a program.
func wordsOf(text string) (list []string) {
	known := map[string]bool{"": true}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()<>\"'`=,@{}[]:", r) }) {
		if strings.HasPrefix(word, "$") {
			_, word, _ = strings.Cut(word, "/")
		}
		if word = strings.TrimLeft(word, "/-+"); !known[word] {
			known[word], list = true, append(list, word)
		}
	}
	return list
}

// maxFolderWords is how many words of a text may be folders in which it runs something.
const maxFolderWords = 200

// folders are the words that name folders of the base.
func (f *followed) folders(words []string) (dirs []string) {
	for _, word := range words[:min(len(words), maxFolderWords)] {
		if starters[word] != nil || strings.ContainsAny(word, "*?$\\%") {
			continue
		}
		if text, there := f.text(path.Clean(word)); there && text == "" {
			dirs = append(dirs, path.Clean(word))
		}
	}
	return dirs
}

// started follows a file that a gate runs.
func (f *followed) started(word string, dirs []string) {
	for _, dir := range dirs {
		file := path.Join(dir, word)
		if text, there := f.text(file); there && text != "" {
			f.script(file, text, 0)
			return
		}
	}
}

// start follows what a program reads that runs other commands by name.
func (f *followed) start(dirs, names []string, depth int) {
	for _, dir := range dirs {
		for _, name := range names {
			content, there := f.text(path.Join(dir, name))
			if !there {
				continue
			}
			if name == "package.json" || name == "composer.json" {
				content = scriptsOf(content)
			}
			f.script(path.Join(dir, name), content, depth)
			break
		}
	}
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
func (f *followed) named(word string, dirs []string, run bool, depth int) {
	for _, dir := range dirs {
		for _, ext := range []string{"", ".js", ".mjs", ".ts"} {
			file := path.Join(dir, word+ext)
			text, there := f.text(file)
			if there && (text != "" || run) {
				f.script(file, text, depth)
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
}

var (
	wrappers = set(`env exec time command nohup nice timeout sh bash dash zsh ksh . source`)
	shells   = set(`sh bash dash zsh ksh . source`)
	showing  = set(`tee tail head cat`)
)

// started are the files that a command line runs, or has a shell run, so that their result is its own. What something else reads the
// output of may be the work. Of what no shell can read, it is every word.
func started(line string) (list []string) {
	tree, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return wordsOf(line)
	}
	var visit func(node syntax.Node) bool
	visit = func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.Stmt:
			return !slices.ContainsFunc(n.Redirs, stored)
		case *syntax.BinaryCmd:
			call, _ := n.Y.Cmd.(*syntax.CallExpr)
			if piped := n.Op == syntax.Pipe || n.Op == syntax.PipeAll; piped && (call == nil || len(call.Args) == 0 || !showing.has(literal(call.Args[0]))) {
				syntax.Walk(n.Y, visit)
				return false
			}
		case *syntax.CallExpr:
			list = append(list, program(n.Args)...)
		}
		return true
	}
	syntax.Walk(tree, visit)
	return list
}

// stored reports whether what is printed goes to a file, for something else to read.
func stored(r *syntax.Redirect) bool {
	if r.Op != syntax.RdrOut && r.Op != syntax.AppOut {
		return false
	}
	stdout := r.N == nil || r.N.Value == "1"
	return stdout && literal(r.Word) != "/dev/null"
}

// program is the file that a command runs, or those that the command line does which it hands to a shell.
func program(args []*syntax.Word) []string {
	shell, last := false, ""
	for _, arg := range args {
		word := literal(arg)
		switch {
		case shell && last == "-c":
			return started(word)
		case wrappers.has(word):
			shell = shells.has(word)
		case word == "", strings.HasPrefix(word, "-"), strings.Contains(word, "="), !shell && strings.Trim(word, "0123456789.smh") == "": // for how long, or how
		case shell || strings.ContainsAny(word, "/."):
			if _, below, variable := strings.Cut(word, "$/"); variable {
				word = below
			}
			return []string{strings.TrimLeft(word, "/")}
		default:
			return nil
		}
		last = word
	}
	return nil
}

// literal is a word as it is without quotes, with a $ for what only the shell knows.
func literal(word *syntax.Word) string {
	var b strings.Builder
	var add func(parts []syntax.WordPart)
	add = func(parts []syntax.WordPart) {
		for _, part := range parts {
			switch p := part.(type) {
			case *syntax.Lit:
				b.WriteString(p.Value)
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				add(p.Parts)
			default:
				b.WriteByte('$')
			}
		}
	}
	add(word.Parts)
	return b.String()
}
