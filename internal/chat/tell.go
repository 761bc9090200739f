package chat

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/notify"
	"ralph/internal/render/transcript"
)

// refresh is how often the project is read again though nobody changed it: what is asked to be confirmed becomes too old.
const refresh = time.Minute

var errReplaced = errors.New("the database was moved, deleted or replaced")

// tell keeps one chat up to date, until something fails.
func (a *adapter) tell(ctx context.Context, m memory, chat string, working func()) error {
	n := &notices{adapter: a, memory: m, chat: chat, runs: map[string]*transcript.Events{}}
	if err := errors.Join(m.forget(ctx), n.begin(ctx)); err != nil {
		return err
	}
	version, read := int64(-1), time.Time{}
	for {
		if !m.Intact() {
			return errReplaced
		}
		now, err := m.Version(ctx)
		if err != nil {
			return err
		}
		if now != version || a.Now().Sub(read) >= refresh {
			if err := errors.Join(a.reconcile(ctx, m, chat), n.look(ctx)); err != nil {
				return err
			}
			version, read = now, a.Now()
		}
		if err := n.poll(ctx); err != nil {
			return err
		}
		working()
		if err := a.Wait(ctx, a.Poll); err != nil {
			return err
		}
	}
}

// reconcile posts what is open and was not posted, and edits what was and is over.
func (a *adapter) reconcile(ctx context.Context, m memory, chat string) error {
	open, err := read(ctx, m, waiting)
	posts, perr := m.openPosts(ctx, chat)
	if err := errors.Join(err, perr); err != nil {
		return err
	}
	for _, p := range posts {
		if !slices.ContainsFunc(open, func(i item) bool { return i.about == p.about }) {
			err = errors.Join(err, a.finish(ctx, m, chat, p))
		}
	}
	for _, i := range open {
		if !slices.ContainsFunc(posts, func(p post) bool { return p.about == i.about }) {
			err = errors.Join(err, a.publish(ctx, m, chat, i)) // one that is refused holds up no other
		}
	}
	return err
}

// publish posts an item, and stores that afterwards: killed between the two, it is posted twice rather than never. Nobody in
// the chat is heard meanwhile: a reply would not be known to be one.
func (a *adapter) publish(ctx context.Context, m memory, chat string, i item) error {
	return a.patiently(ctx, func() error {
		a.posting[chat].Lock()
		defer a.posting[chat].Unlock()
		id, err := a.post(ctx, chat, i.about, message{text: i.text, buttons: i.buttons})
		if err == nil {
			err = m.savePost(ctx, chat, id, i.about)
		}
		return err
	})
}

// finish takes the buttons of a post away and says what became of its item: first, because the end of a long text is cut.
func (a *adapter) finish(ctx context.Context, m memory, chat string, p post) error {
	text := "Nobody confirmed that runs are to stop."
	switch {
	case p.about == stop && a.Now().Sub(p.at) <= fresh:
		return nil
	case p.about != stop:
		i, err := read(ctx, m, func(g *dag.Graph) (item, error) { return find(g, p.about) })
		if err != nil {
			return err
		}
		text = i.over + "\n\n" + i.text
	}
	if err := a.patiently(ctx, func() error { return a.edit(ctx, chat, p.message, text) }); err != nil {
		return err
	}
	return m.closePost(ctx, chat, p.message)
}

// notices tell a chat what runs report. Their files are read from the beginning, because the words for what happens depend on
// what happened before.
type notices struct {
	*adapter
	memory
	chat    string
	told    int64 // when what was told last happened, in nanoseconds; nobody is told what was before there was a chat
	runs    map[string]*transcript.Events
	pending []notify.Message
}

// recent is how many runs are looked at. Nobody starts so many within a second.
const recent = 20

func (n *notices) cursorName() string { return n.chat + " told" }

func (n *notices) begin(ctx context.Context) error {
	value, err := n.cursor(ctx, n.cursorName(), 100*old)
	if err != nil {
		return err
	}
	if n.told, err = strconv.ParseInt(value, 10, 64); err != nil {
		n.told = n.Now().UnixNano()
	}
	return n.saveCursor(ctx, n.cursorName(), strconv.FormatInt(n.told, 10))
}

// look finds the runs that are to be followed.
func (n *notices) look(ctx context.Context) error {
	runs, err := read(ctx, n.memory, func(g *dag.Graph) ([]dag.Run, error) { return g.History.Runs(recent) })
	if err != nil {
		return err
	}
	maps.DeleteFunc(n.runs, func(id string, _ *transcript.Events) bool {
		return !slices.ContainsFunc(runs, func(r dag.Run) bool { return r.ID == id })
	})
	for _, r := range runs {
		if n.runs[r.ID] == nil && (r.EndedAt.IsZero() || r.EndedAt.UnixNano() >= n.told) {
			news := &notify.News{Project: n.Name, Hide: n.Redact}
			n.runs[r.ID] = &transcript.Events{Path: filepath.Join(n.Folder, r.ID, "events.jsonl"), Emit: func(e event.Event) { n.happened(news, e) }}
		}
	}
	return nil
}

func (n *notices) happened(news *notify.News, e event.Event) {
	m, _ := news.Of(e)
	wanted := func(kind string) bool {
		return kind != "question" && (len(n.bot.Events) == 0 || slices.Contains(n.bot.Events, kind)) // a question is posted itself
	}
	if e.At.UnixNano() > n.told && slices.ContainsFunc(e.Notices(), wanted) {
		n.pending = append(n.pending, m)
	}
}

// poll tells what is new, each once: that is stored after it was sent.
func (n *notices) poll(ctx context.Context) error {
	for _, events := range n.runs {
		if err := events.Poll(); err != nil {
			return err
		}
	}
	slices.SortStableFunc(n.pending, func(a, b notify.Message) int { return a.At.Compare(b.At) })
	for ; len(n.pending) > 0; n.pending = n.pending[1:] {
		err := n.patiently(ctx, func() error {
			_, err := n.post(ctx, n.chat, "a notice", message{text: n.pending[0].Text})
			return err
		})
		if err != nil {
			return err
		}
		if err := n.saveCursor(ctx, n.cursorName(), strconv.FormatInt(n.pending[0].At.UnixNano(), 10)); err != nil {
			return err
		}
	}
	return nil
}
