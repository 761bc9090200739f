package modelagent

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/git"
	"ralph/internal/plain"
)

const (
	maxFound     = 200
	maxFoundLine = 500 // bytes that are shown of a line
)

type globArgs struct {
	Pattern string `json:"pattern" jsonschema:"like **/*.go or cmd/*/main.go; ** is any number of folders"`
	Path    string `json:"path,omitempty" jsonschema:"the folder to look in, the project by default"`
}

type grepArgs struct {
	Pattern string `json:"pattern" jsonschema:"a regular expression as Go has them (RE2); (?i) at its beginning ignores case"`
	Path    string `json:"path,omitempty" jsonschema:"a file, or the folder to look in, the project by default"`
	Glob    string `json:"glob,omitempty" jsonschema:"look only in files whose names match, like *.go or docs/**/*.md"`
}

func (b *toolbox) searchTools() []tool {
	return []tool{
		newTool(tool{
			Spec: Spec{Name: "glob", Description: "Find files by their names. What git ignores is left out, unless path is in it."},
			kind: acp.ToolKindSearch,
		}, b.glob),
		newTool(tool{
			Spec: Spec{Name: "grep", Description: "Search for lines in files, as FILE:LINE: TEXT. What git ignores is left out, unless path is in it, and so are binary and very large files."},
			kind: acp.ToolKindSearch,
		}, b.grep),
	}
}

func (b *toolbox) glob(in globArgs) (action, doing, error) {
	return b.search("Find: "+in.Pattern, in.Path, in.Pattern, func(name string) ([]string, error) {
		return []string{filepath.ToSlash(name)}, nil
	})
}

func (b *toolbox) grep(in grepArgs) (action, doing, error) {
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		return action{}, nil, err
	}
	pattern := cmp.Or(in.Glob, "*")
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	return b.search("Search: "+in.Pattern, in.Path, pattern, func(name string) ([]string, error) {
		text, err := b.load(name)
		if err != nil || isBinary(text) {
			return nil, err
		}
		var found []string
		n := 0
		for line := range strings.Lines(text) {
			n++
			line = strings.TrimRight(line, "\r\n")
			if at := re.FindStringIndex(line); at != nil && len(found) <= maxFound {
				line = plain.Cut(plain.Tail(line, len(line)-at[0]+maxFoundLine/2), maxFoundLine)
				found = append(found, fmt.Sprintf("%s:%d: %s", filepath.ToSlash(name), n, line))
			}
		}
		return found, nil
	})
}

// search plans to list what look finds in the files at or below a path that match a pattern.
func (b *toolbox) search(title, below, pattern string, look func(name string) ([]string, error)) (action, doing, error) {
	if !doublestar.ValidatePattern(pattern) {
		return action{}, nil, fmt.Errorf("%q is no pattern: a bracket or a brace is not closed", pattern)
	}
	folder, err := b.locate(cmp.Or(below, "."))
	if folder != "." {
		title += " in " + folder
	}
	return action{Title: title, Path: filepath.Join(b.dir, folder)}, func(ctx context.Context) (string, error) {
		at := filepath.ToSlash(folder)
		files, err := b.files(ctx, at)
		if err != nil {
			return "", err
		}
		var found []string
		for _, name := range files {
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			if is, _ := doublestar.Match(pattern, strings.TrimPrefix(name, at+"/")); !is {
				continue
			}
			more, err := look(filepath.FromSlash(name))
			if err != nil && name == at { // others are gone, or no files
				return "", naming(below, err)
			}
			if found = append(found, more...); len(found) > maxFound {
				return strings.Join(found[:maxFound], "\n") + "\n(there are more: narrow the search)\n", nil
			}
		}
		if len(found) == 0 {
			return "(nothing matches)", nil
		}
		return strings.Join(found, "\n") + "\n", nil
	}, err
}

// files lists the files at or below a path that git does not ignore. Where git knows none, it lists all.
func (b *toolbox) files(ctx context.Context, at string) (found []string, err error) {
	listed, _ := git.Listed(ctx, b.real) // without git, or where it cannot say, there are none
	if at != "." {
		listed = slices.DeleteFunc(listed, func(name string) bool { return !strings.HasPrefix(name, at+"/") })
	}
	if len(listed) == 0 {
		listed = []string{at}
	}
	for _, name := range listed { // a folder among them is another repository
		err := fs.WalkDir(b.root.FS(), path.Clean(name), func(name string, entry fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil && name == at:
				return naming(name, err)
			case err != nil:
				return nil //nolint:nilerr // it is gone, or cannot be read
			case entry.IsDir() && entry.Name() == ".git":
				return fs.SkipDir
			case !entry.IsDir():
				found = append(found, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
