package project

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// UnknownKeyError is a setting that there is none of, such as run.limmit.
type UnknownKeyError struct {
	Place string // file:line
	Key   string
}

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("%v: %s: unknown key %s", ErrConfig, e.Place, e.Key)
}

func (e *UnknownKeyError) Unwrap() error { return ErrConfig }

func explain(path string, data []byte, err error) error {
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	var duration *durationError
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		first := unknown.Errors[0]
		row, _ := first.Position()
		return &UnknownKeyError{Place: fmt.Sprintf("%s:%d", path, row), Key: strings.Join(first.Key(), ".")}
	case errors.As(err, &wrong):
		row, _ := wrong.Position()
		return fmt.Errorf("%w: %s:%d: %s", ErrConfig, path, row, mistyped(wrong))
	case errors.As(err, &duration): // of a value without quotes, whose place the library does not report
		return fmt.Errorf("%w: %s:%d: %w", ErrConfig, path, lineOfValue(data, duration.text), err)
	default:
		return fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
}

func lineOfValue(data []byte, value string) int {
	for i, text := range strings.Split(string(data), "\n") {
		_, after, _ := strings.Cut(text, "=")
		after, _, _ = strings.Cut(after, "#")
		if strings.TrimSpace(after) == value {
			return i + 1
		}
	}
	return 1
}

// mistyped says in words which kind of value a key takes. The library names types of
// Go, which are nothing to whoever wrote the file.
func mistyped(err *toml.DecodeError) string {
	text := strings.TrimPrefix(err.Error(), "toml: ")
	ofType := regexp.MustCompile(`^cannot decode TOML (.+) into (?:.* of type )?(\S+)$`) // here, because every command would pay for it
	m := ofType.FindStringSubmatch(text)
	if m == nil || len(err.Key()) == 0 {
		return text
	}
	wanted, ok := map[string]string{
		"string": "a text in quotes", "bool": "true or false", "int": "a whole number", "int64": "a whole number",
		"float64": "a number", "[]string": `a list of texts, like ["a", "b"]`, "project.Duration": `a duration, like "90s" or "2d12h"`,
	}[m[2]]
	if !ok {
		wanted = "a table of its own"
	}
	return fmt.Sprintf("%s: it is %s, not %s", strings.Join(err.Key(), "."), wanted, withArticle(m[1]))
}

func withArticle(kind string) string {
	if strings.ContainsAny(kind[:1], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}
