package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"ralph/internal/render"
)

// patience is how long a browser waits for commands before it gets a page that follows them.
const patience = 2 * time.Second

// work is the commands of a form while they are carried out, and what they said.
type work struct {
	id    string
	ask   asking
	typed bool          // something is lost if it is not shown again
	done  chan struct{} // closed at the end
	flash flash         // from then on

	mu      sync.Mutex
	printed bytes.Buffer // so far
}

// Write keeps the end of what the commands print.
func (j *work) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n, _ := j.printed.Write(p)
	j.printed.Next(max(0, j.printed.Len()-textAtMost))
	return n, nil
}

// SoFar is what they have printed.
func (j *work) SoFar() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return render.Block(j.printed.String())
}

// Commands are those that are carried out.
func (j *work) Commands() []string { return j.ask.Commands }

// Back is the page to come back to.
func (j *work) Back() string { return j.ask.Back }

// works are the last ones.
type works struct {
	mu   sync.Mutex
	list []*work
	busy sync.WaitGroup
}

const maxWorks = 100

// begin carries something out, whether or not anybody waits for it. A bug in it ends nothing else.
func (l *works) begin(j *work, warn func(string), do func() flash) {
	j.id, j.done = rand.Text(), make(chan struct{})
	l.mu.Lock()
	l.list = append(l.list, j)
	l.list = l.list[max(0, len(l.list)-maxWorks):]
	l.mu.Unlock()
	l.busy.Go(func() {
		defer func() {
			if bug := recover(); bug != nil {
				j.flash = flash{Commands: j.ask.Commands, Text: "It broke off: that is a bug in ralph. Look how far it came before you repeat it.", Bad: true}
				warn(fmt.Sprintf("bug: %v\n%s", bug, debug.Stack()))
			}
			close(j.done)
		}()
		j.flash = do()
	})
}

func (l *works) find(id string) *work {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range l.list {
		if j.id == id {
			return j
		}
	}
	return nil
}

// said is what commands said, once they have ended.
func (l *works) said(id string) *flash {
	j := l.find(id)
	if j == nil {
		return nil
	}
	select {
	case <-j.done:
		return &j.flash
	default:
		return nil
	}
}

// wait waits for all of them, as long as the context lasts.
func (l *works) wait(ctx context.Context) {
	ended := make(chan struct{})
	go func() { l.busy.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// serveSaid follows commands that take long, and leads on when they have ended.
func (s *Server) serveSaid(w http.ResponseWriter, r *http.Request) {
	j := s.works.find(r.PathValue("id"))
	if j == nil {
		s.failWith(w, r, http.StatusNotFound, errors.New("what this was about is forgotten: the page of the task or the run shows what came of it"))
		return
	}
	s.follow(w, r, j)
}

// follow answers with the end of commands, or with how far they are.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, j *work) {
	select {
	case <-j.done:
	case <-time.After(s.patience):
	case <-r.Context().Done():
		return
	}
	if s.works.said(j.id) != nil {
		s.showEnd(w, r, j)
		return
	}
	if r.Method == http.MethodPost {
		http.Redirect(w, r, "/said/"+j.id, http.StatusSeeOther) // which may be loaded again
		return
	}
	err := s.visit(r, func(v *visit) error {
		w.Header().Set("Refresh", "1")
		return v.show(w, http.StatusOK, "work", "At work", j)
	})
	if err != nil {
		s.fail(w, r, err)
	}
}

// showEnd leads to the page that the form was on, or shows the form again if what was typed in it was refused.
func (s *Server) showEnd(w http.ResponseWriter, r *http.Request, j *work) {
	if j.flash.Bad && j.typed {
		ask := j.ask
		ask.Said = &j.flash
		s.ask(w, r, http.StatusUnprocessableEntity, "That was refused", ask)
		return
	}
	u, _ := url.Parse(j.ask.Back) // local made it
	q := u.Query()
	q.Set("said", j.id)
	u.RawQuery = q.Encode()
	http.Redirect(w, r, u.String(), http.StatusSeeOther)
}
