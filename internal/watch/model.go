// Package watch is the live view of a project on a terminal: the graph, what agents
// are doing, and keys to steer them. It reads the database and the files of runs as
// any other program would; it never makes a run wait, and writes only when a key asks.
package watch

import (
	"context"
	"io"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// model is all that the view knows. It changes in Update only, and what is shown
// depends on nothing else.
type model struct {
	name    string
	palette term.Palette
	poll    func(wish) tea.Msg
	act     func(deed) tea.Msg
	compare func(dag.Attempt) tea.Msg

	width, height int
	at            time.Time // now, as of the last tick

	snap   snapshot
	known  bool // there is a snapshot
	detail detail
	stream stream
	doing  map[string]string
	warned string
	err    error

	byID     map[string]int // where a task is in the snapshot
	rows     []row
	folds    map[string]bool // what a person folded or unfolded
	selected string          // ID of a task
	index    int             // of its row
	top      int             // the first row on the screen
	follow   bool            // always select a running task

	screen screen
	scroll int         // lines above the end, in the transcript
	diff   diff        // what the attempt that is looked at changes
	ask    question    // that waits for y
	guided dag.Outline // who is written to
	typed  input
	pane   pane
	notice string // what the last key came to
	failed bool   // it did not work

	redact func(string) string // removes secrets

	acting  int  // deeds that are under way
	leaving bool // when they are done
	polling bool // one is under way
	reread  bool // the database, at the next poll
	turn    int  // the number of the tick that counts
}

type screen int

// The screens.
const (
	overview screen = iota
	help
	reading // the transcript
	comparing
	writing // guidance
	answering
)

type question struct {
	text string
	deed deed
}

type tick struct{ turn int }

// pace is how often news are looked for.
const pace = 500 * time.Millisecond

func newModel(name string, p term.Palette, at time.Time) *model {
	return &model{name: name, palette: p, at: at, folds: map[string]bool{}, follow: true, width: 80, height: 24}
}

// Init asks for the first news.
func (m *model) Init() tea.Cmd { return m.look() }

// look asks for news now, unless somebody does already.
func (m *model) look() tea.Cmd {
	if m.polling {
		return nil // what was just selected is asked for when it comes back
	}
	m.polling = true
	w := wish{task: m.selected, request: m.pane.id, reread: m.reread}
	m.reread = false
	return func() tea.Msg { return m.poll(w) }
}

// Update takes one thing that happened.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.take(msg)
	m.top = window(m.top, m.index, len(m.rows), m.shape().tree)
	return m, cmd
}

func (m *model) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case news:
		return m.learn(msg)
	case compared:
		return m.see(msg)
	case diffTick:
		if msg.turn == m.diff.turn {
			return m.lookAtDiff()
		}
	case tick:
		if msg.turn == m.turn {
			return m.look()
		}
	case did:
		m.notice, m.failed = msg.text, msg.err != nil
		if msg.err != nil {
			m.notice = msg.err.Error()
		}
		if m.acting--; m.leaving && m.acting == 0 {
			return tea.Quit
		}
		m.answered(msg)
		m.reread = true
		return m.look()
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		switch {
		case m.screen == writing:
			m.typed.write(msg.Content)
		case m.screen == answering && m.pane.typing:
			m.paste(msg.Content)
		}
	}
	return nil
}

// learn applies news and sets the time of the next.
func (m *model) learn(n news) tea.Cmd {
	m.polling = false
	m.at, m.err = n.at, n.err
	if n.snap != nil {
		m.snap, m.known = *n.snap, true
		m.byID = make(map[string]int, len(m.snap.tasks))
		for i, t := range m.snap.tasks {
			m.byID[t.ID] = i
		}
		m.regrow()
		m.findRequest()
	}
	if n.detail != nil && n.detail.task == m.selected {
		m.detail = *n.detail
	}
	if n.stream != nil && m.detail.task == m.selected {
		m.stream = *n.stream
	}
	if n.doing != nil {
		m.doing, m.warned = n.doing, n.warned
	}
	m.forget()
	if n.err == nil && (n.task != m.selected || n.request != m.pane.id || m.reread) {
		return m.look() // the selection moved on meanwhile, or a deed was done
	}
	m.turn++
	next := tick{m.turn}
	// A graph that takes long to read is read less often: never more than a tenth of
	// the time.
	return tea.Tick(max(pace, 10*n.took), func(time.Time) tea.Msg { return next })
}

// forget drops what was known of another task than the selected one.
func (m *model) forget() {
	if m.detail.task != m.selected {
		m.detail, m.stream, m.scroll, m.diff = detail{}, stream{}, 0, m.diff.unknown()
	}
}

// regrow makes the rows again and finds the selection among them.
func (m *model) regrow() {
	if m.follow && m.screen == overview && m.ask.text == "" && len(m.snap.attempts) > 0 {
		if _, at := m.attemptAt(m.selected); !at {
			m.selected = m.snap.attempts[0].Task
		}
	}
	m.rows = plant(m.snap.tasks, m.folds)
	if i := slices.IndexFunc(m.rows, func(r row) bool { return m.snap.tasks[r.task].ID == m.selected }); i >= 0 {
		m.index = i
		return
	}
	m.index = max(min(m.index, len(m.rows)-1), 0) // it is gone: its neighbour
	m.selected = ""
	if len(m.rows) > 0 {
		m.selected = m.snap.tasks[m.rows[m.index].task].ID
	}
}

func (m *model) attemptAt(task string) (dag.Attempt, bool) {
	for _, a := range m.snap.attempts {
		if a.Task == task {
			return a, true
		}
	}
	return dag.Attempt{}, false
}

func (m *model) task() (dag.Outline, bool) {
	if m.selected == "" || m.index >= len(m.rows) {
		return dag.Outline{}, false
	}
	return m.snap.tasks[m.rows[m.index].task], true
}

// row is a line of the tree. There is one for each task that is not folded away;
// only those on the screen are ever drawn.
type row struct {
	task   int    // its index in the snapshot
	lead   string // the branches in front of it
	folded bool
}

// deepest is how far the branches of a tree are drawn; below it they stand below
// each other.
const deepest = 12

// plant makes rows of tasks, which come oldest first. Groups that are done are folded
// unless a person unfolded them.
func plant(tasks []dag.Outline, folds map[string]bool) []row {
	numbers := seq.Set(tasks, func(t dag.Outline) int64 { return t.N })
	children := map[int64][]int{}
	for i, t := range tasks {
		parent := t.Parent
		if !numbers[parent] {
			parent = 0 // it is outside of the scope
		}
		children[parent] = append(children[parent], i)
	}
	rows := make([]row, 0, len(tasks))
	var grow func(parent int64, below string, depth int)
	grow = func(parent int64, below string, depth int) {
		list := children[parent]
		for k, i := range list {
			t := tasks[i]
			lead, next := "", ""
			switch {
			case depth == 0:
			case depth > deepest:
				lead, next = below, below
			case k == len(list)-1:
				lead, next = below+"└ ", below+"  "
			default:
				lead, next = below+"├ ", below+"│ "
			}
			folded := t.Children > 0 && folded(t, folds)
			rows = append(rows, row{task: i, lead: lead, folded: folded})
			if !folded {
				grow(t.N, next, depth+1)
			}
		}
	}
	grow(0, "", 0)
	return rows
}

func folded(t dag.Outline, folds map[string]bool) bool {
	if f, said := folds[t.ID]; said {
		return f
	}
	return t.Status == dag.Done || t.Status == dag.Cancelled
}

// window says which rows to show so that the selected one is among them, moving as
// little as possible.
func window(top, selected, rows, height int) int {
	if selected < top {
		top = selected
	}
	if selected >= top+height {
		top = selected - height + 1
	}
	return max(min(top, rows-height), 0)
}

// Options are what a view takes from the outside world.
type Options struct {
	Store   *dag.Store                                                                       // that is read
	Command func(ctx context.Context, stdin string, args ...string) (said string, err error) // does what a key asks for, as if it were typed
	Version func(context.Context) (int64, error)                                             // changes when somebody else changes the database
	Intact  func() bool                                                                      // the database is still where it was
	Life    func(dag.Process) dag.Life
	Diff    func(context.Context, dag.Attempt) (git.Difference, error) // what an attempt changed, or has changed so far
	Folder  string                                                     // that has a folder for each run
	Name    string                                                     // of the project
	Run     string                                                     // the full ID of the run to look at; "" means the current or last one

	Palette term.Palette
	Now     func() time.Time
	In      io.Reader // both ends of a terminal
	Out     io.Writer
	Environ []string
	Redact  func(string) string // removes secrets from what is drawn
}

// Run shows the view until a person quits it or ctx ends.
func Run(ctx context.Context, opts Options) error {
	ctx, cancel := context.WithCancel(ctx) // nothing is read any more when it is over
	defer cancel()
	src := &source{opts: opts}
	m := newModel(opts.Name, opts.Palette, opts.Now())
	m.redact = opts.Redact
	m.poll = func(w wish) tea.Msg { return src.poll(ctx, w) }
	m.act = func(d deed) tea.Msg { return act(ctx, opts, d) }
	m.compare = func(a dag.Attempt) tea.Msg {
		d, err := opts.Diff(ctx, a)
		return compared{a, d, err}
	}
	environ := opts.Environ
	if !opts.Palette.On {
		environ = append(environ, "NO_COLOR=1")
	}
	// Signals end ctx: the program deals with them in one place.
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(opts.In), tea.WithOutput(opts.Out),
		tea.WithEnvironment(environ), tea.WithoutSignalHandler(), tea.WithFPS(30)).Run()
	if ctx.Err() != nil { // from outside
		return context.Cause(ctx)
	}
	return err
}
