package verify

import "ralph/internal/git"

type Finding struct{ Path, What string }

func (f Finding) String() string { return f.What }

func Tampering(changes []git.Change, read func(path string, before bool) ([]byte, error), protect []string) ([]Finding, error) {
	return nil, nil
}
