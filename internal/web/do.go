package web

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// serveDo carries out the command of a button or a form: its fields "arg", in their order, and what was typed.
func (s *Server) serveDo(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "what was sent is too large or no form", http.StatusBadRequest)
		return
	}
	session := sessionOf(r.Context())
	if !session.ours(r) {
		http.Error(w, "this page is too old: load it again", http.StatusForbidden)
		return
	}
	args := argsOf(r.PostForm)
	verb, err := s.allowed(args)
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	back := local(r.PostForm.Get("back"))
	if verb.confirm != "" && r.PostForm.Get("sure") == "" {
		s.askToConfirm(w, r, confirmation{Verb: verb.confirm, Args: args, Back: back})
		return
	}
	f := flash{Command: commandLine(args...)}
	if verb.starts {
		err := s.opts.Start(r.Context(), args[1:]...)
		f.Text, f.Bad = "started", err != nil
		if err != nil {
			f.Text = s.opts.Redact(err.Error())
		}
	} else {
		var out, said bytes.Buffer
		status := s.opts.Command(r.Context(), Call{Args: args, Stdin: strings.NewReader(r.PostForm.Get("stdin")), Stdout: &out, Stderr: &said, Who: session.who, Via: "web"})
		f.Text, f.Bad = strings.TrimSpace(strings.TrimPrefix(said.String(), "ralph: ")+"\n"+out.String()), status != 0
	}
	s.hub.poke()
	u, _ := url.Parse(back) // local made it
	q := u.Query()
	q.Set("said", s.flash.keep(f))
	u.RawQuery = q.Encode()
	http.Redirect(w, r, u.String(), http.StatusSeeOther)
}

// argsOf are the arguments that a form's fields are: "arg" as they are; "set" names an option that the next "value" fills,
// and both are left out if that is empty.
func argsOf(form url.Values) []string {
	var args []string
	for i, name := range form["set"] {
		if i < len(form["value"]) && form["value"][i] != "" {
			args = append(args, name+"="+form["value"][i])
		}
	}
	fixed := form["arg"]
	for i, a := range fixed {
		if a == "--" { // options stand before it
			return append(append(append([]string{}, fixed[:i]...), args...), fixed[i:]...)
		}
	}
	return append(append([]string{}, fixed...), args...)
}

// confirmation is a command that waits for a second click.
type confirmation struct {
	Verb string
	Args []string
	Back string
}

func (s *Server) askToConfirm(w http.ResponseWriter, r *http.Request, c confirmation) {
	out, err := s.render("confirm", shown{Title: "Are you sure?", Data: c}, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(out)
}

// flash is what a command said, for the page that comes after it.
type flash struct {
	Command string
	Text    string
	Bad     bool
}

// flashes keeps the last ones until their page is shown.
type flashes struct {
	mu   sync.Mutex
	list []kept
}

type kept struct {
	id string
	flash
}

func (f *flashes) keep(said flash) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := rand.Text()
	f.list = append(f.list, kept{id, said})
	f.list = f.list[max(0, len(f.list)-100):]
	return id
}

func (f *flashes) take(id string) *flash {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.list {
		if id != "" && f.list[i].id == id {
			return &f.list[i].flash
		}
	}
	return nil
}
