package knowledge

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"ralph/internal/jsonval"
	"ralph/internal/plain"
	"ralph/internal/seq"
	"ralph/internal/yamlfile"
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

// decode reads YAML that somebody wrote.
func decode(text string, into any) error {
	docs, err := yamlfile.Parse([]byte(text))
	switch {
	case err != nil:
	case len(docs) == 0:
		return nil
	case yamlfile.Alias(docs[0]) > 0:
		err = errors.New("anchors and aliases are not read")
	default:
		err = yamlfile.Decode(docs[0], into)
	}
	if err != nil {
		return fmt.Errorf("front matter: %w", err)
	}
	return nil
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

// format is the inverse of parse for an entry that was tidied. The library's own
// encoder is not used: of a tag such as "a[" it makes what it cannot read.
func (e *Entry) format() []byte {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, scalar(value))
		}
	}
	b.WriteString(fence + "\n")
	line("title", e.Title)
	line("kind", string(e.Kind))
	if len(e.Tags) > 0 {
		fmt.Fprintf(&b, "tags: [%s]\n", strings.Join(seq.Map(e.Tags, scalar), ", "))
	}
	line("feature", e.Feature)
	if !e.CreatedAt.IsZero() {
		line("created_at", e.CreatedAt.UTC().Format(time.RFC3339))
	}
	line("task", e.Task)
	line("run", e.Run)
	b.WriteString(fence + "\n\n" + e.Body + "\n")
	return []byte(b.String())
}

// scalar writes text as YAML: plain if nobody could take it for anything else,
// otherwise as JSON writes it, which is YAML too.
func scalar(text string) string {
	if isPlainScalar(text) {
		return text
	}
	quoted, _ := jsonval.Marshal(text) // every text has a JSON form
	return strings.TrimSuffix(string(quoted), "\n")
}

func isPlainScalar(text string) bool {
	for i, r := range text {
		if first := i == 0; !plain.IsLetter(r) && (first || !strings.ContainsRune("0123456789 _-", r)) {
			return false
		}
	}
	switch strings.ToLower(text) {
	case "", "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return false
	}
	return !strings.HasSuffix(text, " ")
}
