package knowledge

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

const fence = "---"

// maxFront is how long front matter may be; a parser's work is bounded by it.
const maxFront = 4 << 10

type front struct {
	Title     string `yaml:"title"`
	Kind      string `yaml:"kind"`
	Tags      tags   `yaml:"tags"`
	Feature   string `yaml:"feature"`
	CreatedAt string `yaml:"created_at"`
	Task      string `yaml:"task"`
	Run       string `yaml:"run"`
}

// tags are a list, or one text with commas as people write it.
type tags []string

// UnmarshalYAML reads either form.
func (t *tags) UnmarshalYAML(unmarshal func(any) error) error {
	var list []string
	if err := unmarshal(&list); err == nil {
		*t = list
		return nil
	}
	var line string
	if err := unmarshal(&line); err != nil {
		return errors.New("tags are neither a list nor a text")
	}
	*t = strings.Split(line, ",")
	return nil
}

// split cuts a file into its front matter and its body.
func split(text string) (front, body string, err error) {
	rest, ok := strings.CutPrefix(text, fence+"\n")
	if !ok {
		return "", "", errors.New("no front matter: the first line is not ---")
	}
	at := 0
	for line := range strings.Lines(rest) {
		if at > maxFront {
			break
		}
		if strings.TrimRight(line, " \t\n") == fence {
			return rest[:at], rest[at+len(line):], nil
		}
		at += len(line)
	}
	return "", "", fmt.Errorf("front matter without end within %d bytes", maxFront)
}

// decode reads YAML that somebody wrote. The library's panics are its own; text in
// a file is no reason for ours.
func decode(text string, into any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("front matter: %v", p)
		}
	}()
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return plainError(err)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil
	}
	var found aliases
	ast.Walk(&found, file.Docs[0].Body)
	if found {
		return errors.New("front matter: anchors and aliases are not read")
	}
	if err := yaml.NodeToValue(file.Docs[0].Body, into); err != nil {
		return plainError(err)
	}
	return nil
}

// aliases is whether a tree has any. A few of them can stand for more text than
// there is memory.
type aliases bool

// Visit looks at one node.
func (a *aliases) Visit(node ast.Node) ast.Visitor {
	switch node.Type() {
	case ast.AliasType, ast.AnchorType:
		*a = true
	}
	return a
}

// plain drops the picture that the library draws below its message.
func plainError(err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New("front matter: " + first)
}

func parse(text string) (Entry, error) {
	head, body, err := split(text)
	if err != nil {
		return Entry{}, err
	}
	var f front
	if err := decode(head, &f); err != nil {
		return Entry{}, err
	}
	e := Entry{Title: f.Title, Kind: Kind(f.Kind), Tags: f.Tags, Feature: f.Feature, Task: f.Task, Run: f.Run, Body: body}
	if f.CreatedAt != "" {
		if e.CreatedAt, err = readTime(f.CreatedAt); err != nil {
			return Entry{}, err
		}
	}
	e.tidy()
	if e.Title == "" {
		return Entry{}, errors.New("no title")
	}
	return e, nil
}

func readTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("created_at: %q is no time; write it like 2026-01-02T03:04:05Z", oneLine(text, maxTag))
}
