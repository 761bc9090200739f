package project

import (
	"errors"
	"fmt"
	"strings"
)

// ErrConfig is a configuration that cannot be used.
var ErrConfig = errors.New("bad configuration")

// Problem is one thing that is wrong in a file.
type Problem struct {
	Place string // file:line
	Key   string // as the file names it
	Why   string // empty: there is no such key
}

func (p Problem) String() string {
	if p.Why == "" {
		return fmt.Sprintf("%s: unknown key %s", p.Place, p.Key)
	}
	return fmt.Sprintf("%s: %s: %s", p.Place, p.Key, p.Why)
}

// Problems are all that is wrong in a file.
type Problems []Problem

// Error has a line for each, with the key that was probably meant, if there are several.
func (list Problems) Error() string {
	if len(list) == 1 {
		return ErrConfig.Error() + ": " + list[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %d problems", ErrConfig, len(list))
	for _, p := range list {
		b.WriteString("\n  " + p.String())
		if near := p.suggestion(); near != "" {
			b.WriteString("; did you mean: " + near)
		}
	}
	return b.String()
}

// Suggestion is the key that was probably meant, where one unknown key is all that is wrong.
func (list Problems) Suggestion() string {
	if len(list) != 1 {
		return ""
	}
	return list[0].suggestion()
}

func (p Problem) suggestion() string {
	if p.Why != "" {
		return ""
	}
	return Suggest(p.Key)
}

// Is makes each an ErrConfig.
func (Problems) Is(target error) bool { return target == ErrConfig }
