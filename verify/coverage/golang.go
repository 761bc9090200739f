package coverage

import (
	"bufio"
	"cmp"
	"errors"
	"go/scanner"
	"go/token"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"ralph/internal/lazyregexp"
)

// at is a place in a file of Go.
type at struct{ line, column int }

func (a at) compare(b at) int {
	return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
}

// block is a part of a file of Go that is executed as a whole.
type block struct{ from, to at }

// blocks are those of files by the names that Go gives them, and whether one was executed.
type blocks map[string]map[block]bool

// goName is what Go calls a file in a profile, by its module; "" if it is in none.
func goName(file string, read Read) string {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if mod, err := read(path.Join(dir, "go.mod")); err == nil {
			name := moduleOf(mod)
			if name == "" {
				return ""
			}
			if dir != "." {
				file = strings.TrimPrefix(file, dir+"/")
			}
			return name + "/" + file
		}
		if dir == "." || dir == "/" || strings.HasPrefix(dir, "..") {
			return ""
		}
	}
}

var moduleLine = lazyregexp.New(`(?m)^module[ \t]+("[^"\n]+"|[^\s"]+)`)

func moduleOf(mod []byte) string {
	found := moduleLine.Get().FindSubmatch(mod)
	if found == nil {
		return ""
	}
	return strings.Trim(string(found[1]), `"`)
}

// read reads a profile of Go, or several one after the other. Lines that are none are left out: of two tools that write at once, one may
// cut into the line of the other.
func (b blocks) read(from io.Reader, wanted func(name string) bool) error {
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		text, cut, err := in.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for long := cut; long && err == nil; {
			_, long, err = in.ReadLine()
		}
		if !cut {
			b.line(string(text), wanted)
		}
	}
}

// maxBlocks is more than a file of Go has.
const maxBlocks = 1 << 17

// line reads "example.com/m/a.go:3.21,4.11 1 0".
func (b blocks) line(text string, wanted func(name string) bool) {
	name, rest, ok := cutLast(text, ":")
	if !ok || !wanted(name) {
		return
	}
	fields := strings.FieldsFunc(rest, func(r rune) bool { return r == '.' || r == ',' || r == ' ' })
	var n [6]int
	if len(fields) != len(n) {
		return
	}
	for i, field := range fields {
		var err error
		if n[i], err = strconv.Atoi(field); err != nil {
			return
		}
	}
	if b[name] == nil {
		b[name] = map[block]bool{}
	}
	one := block{at{n[0], n[1]}, at{n[2], n[3]}}
	if _, known := b[name][one]; known || len(b[name]) < maxBlocks { // a gate may write what it likes
		b[name][one] = b[name][one] || n[5] > 0
	}
}

func cutLast(text, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// lines are the lines of a file that have something of a block which is more than punctuation and comments. Of blocks in one another the
// inner one counts; of several in one line, one that was executed.
func (l Lines) blocks(src []byte, blocks map[block]bool) {
	todo := slices.SortedFunc(maps.Keys(blocks), func(x, y block) int { // of those that begin at one place the inner one last
		return cmp.Or(x.from.compare(y.from), y.to.compare(x.to))
	})
	var in []block // that have begun, the inner one last
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, src, func(token.Position, string) {}, 0)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return
		}
		switch tok {
		case token.SEMICOLON, token.LBRACE, token.RBRACE, token.RPAREN, token.COMMA, token.ELSE:
			continue
		}
		p := file.PositionFor(pos, false)
		here := at{p.Line, p.Column}
		for len(todo) > 0 && todo[0].from.compare(here) <= 0 {
			in, todo = append(in, todo[0]), todo[1:]
		}
		for len(in) > 0 && in[len(in)-1].to.compare(here) <= 0 {
			in = in[:len(in)-1]
		}
		if len(in) == 0 {
			continue
		}
		for line := p.Line; line <= p.Line+strings.Count(text, "\n"); line++ {
			l[line] = l[line] || blocks[in[len(in)-1]]
		}
	}
}

// profile names what blocks say by the files of the project.
func (b blocks) profile(names map[string]string, read Read) Profile {
	p := Profile{}
	for name, file := range names {
		src, err := read(file)
		if err != nil || len(b[name]) == 0 {
			continue
		}
		p[file] = Lines{}
		p[file].blocks(src, b[name])
	}
	return p
}
