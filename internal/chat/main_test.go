package chat_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ralph/dag"
	"ralph/internal/chat"
	"ralph/internal/db"
	"ralph/internal/inbox"
	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/testing/chatserver"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a project in a real database, with a clock that only the test moves and bots that the test starts.
type world struct {
	t        *testing.T
	path     string
	db       *db.DB
	store    *dag.Store
	run      dag.Run
	telegram *chatserver.Telegram
	slack    *chatserver.Slack
	opts     chat.Options
	waits    chan time.Duration // of what is waited for, but not the next look; nil: nothing is waited for

	mu       sync.Mutex
	now      time.Time
	warnings []string
	warned   chan struct{}
	commands []string
}

// Those who are configured.
const (
	ann   = 7
	bob   = 8
	room  = int64(1234) // the chat
	group = int64(-99)  // one of several people
)

var start = time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC) // 1800000000 is about then

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, path: filepath.Join(t.TempDir(), "progress.db"), now: start, warned: make(chan struct{}, 1000)}
	emptydb.Write(t, w.path)
	d, err := db.Open(t.Context(), w.path, db.Options{})
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, d.Close()) })
	w.db, w.store = d, w.storeOf(d)
	w.update(func(g *dag.Graph) (err error) {
		w.run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		return err
	})
	w.telegram, w.slack = chatserver.NewTelegram(t), chatserver.NewSlack(t)
	t.Cleanup(w.telegram.Close)
	t.Cleanup(w.slack.Close)
	w.opts = chat.Options{
		Bots: []chat.Bot{w.telegramBot()}, Open: w.open, Command: w.command, Now: w.clock, Wait: w.wait, Poll: time.Millisecond,
		Warn: func(text string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.warnings = append(w.warnings, text)
			w.warned <- struct{}{}
		},
		Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "•••") },
	}
	return w
}

func (w *world) telegramBot() chat.Bot {
	return chat.Bot{Chat: project.Chat{Kind: "telegram", TokenEnv: "TELEGRAM_TOKEN", Chats: []string{"1234", "-99"}, URL: w.telegram.URL}, Token: chatserver.BotToken}
}

func (w *world) slackBot() chat.Bot {
	c := project.Chat{Kind: "slack", TokenEnv: "SLACK_TOKEN", AppTokenEnv: "SLACK_APP_TOKEN", Chats: []string{"C1", "U7"}, URL: w.slack.URL}
	return chat.Bot{Chat: c, Token: chatserver.SlackToken, AppToken: chatserver.SlackAppToken}
}

func (w *world) storeOf(d *db.DB) *dag.Store { return dag.New(d, dag.Options{Now: w.clock}) }

func (w *world) open(ctx context.Context) (chat.Project, error) {
	d, err := db.Open(ctx, w.path, db.Options{BusyTimeout: time.Minute})
	if err != nil {
		return chat.Project{}, err
	}
	return chat.Project{Store: w.storeOf(d), Version: d.Version, Intact: d.Intact, Close: d.Close, Folder: filepath.Dir(w.path), Name: "shop"}, nil
}

func (w *world) clock() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now }

func (w *world) pass(d time.Duration) { w.mu.Lock(); defer w.mu.Unlock(); w.now = w.now.Add(d) }

// wait lets nobody wait but for the next look: of all else the test is told.
func (w *world) wait(ctx context.Context, d time.Duration) error {
	wake := make(<-chan time.Time)
	switch {
	case d == w.opts.Poll:
		wake = time.After(d)
	case w.waits != nil && d != 30*time.Second: // which is a heartbeat
		select {
		case w.waits <- d:
			return nil
		case <-ctx.Done():
		}
	case d < 30*time.Second: // a try that follows soon follows at once
		return ctx.Err()
	}
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bots starts the bots, and returns what ends them.
func (w *world) bots() (end func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	running.Go(func() { chat.Run(ctx, w.opts) })
	end = sync.OnceFunc(func() { cancel(); running.Wait() })
	w.t.Cleanup(end)
	return end
}

// command does with the inbox what the commands of ralph do that people in a chat can give.
func (w *world) command(ctx context.Context, who, stdin string, args ...string) (string, error) {
	w.mu.Lock()
	w.commands = append(w.commands, who+": "+strings.Join(args, " "))
	w.mu.Unlock()
	d, err := db.Open(ctx, w.path, db.Options{BusyTimeout: time.Minute})
	if err != nil {
		return "", err
	}
	defer d.Close()
	printed := ""
	err = w.storeOf(d).As(dag.Actor{Who: who, Via: "serve", Action: strings.Join(args[:min(2, len(args))], " ")}).Update(ctx, func(g *dag.Graph) error {
		if args[0] == "task" && args[1] == "accept" {
			printed = args[2] + " accepted"
			return g.Queue.Accept(args[2], "")
		}
		if args[0] != "inbox" || len(args) < 4 {
			printed = "printed by " + strings.Join(args, " ")
			return nil
		}
		reply := inbox.Reply{Text: stdin, Denied: args[3] == "--deny", Other: args[3] == "--other"}
		_, _ = fmt.Sscanf(args[3], "--option=%d", &reply.Option)
		r, err := inbox.Answer(g, provenance.Store{Dir: w.path + "-trust"}, args[2], reply)
		printed = r.ID + " answered: " + r.Answer
		return err
	})
	if err != nil {
		return "", errors.Join(err, errors.New("hint: type something else"))
	}
	return printed, nil
}

func (w *world) update(fn func(*dag.Graph) error) {
	w.t.Helper()
	check.OK(w.t, w.store.Update(w.t.Context(), fn))
}

func get[T any](w *world, read func(*dag.Graph) (T, error)) (got T) {
	w.t.Helper()
	check.OK(w.t, w.store.View(w.t.Context(), func(g *dag.Graph) (err error) { got, err = read(g); return err }))
	return got
}

// claim plans a task and begins it.
func (w *world) claim(title string) (c dag.Claim) {
	w.t.Helper()
	w.update(func(g *dag.Graph) error {
		id, err := g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: title}})
		if err == nil {
			c, _, err = g.Queue.Claim(dag.ClaimOptions{Run: w.run, Scope: dag.Scope{Task: id}, Lease: time.Hour})
		}
		return err
	})
	return c
}

// ask has an agent ask something.
func (w *world) ask(r inbox.Request) (got inbox.Request) {
	w.t.Helper()
	c := w.claim("Parser")
	r.Parks = true
	if r.Kind == "" {
		r.Kind = inbox.Question
	}
	w.update(func(g *dag.Graph) (err error) {
		got, err = inbox.Ask(g, provenance.Store{Dir: w.path + "-trust"}, c, r)
		return err
	})
	return got
}

func (w *world) request(id string) inbox.Request {
	w.t.Helper()
	return get(w, func(g *dag.Graph) (inbox.Request, error) { return inbox.Get(g, id) })
}

// warning waits for a warning, and returns it.
func (w *world) warning() string {
	w.t.Helper()
	<-w.warned
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.warnings[len(w.warnings)-1-len(w.warned)]
}

func (w *world) given() []string { w.mu.Lock(); defer w.mu.Unlock(); return slices.Clone(w.commands) }

// posted is the newest post in the chat.
func (w *world) posted() any {
	w.t.Helper()
	list := get(w, func(g *dag.Graph) ([]string, error) {
		return db.All(g.Tx(), `SELECT message FROM chat_posts WHERE chat = '1234' ORDER BY at DESC, message DESC LIMIT 1;`, (*db.Row).Text)
	})
	check.That(w.t, len(list) == 1, "nothing is known to be posted")
	var n int64
	_, err := fmt.Sscan(list[0], &n)
	check.OK(w.t, err)
	return n
}

func touch(t *testing.T, path, text string) {
	t.Helper()
	check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check.OK(t, err)
	_, err = f.WriteString(text)
	check.OK(t, errors.Join(err, f.Close()))
}
