package modelagent

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/copyfile"
	"ralph/internal/git"
)

const (
	maxFound      = 200
	maxFoundLine  = 500     // characters that are shown of a line
	maxSearched   = 1 << 20 // characters of a line that are looked at
	maxContext    = 20
	moreThanFound = "(there are more: narrow the search)\n"
)

type globArgs struct {
	Pattern string `json:"pattern" jsonschema:"like **/*.go or cmd/*/main.go; ** is any number of folders"`
	Path    string `json:"path,omitempty" jsonschema:"the folder to look in, the project by default"`
}

type grepArgs struct {
	Pattern    string `json:"pattern" jsonschema:"a regular expression as Go has them (RE2)"`
	Path       string `json:"path,omitempty" jsonschema:"a file, or the folder to look in, the project by default"`
	Glob       string `json:"glob,omitempty" jsonschema:"look only in files whose names match, like *.go or docs/**/*.md"`
	IgnoreCase flag   `json:"ignore_case,omitempty"`
	Context    whole  `json:"context,omitempty" jsonschema:"how many lines to show before and after each"`
}

func (b *toolbox) searchTools() []tool {
	return []tool{
		newTool(tool{
			Spec: Spec{Name: "glob", Description: "Find files by their names, the ones that were changed last first. What git ignores is left out, unless path is in it."},
			kind: acp.ToolKindSearch,
		}, func(in globArgs) (action, error) { return b.aboutSearch("Find: "+in.Pattern, in.Path) }, b.glob),
		newTool(tool{
			Spec: Spec{Name: "grep", Description: "Search for lines in files, as FILE:LINE: TEXT. What git ignores is left out, unless path is in it."},
			kind: acp.ToolKindSearch,
		}, func(in grepArgs) (action, error) { return b.aboutSearch("Search: "+in.Pattern, in.Path) }, b.grep),
	}
}

func (b *toolbox) aboutSearch(title, in string) (action, error) {
	name, err := b.readable(cmp.Or(in, "."))
	if err != nil {
		return action{}, err
	}
	if name != "." {
		title += " in " + name
	}
	return action{Title: title, Path: filepath.Join(b.dir, name)}, nil
}

func (b *toolbox) glob(ctx context.Context, in globArgs) (string, error) {
	if !doublestar.ValidatePattern(in.Pattern) {
		return "", fmt.Errorf("%q is no pattern: a bracket or a brace is not closed", in.Pattern)
	}
	type file struct {
		name string
		info fs.FileInfo
	}
	var found []file
	err := b.each(ctx, in.Path, func(name, below string) error {
		if is, _ := doublestar.Match(in.Pattern, below); !is {
			return nil
		}
		if info, err := b.root.Lstat(filepath.FromSlash(name)); err == nil && !info.IsDir() {
			found = append(found, file{name, info})
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	slices.SortFunc(found, func(a, b file) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), cmp.Compare(a.name, b.name))
	})
	var out strings.Builder
	for _, f := range found[:min(len(found), maxFound)] {
		out.WriteString(f.name + "\n")
	}
	if len(found) > maxFound {
		fmt.Fprintf(&out, "(and %d more)\n", len(found)-maxFound)
	}
	return cmp.Or(out.String(), "(no file matches)"), nil
}

// errEnough ends a search.
var errEnough = errors.New("enough is found")

func (b *toolbox) grep(ctx context.Context, in grepArgs) (string, error) {
	expression := in.Pattern
	if in.IgnoreCase {
		expression = "(?i)" + expression
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return "", err
	}
	if !doublestar.ValidatePattern(in.Glob) {
		return "", fmt.Errorf("%q is no pattern: a bracket or a brace is not closed", in.Glob)
	}
	s := &search{re: re, around: min(max(int(in.Context), 0), maxContext)}
	err = b.each(ctx, in.Path, func(name, below string) error {
		if in.Glob != "" && !globbed(in.Glob, below) {
			return nil
		}
		f, _, err := copyfile.Open(b.root, filepath.FromSlash(name))
		if err != nil {
			return nil // it is gone, or no file
		}
		defer f.Close()
		return s.in(ctx, name, bufio.NewReaderSize(f, 64<<10))
	})
	switch {
	case errors.Is(err, errEnough):
		s.out.WriteString(moreThanFound)
	case err != nil:
		return s.out.String(), err
	case s.found == 0:
		return "(no line matches)", nil
	}
	return s.out.String(), nil
}

// globbed says that a file's path matches, or its name if the pattern has no folder.
func globbed(pattern, name string) bool {
	if !strings.Contains(pattern, "/") {
		name = path.Base(name)
	}
	is, _ := doublestar.Match(pattern, name) // it was checked
	return is
}

// search collects lines.
type search struct {
	re     *regexp.Regexp
	around int
	found  int
	out    strings.Builder
}

// in looks through a file.
func (s *search) in(ctx context.Context, name string, r *bufio.Reader) error {
	if isBinary(r) {
		return nil
	}
	var before []string // the last lines that are not shown
	until := 0          // lines are shown, though they do not match
	for n := 1; ; n++ {
		line, more, err := nextLine(r, maxSearched)
		if err != nil || !more {
			return err
		}
		if n%1000 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at := s.re.FindStringIndex(line)
		switch {
		case at != nil:
			if s.found++; s.found > maxFound || s.out.Len() > maxResult {
				return errEnough
			}
			for i, text := range before {
				s.show(name, '-', n-len(before)+i, text)
			}
			before = before[:0]
			s.show(name, ':', n, line[len(first(line, max(0, utf8.RuneCountInString(line[:at[0]])-maxFoundLine/2))):])
			until = n + s.around
		case n <= until:
			s.show(name, '-', n, line)
		case s.around > 0:
			if before = append(before, line); len(before) > s.around {
				before = before[1:]
			}
		}
	}
}

func (s *search) show(name string, mark rune, n int, text string) {
	if head := first(text, maxFoundLine); head != text {
		text = head + "…"
	}
	fmt.Fprintf(&s.out, "%s%c%d%c %s\n", name, mark, n, mark, text)
}

// each calls fn for the files at or below a path that git does not ignore, by their names in the project and below the
// path. Where git knows none, it calls fn for all.
func (b *toolbox) each(ctx context.Context, in string, fn func(name, below string) error) error {
	at, err := b.readable(cmp.Or(in, "."))
	if err != nil {
		return err
	}
	at = filepath.ToSlash(at)
	info, err := b.root.Lstat(filepath.FromSlash(at))
	if err != nil {
		return about(in, err)
	}
	if !info.IsDir() {
		return fn(at, path.Base(at))
	}
	prefix := strings.TrimPrefix(at+"/", "./")
	listed, _ := git.Listed(ctx, b.real) // without git, or where it cannot say, there are none
	listed = slices.DeleteFunc(listed, func(name string) bool { return !strings.HasPrefix(name, prefix) })
	for _, name := range listed {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		inside, err := b.root.Lstat(filepath.FromSlash(name))
		switch {
		case err != nil: // it is gone
		case inside.IsDir():
			err = b.walk(ctx, strings.TrimSuffix(name, "/"), prefix, fn)
		default:
			err = fn(name, strings.TrimPrefix(name, prefix))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(listed) > 0 {
		return nil
	}
	return b.walk(ctx, at, prefix, fn)
}

// walk is each without git.
func (b *toolbox) walk(ctx context.Context, at, prefix string, fn func(name, below string) error) error {
	return fs.WalkDir(b.root.FS(), at, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && entry != nil && entry.IsDir():
			return fs.SkipDir // it cannot be read
		case err != nil:
			return nil //nolint:nilerr // it is gone
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		return fn(name, strings.TrimPrefix(name, prefix))
	})
}
