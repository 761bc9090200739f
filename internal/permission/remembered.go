package permission

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"

	"ralph/internal/bounded"
	"ralph/internal/copyfile"
	"ralph/internal/provenance"
	"ralph/internal/toolcall"
)

// Book is a project's rules: those of its configuration, and answers that people want remembered, in a file. The file is where no agent in
// a sandbox can write; people find it by a link in the project, where some agents can. What they put there does not count.
type Book struct {
	provenance.Linked
	Warn func(string) // of a file that has become useless meanwhile; may be nil

	lists Lists

	mu    sync.Mutex
	rules *Rules
	seen  stamp
}

// entry is a remembered answer, as the file has it.
type entry struct {
	Answer Remember  `toml:"answer"`
	Rule   string    `toml:"rule"`
	By     string    `toml:"by,omitempty"`
	At     time.Time `toml:"at,omitempty"`
}

func (e entry) is(other entry) bool { return e.Answer == other.Answer && e.Rule == other.Rule }

// Remember is an answer that is to count from now on.
type Remember string

// What is remembered.
const (
	Always Remember = "always"
	Never  Remember = "never"
)

type stamp struct {
	at   time.Time
	size int64
}

// Open reads the remembered answers to go with lists. A file that cannot be used is an error that names the line.
func (b *Book) Open(lists Lists) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lists = lists
	if _, err := os.Lstat(b.Path); err == nil {
		_ = b.MakeLink() // without it they count, too
	}
	return b.load()
}

// Rules are those that count now.
func (b *Book) Rules() *Rules {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Path != "" {
		if info, err := os.Stat(b.Path); err == nil && (stamp{info.ModTime(), info.Size()}) != b.seen {
			if err := b.load(); err != nil && b.Warn != nil {
				b.Warn(err.Error() + "; the rules before it still count")
			}
		}
	}
	return b.rules
}

// Decide says what the rules that count now say about a call.
func (b *Book) Decide(c toolcall.Call) Decision { return b.Rules().Decide(c) }

// Add remembers an answer to what a decision asks about, in the file and here.
func (b *Book) Add(d Decision, answer Remember, by string, at time.Time) error {
	if len(d.open) == 0 {
		return errors.New("no rule can say exactly this; write one into [permissions] of .ralph.toml")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	stored, _ := b.stored() // who cannot be read gets a rule twice
	var add []entry
	for _, rule := range d.open {
		e := entry{answer, rule.String(), by, at.UTC().Truncate(time.Second)}
		if !slices.ContainsFunc(append(stored, add...), e.is) {
			add = append(add, e)
		}
	}
	if err := errors.Join(b.append(add), b.MakeLink()); err != nil {
		return fmt.Errorf("remember %s: %w", answer, err)
	}
	return b.load()
}

const preface = `# What people answered with "always" or "never" when an agent asked. ralph appends to this file; change it
# as you like. No agent in a sandbox can write it. docs/security.md#permissions says what a rule is.
`

func (b *Book) append(add []entry) error {
	if b.Path == "" {
		return errors.New("neither HOME nor XDG_STATE_HOME is set")
	}
	if len(add) == 0 {
		return nil
	}
	text, err := toml.Marshal(struct {
		Rule []entry `toml:"rule"`
	}{add})
	if err != nil {
		return err
	}
	return provenance.Append(b.Path, preface, "\n"+string(text))
}

func (b *Book) load() error {
	list, err := b.stored()
	if err != nil {
		return err
	}
	return b.use(list)
}

// stored is what the file says now.
func (b *Book) stored() ([]entry, error) {
	data, seen, err := read(b.Path)
	if err != nil {
		return nil, err
	}
	b.seen = seen
	name := b.Path
	if _, err := os.Lstat(b.Link); err == nil && !b.Stray() {
		name = b.Link // which people know
	}
	return parse(data, name)
}

func parse(data []byte, name string) ([]entry, error) {
	var file struct {
		Rule []entry `toml:"rule"`
	}
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&file); err != nil {
		return nil, explain(err, name)
	}
	for i, e := range file.Rule {
		_, err := ParseRule(e.Rule)
		if e.Answer != Always && e.Answer != Never {
			err = fmt.Errorf("answer: %q is neither %q nor %q", e.Answer, Always, Never)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s:%d: rule %d: %w", ErrFile, name, lineOf(data, i+1), i+1, err)
		}
	}
	return file.Rule, nil
}

// ErrFile is a file of remembered answers that cannot be used.
var ErrFile = errors.New("bad permissions")

func explain(err error, name string) error {
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		row, _ := unknown.Errors[0].Position()
		return fmt.Errorf("%w: %s:%d: unknown key %s", ErrFile, name, row, strings.Join(unknown.Errors[0].Key(), "."))
	case errors.As(err, &wrong):
		row, _ := wrong.Position()
		return fmt.Errorf("%w: %s:%d: %s", ErrFile, name, row, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return fmt.Errorf("%w: %s: %w", ErrFile, name, err)
}

// lineOf is where the nth rule begins.
func lineOf(data []byte, n int) int {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("[[")) {
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	return 1
}

func (b *Book) use(kept []entry) error {
	var remembered Lists
	for _, e := range kept {
		if e.Answer == Always {
			remembered.Allow = append(remembered.Allow, e.Rule)
		} else {
			remembered.Deny = append(remembered.Deny, e.Rule)
		}
	}
	rules, err := New(b.lists, remembered)
	if err == nil {
		b.rules = rules
	}
	return err
}

// read reads a file that may be anything: an agent may have put it there.
func read(path string) (data []byte, seen stamp, err error) {
	info, err := os.Lstat(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, stamp{}, nil
	}
	if err == nil && !info.Mode().IsRegular() { // a link is not followed
		err = copyfile.ErrSpecial
	}
	if err == nil {
		data, err = copyfile.Read(path, bounded.Text)
	}
	if err != nil {
		return nil, stamp{}, fmt.Errorf("%w: %s: %w", ErrFile, path, err)
	}
	return data, stamp{info.ModTime(), info.Size()}, nil
}
