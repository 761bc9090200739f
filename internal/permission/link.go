package permission

import "fmt"

// Reject moves rules that an agent has written since Watch out of the way, and says so.
func (b *Book) Reject() (planted []string, err error) {
	if b == nil {
		return nil, nil
	}
	aside, err := b.Linked.Reject()
	if aside == "" {
		return nil, err
	}
	return []string{fmt.Sprintf("%s: rules that no answer gave; they never counted, and are kept in %s", b.Link, aside)}, err
}

// Adopt makes what a person has put in the place of the link the rules of the project.
// It lists them, one in a line after where they come from: no diff shows what an agent may have put there.
func (b *Book) Adopt() (adopted []string, err error) {
	if !b.Stray() {
		return nil, nil
	}
	from, ok := b.Source()
	if !ok {
		return nil, fmt.Errorf("%w: %s leads to %s, where no rules are", ErrFile, b.Link, from)
	}
	data, _, err := read(from)
	if err != nil {
		return nil, err
	}
	list, err := parse(data, b.Link)
	if err == nil {
		err = b.Linked.Adopt(data)
	}
	if err != nil {
		return nil, err
	}
	adopted = []string{fmt.Sprintf("rules from %s that count from now on: %d", from, len(list))}
	for _, e := range list {
		adopted = append(adopted, fmt.Sprintf("  %s %s", e.Answer, e.Rule))
	}
	return adopted, nil
}
