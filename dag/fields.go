package dag

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"ralph/internal/db"
	"ralph/internal/human"
)

// Detail is what a person says about a task. What it says of other tasks, and where it came from, is not among it. Fields has an entry
// for each: all that store, read or show a task go by that.
type Detail struct {
	Title       string
	Description string
	Priority    int64  // lower runs first
	Kind        Kind   // empty means work
	Agent       string // empty means the configured one
	Model       string // empty means the strategy's choice
	Gates       []string
	MaxRetries  *int     // nil means the configured number
	Effort      Effort   // empty means the run's
	MayChange   []string // globs of the files that check its work and that it may change
	ExpectRed   string   // the gate that its work makes fail
	Locks       []string // that a claim takes with it: a name, or path: and a path
	Paths       []string // globs: what it will touch
	Tags        []string
	Proves      []string      // success criteria of its feature's specification
	Context     []string      // commands: what they print is part of the prompt of each attempt
	Output      string        // the name under which tasks that wait for it get its result
	Timeout     time.Duration // of an attempt; 0 means the configured one
	OnFail      OnFail
	When        *When  // what earlier tasks have to have come to for it to be worked on
	Notify      string // what people are told instead of an agent working on it
}

// Fields are those of a Detail, in the order in which plan files have them: new ones come last. Each is a column of the same name.
// Struct tags would be shorter, but find a wrong name only when they run.
var Fields = []Field{
	field("title", about{Flag: "title", Help: "the new `TITLE`", Always: true}, func(d *Detail) *string { return &d.Title }, plainText(checkTitle)),
	field("description", about{Flag: "description", Short: "d", Help: "`TEXT`, @FILE, or - for stdin", Always: true},
		func(d *Detail) *string { return &d.Description }, plainText(checkDescription)),
	field("priority", about{Flag: "priority", Help: "`N`; lower runs first", Always: true}, func(d *Detail) *int64 { return &d.Priority }, whole),
	field("kind", about{Flag: "kind", Help: "`KIND`: work must change the project, check may be done without a change", Always: true, Default: string(Work)},
		func(d *Detail) *Kind { return &d.Kind }, oneOf(Work, Work, Check)),
	field("agent", about{Flag: "agent", Help: "`NAME` of the agent for this task", Always: true, Varies: AsWord}, func(d *Detail) *string { return &d.Agent }, text),
	field("model", about{Flag: "model", Help: "`NAME` of the model for this task", Always: true, Varies: AsWord}, func(d *Detail) *string { return &d.Model }, text),
	field("gates", about{Flag: "gate", Help: "`CMD` that must succeed before it counts as done; repeatable", Always: true, Varies: AsCommand},
		func(d *Detail) *[]string { return &d.Gates }, commands("gate")),
	field("max_retries", about{Flag: "max-retries", Help: "retry at most `N` times after work was rejected", Shown: "run.max_retries, 3", Always: true},
		func(d *Detail) **int { return &d.MaxRetries }, count),
	field("effort", about{Flag: "effort", Help: "how long the model may think: `LEVEL` low, medium or high", Varies: AsWord},
		func(d *Detail) *Effort { return &d.Effort }, oneOf("", Efforts()...)),
	field("may_change", about{Flag: "may-change", Help: "`GLOB` of tests, settings or CI files that check its work and that it may change; repeatable", Names: true},
		func(d *Detail) *[]string { return &d.MayChange }, list(CleanMayChange)),
	field("expect_red", about{Flag: "expect-red", Help: "`GATE` that has to fail after the work: tests are written first", Varies: AsCommand, Reads: "after the work: VALUE"},
		func(d *Detail) *string { return &d.ExpectRed }, text),
	field("locks", about{Flag: "lock", Help: "run only while no other task has the lock `NAME`; path:DIR locks all below DIR; repeatable", Names: true},
		func(d *Detail) *[]string { return &d.Locks }, list(cleanLocks)),
	field("paths", about{Flag: "paths", Help: "`GLOB` of what it will touch: tasks that touch the same do not run side by side; repeatable"},
		func(d *Detail) *[]string { return &d.Paths }, list(cleanPaths)),
	field("tags", about{Flag: "tag", Help: "give it the tag `TAG`; repeatable", Names: true, Joined: true}, func(d *Detail) *[]string { return &d.Tags }, list(cleanTags)),
	field("proves", about{Flag: "proves", Help: "`CRITERION` of the specification that its tests prove, such as C3; repeatable", Names: true, Joined: true},
		func(d *Detail) *[]string { return &d.Proves }, list(cleanProves)),
	field("context", about{Flag: "context", Help: "`CMD` whose output is part of the prompt of each attempt; repeatable", Varies: AsCommand},
		func(d *Detail) *[]string { return &d.Context }, commands("context")),
	field("output", about{Flag: "output", Help: "`NAME` under which the prompts of tasks that wait for it have its result"},
		func(d *Detail) *string { return &d.Output }, label),
	field("timeout", about{Flag: "timeout", Help: "let a turn of its agent take at most `DURATION`, such as 90s, 15m or 2h", Shown: "run.turn_timeout", Key: "timeout_ms"},
		func(d *Detail) *time.Duration { return &d.Timeout }, duration),
	field("on_fail", about{Flag: "on-fail", Help: "what its failure means to tasks that wait for it: `WHAT` is stop or continue", Shown: "stop", Reads: "tasks that wait for it go on"},
		func(d *Detail) *OnFail { return &d.OnFail }, failing),
	field("when", about{Flag: "when", Help: `what an earlier task has to have come to for it to run, as ` + "`JSON`" + `: {"output": "build", "status": "failed"}; else it is left out`},
		func(d *Detail) **When { return &d.When }, condition),
	field("notify", about{Flag: "notify", Help: "`TEXT` that is sent to those whom [[notify]] names; no agent is asked"}, func(d *Detail) *string { return &d.Notify }, checked(text, func(_, s string) (string, error) { return s, checkDescription(s) })),
}

// Field is a field of a Detail, as all know it that store, read or show it.
type Field struct {
	Name string // of the column, in plan files and in templates

	parameter string // of a statement
	about
	access
}

// about is what is said of a field.
type about struct {
	Flag, Short, Help string // of task add and task update; the flag of a list is for one of it
	Default           string // what no text stands for
	Shown             string // by the help as the default
	Key               string // in JSON; the name if it is empty
	Always            bool   // plan files have it even if it is empty
	Names             bool   // it is a list of names or globs: what cannot be one is a mistake of typing
	Joined            bool   // people read the list on one line
	Reads             string // what they read where the value is VALUE; the value if it is empty
	Varies            Varies
}

// Varies is how inputs of a template fill a field in.
type Varies int

// Not at all, as a word, or in a command that a shell reads.
const (
	Never Varies = iota
	AsWord
	AsCommand
)

// JSONKey is the key of the field in the JSON that commands print.
func (f Field) JSONKey() string { return cmp.Or(f.Key, f.Name) }

// Label is what people read before a value.
func (f Field) Label() string {
	if f.Joined {
		return f.Name
	}
	return strings.ReplaceAll(f.Flag, "-", " ")
}

// Lines are what people read of it.
func (f Field) Lines(d Detail) []string {
	lines := slices.Clone(f.Texts(d))
	for i, text := range lines {
		if f.Reads != "" {
			lines[i] = strings.ReplaceAll(f.Reads, "VALUE", text)
		}
	}
	if f.Joined && len(lines) > 0 {
		return []string{strings.Join(lines, ", ")}
	}
	return lines
}

// About is its help as a sentence.
func (f Field) About() string {
	return strings.TrimSuffix(strings.ReplaceAll(f.Help, "`", ""), "; repeatable")
}

// FieldNamed finds a field.
func FieldNamed(name string) (Field, bool) {
	i := slices.IndexFunc(Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return Fields[i], true
}

// access is the field in a Detail.
type access interface {
	bind(d *Detail) any
	scan(d *Detail, r *db.Row)
	// Check refuses what it cannot be, and brings the rest into the form in which it is stored.
	Check(d *Detail) error
	// Parse sets it to what was typed, several texts if it is a list. It does not check that.
	Parse(d *Detail, typed ...string) error
	// Decode sets it to what a decoder of JSON or YAML reads.
	Decode(d *Detail, decode func(into any) error) error
	// Copy sets it to what it is in another.
	Copy(d, from *Detail)
	Empty(d Detail) bool
	// JSON is how commands print it, and Written how plan files do.
	JSON(d Detail) any
	Written(d Detail) any
	// Texts are how people read and type it, one of a list each.
	Texts(d Detail) []string
	// Value is the zero value of its flag, which says what can be typed.
	Value() any
	// Choices are all that can be typed, if there are few.
	Choices() []string
	IsList() bool
}

// kind is a type of values. check may be nil.
type kind[T any] struct {
	bind    func(T) any
	scan    func(*db.Row) T
	check   func(name string, v T) (T, error)
	parse   func(name string, typed []string) (T, error)
	decode  func(name string, decode func(any) error) (T, error) // nil decodes the type itself
	json    func(T) any
	written func(T) any // nil is as in JSON
	texts   func(T) []string
	value   any
	choices []string
}

type column[T any] struct {
	kind[T]
	name string
	at   func(*Detail) *T
}

func field[T any](name string, a about, at func(*Detail) *T, k kind[T]) Field {
	return Field{name, ":" + name, a, column[T]{k, name, at}}
}

func (c column[T]) bind(d *Detail) any        { return c.kind.bind(*c.at(d)) }
func (c column[T]) scan(d *Detail, r *db.Row) { *c.at(d) = c.kind.scan(r) }

func (c column[T]) Check(d *Detail) (err error) {
	if c.check != nil {
		*c.at(d), err = c.check(c.name, *c.at(d))
	}
	return err
}

func (c column[T]) Parse(d *Detail, typed ...string) (err error) {
	*c.at(d), err = c.parse(c.name, typed)
	return err
}

func (c column[T]) Decode(d *Detail, decode func(any) error) (err error) {
	if c.decode == nil {
		return decode(c.at(d))
	}
	*c.at(d), err = c.decode(c.name, decode)
	return err
}

func (c column[T]) Copy(d, from *Detail)    { *c.at(d) = *c.at(from) }
func (c column[T]) Empty(d Detail) bool     { return len(c.texts(*c.at(&d))) == 0 }
func (c column[T]) JSON(d Detail) any       { return c.json(*c.at(&d)) }
func (c column[T]) Texts(d Detail) []string { return c.texts(*c.at(&d)) }
func (c column[T]) Value() any              { return c.value }
func (c column[T]) Choices() []string       { return c.choices }
func (c column[T]) IsList() bool            { _, is := c.value.([]string); return is }

func (c column[T]) Written(d Detail) any {
	if c.written == nil {
		return c.JSON(d)
	}
	return c.written(*c.at(&d))
}

func one(typed []string) string { return strings.Join(typed, "\n") }

// someText is the list of a text that is not empty.
func someText[T ~string](s T) []string {
	if s == "" {
		return nil
	}
	return []string{string(s)}
}

// word is a text that is NULL where it is empty.
func word[T ~string]() kind[T] {
	return kind[T]{
		bind: func(s T) any { return db.OrNull(string(s)) }, scan: func(r *db.Row) T { return T(r.Text()) }, json: func(s T) any { return db.OrNull(string(s)) },
		parse: func(_ string, typed []string) (T, error) { return T(one(typed)), nil }, texts: someText[T], value: "",
	}
}

var text = word[string]()

// label is a text of one line: a name that others give.
var label = checked(text, func(_, s string) (string, error) { return s, checkLabels(s) })

func checked[T any](k kind[T], check func(name string, v T) (T, error)) kind[T] {
	k.check = check
	return k
}

// plainText is one that is stored even if it is empty.
func plainText(check func(string) error) kind[string] {
	k := checked(text, func(_, s string) (string, error) { return s, check(s) })
	k.bind, k.json = func(s string) any { return s }, func(s string) any { return s }
	return k
}

// oneOf is one of a few words. unset is the one that none stands for.
func oneOf[T ~string](unset T, words ...T) kind[T] {
	k := word[T]()
	k.check = func(name string, s T) (T, error) {
		if s != "" && !slices.Contains(words, s) {
			return s, fmt.Errorf("%w: %s is %s, not %q", ErrRefused, name, human.Series(words, "or"), s)
		}
		return s, nil
	}
	for _, w := range words {
		k.choices = append(k.choices, string(w))
	}
	if unset != "" {
		k.bind = func(s T) any { return string(cmp.Or(s, unset)) }
		k.json, k.texts = k.bind, func(s T) []string { return []string{string(cmp.Or(s, unset))} }
	}
	return k
}

// failing is what a failure means. To stop those that wait is what a task does that says nothing.
var failing = func() kind[OnFail] {
	k := oneOf[OnFail]("", Continue)
	k.choices = []string{stop, string(Continue)}
	k.check = func(name string, o OnFail) (OnFail, error) {
		switch o {
		case stop:
			return "", nil
		case "", Continue:
			return o, nil
		}
		return o, fmt.Errorf("%w: %s is %s or %s, not %q", ErrRefused, name, stop, Continue, o)
	}
	return k
}()

const stop = "stop"

var whole = kind[int64]{
	bind: func(n int64) any { return n }, scan: (*db.Row).Int64, json: func(n int64) any { return n }, value: int64(0),
	parse: func(_ string, typed []string) (int64, error) {
		n, err := strconv.ParseInt(one(typed), 0, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number", one(typed))
		}
		return n, nil
	},
	texts: func(n int64) []string { return []string{strconv.FormatInt(n, 10)} },
}

// count is a number that need not be there. As it is typed, -1 and no text stand for that.
var count = kind[*int]{
	bind: func(n *int) any { return n }, scan: func(r *db.Row) *int { return db.Optional(r, r.Int) }, json: func(n *int) any { return n }, value: 0,
	check: func(name string, n *int) (*int, error) {
		if n != nil && *n < 0 {
			return n, fmt.Errorf("%w: %s is %d; it cannot be negative", ErrRefused, name, *n)
		}
		return n, nil
	},
	parse: func(_ string, typed []string) (*int, error) {
		const none = -1
		n, err := strconv.Atoi(cmp.Or(one(typed), strconv.Itoa(none)))
		switch {
		case err != nil:
			return nil, err
		case n == none:
			return nil, nil
		}
		return &n, nil
	},
	decode: func(_ string, decode func(any) error) (*int, error) {
		var v any
		if err := decode(&v); err != nil || v == nil {
			return nil, err
		}
		n := new(int) // a decoder of YAML makes none
		return n, decode(n)
	},
	texts: func(n *int) []string {
		if n == nil {
			return nil
		}
		return []string{strconv.Itoa(*n)}
	},
}

// list is a list of texts; clean brings it into its one form and order.
func list(clean func([]string) ([]string, error)) kind[[]string] {
	return kind[[]string]{
		bind: func(list []string) any { return db.JSON(list) }, scan: db.List[string], json: func(list []string) any { return list },
		check: func(_ string, list []string) ([]string, error) { return clean(list) },
		parse: func(_ string, typed []string) ([]string, error) { return typed, nil },
		texts: func(list []string) []string { return list }, value: []string{},
	}
}

// commands are a list in the order in which they run.
func commands(what string) kind[[]string] {
	return list(func(list []string) ([]string, error) {
		if len(list) == 0 {
			return nil, nil
		}
		return list, checkCommands(what, list)
	})
}

var duration = kind[time.Duration]{
	bind: func(d time.Duration) any { return db.OrNull(d.Milliseconds()) }, scan: (*db.Row).Duration, value: "0s",
	check: func(name string, d time.Duration) (time.Duration, error) {
		if d < 0 || d%time.Millisecond != 0 {
			return d, fmt.Errorf("%w: %s is %s; it cannot be negative, nor have less than a millisecond", ErrRefused, name, d)
		}
		return d, nil
	},
	parse: func(_ string, typed []string) (time.Duration, error) {
		d, why := human.ParseDuration(cmp.Or(one(typed), "0s"))
		if why != "" {
			return 0, fmt.Errorf("%q %s", one(typed), why)
		}
		return d, nil
	},
	decode: func(name string, decode func(any) error) (time.Duration, error) {
		var s string
		if err := decode(&s); err != nil || s == "" {
			return 0, err
		}
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return 0, fmt.Errorf("%s is %q; write it as 90s, 15m or 2h", name, s)
		}
		return d, nil
	},
	json: func(d time.Duration) any {
		if d == 0 {
			return nil
		}
		return d
	},
	written: func(d time.Duration) any { return d.String() },
	texts: func(d time.Duration) []string {
		if d == 0 {
			return nil
		}
		return []string{d.String()}
	},
}

// said joins something of each field.
func said(sep string, of func(Field) string) string {
	var list []string
	for _, f := range Fields {
		list = append(list, of(f))
	}
	return strings.Join(list, sep)
}

// statement fills the columns in that a statement leaves to Fields, once: {task} is what scanTask reads, {details} what a plan says about a
// task, and {values} the parameters for that.
func statement(text string) string {
	if made, ok := statements.Load(text); ok {
		return made.(string)
	}
	columns := said(", ", func(f Field) string { return "[" + f.Name + "]" }) // one is a word of SQL
	values := said(", ", func(f Field) string { return f.parameter })
	made := strings.NewReplacer("{said}", columns, "{details}", columns+", emptied, origin, discovered_from",
		"{values}", values+", :emptied, :origin, :discovered_from").Replace(strings.ReplaceAll(text, "{task}", taskColumns))
	statements.Store(text, made)
	return made
}

var statements sync.Map // as they are made

// scanDetail reads the columns of Fields.
func scanDetail(r *db.Row) (d Detail) {
	for _, f := range Fields {
		f.scan(&d, r)
	}
	return d
}

// check refuses what no task can say, and brings the rest into the form in which it is stored.
func (d *Detail) check() error {
	for _, f := range Fields {
		if err := f.Check(d); err != nil {
			return err
		}
	}
	if d.Notify != "" && (len(d.Gates) > 0 || d.ExpectRed != "" || len(d.Proves) > 0) {
		return fmt.Errorf("%w: a task that tells people something is not worked on, so it has no gates and proves nothing", ErrRefused)
	}
	return nil
}

func checkTitle(title string) error {
	switch {
	case strings.TrimSpace(title) == "":
		return fmt.Errorf("%w: a title must not be empty", ErrRefused)
	case utf8.ValidString(title) && !strings.ContainsFunc(title, visible):
		return fmt.Errorf("%w: a title must have something in it that can be seen", ErrRefused)
	case len(title) > maxTitle:
		return fmt.Errorf("%w: the title has %d bytes; at most %d are kept", ErrRefused, len(title), maxTitle)
	}
	return checkStored(title)
}

func checkDescription(text string) error {
	if len(text) > maxDescription {
		return fmt.Errorf("%w: the description has %d bytes; at most %d are kept", ErrRefused, len(text), maxDescription)
	}
	return checkStored(text)
}

func checkStored(text string) error {
	switch {
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: title and description must be UTF-8 text", ErrRefused)
	case strings.ContainsRune(text, 0):
		return fmt.Errorf("%w: title and description must not contain NUL", ErrRefused)
	}
	return nil
}

func checkCommands(what string, commands []string) error {
	for _, command := range commands {
		if strings.TrimSpace(command) == "" {
			return fmt.Errorf("%w: a %s must not be empty", ErrRefused, what)
		}
		if !utf8.ValidString(command) || strings.ContainsRune(command, 0) {
			return fmt.Errorf("%w: a %s must be UTF-8 text without NUL", ErrRefused, what)
		}
	}
	return nil
}
