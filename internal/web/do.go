package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/bounded"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/seq"
)

// A form of a page names a command and what was typed for it:
//
//	arg         the command, word by word
//	--NAME      an option; left out if it is empty, or still what "was --NAME" says that it was
//	--NAME[]    an option for each line
//	text        an argument that is text, whatever it begins with
//	stdin       a long text; "stdin-to" is the option that it is for, or empty if it is an argument
//	then        a second command, for after the first one
//	back        the page to come back to
//
// Nothing of it is read by a shell, and no typed text is taken for an option, a file or a command.

// step is a command of a form.
type step struct {
	Args  []string
	stdin string
	typed bool // something was typed for it
}

// stepsOf are the commands of a form, in their order. The first of two is left out if nothing was typed for it.
func stepsOf(form url.Values) []step {
	first := step{Args: slices.Clone(form["arg"])}
	for _, key := range slices.Sorted(maps.Keys(form)) {
		name, lines := strings.CutSuffix(key, "[]")
		if !strings.HasPrefix(key, "--") || len(name) < 3 || form.Get(key) == "" && form.Get("was "+key) == "" || form.Get(key) == form.Get("was "+key) {
			continue
		}
		values := form[key][:1]
		if lines {
			values = strings.FieldsFunc(values[0], func(r rune) bool { return r == '\n' || r == '\r' })
			values = slices.DeleteFunc(values, func(s string) bool { return strings.TrimSpace(s) == "" })
			if len(values) == 0 {
				values = []string{""}
			}
		}
		for _, v := range values {
			first.Args, first.typed = append(first.Args, name+"="+v), true
		}
	}
	text := form["text"]
	if long := strings.ReplaceAll(form.Get("stdin"), "\r\n", "\n"); long != strings.ReplaceAll(form.Get("was stdin"), "\r\n", "\n") {
		first.stdin, first.typed = long, true
		if to := form.Get("stdin-to"); to != "" {
			first.Args = append(first.Args, to+"=-")
		} else {
			text = append(slices.Clone(text), "-")
		}
	}
	if len(text) > 0 {
		first.Args, first.typed = append(append(first.Args, "--"), text...), true
	}
	if then := form["then"]; len(then) > 0 {
		if !first.typed {
			return []step{{Args: then}}
		}
		return []step{first, {Args: then}}
	}
	return []step{first}
}

// secret says that what was typed is for the agent's environment only.
func (c step) secret() bool { return slices.Contains(c.Args, "--credential") }

// String is the command as somebody would type it, with the text in the place of stdin where that means the same.
func (c step) String() string {
	args := slices.Clone(c.Args)
	text := plain.Cut(strings.TrimSpace(c.stdin), 200)
	if i := len(args) - 1; text != "" && !c.secret() && !strings.HasPrefix(text, "@") && text != "-" {
		for ; i >= 0 && args[i] != "-" && !strings.HasSuffix(args[i], "=-"); i-- {
		}
		if i >= 0 {
			args[i] = strings.TrimSuffix(args[i], "-") + text
		}
	}
	if i := slices.Index(args, "--"); i >= 0 && !slices.ContainsFunc(args[i+1:], func(a string) bool { return strings.HasPrefix(a, "-") && a != "-" }) {
		args = slices.Delete(args, i, i+1) // only what looks like an option needs it
	}
	return commandLine(args...)
}

const (
	goBack = "go back in the browser, which keeps what you typed"
	tooOld = goBack + ", copy it, load that page again and send it from there"
)

// serveDo carries out the commands of a form: once the person is sure, if something is lost by them.
func (s *Server) serveDo(w http.ResponseWriter, r *http.Request) {
	body := r.Body
	r.Body = http.MaxBytesReader(w, body, bounded.Form)
	if err := r.ParseForm(); errors.As(err, new(*http.MaxBytesError)) {
		_, _ = io.Copy(io.Discard, io.LimitReader(body, maxBody)) // a browser that is cut off shows no answer
		s.failWith(w, r, http.StatusRequestEntityTooLarge, errors.New("what was sent is larger than 1 MiB: "+goBack+", shorten it or put it into a file of the project, and send it again"))
		return
	} else if err != nil {
		s.failWith(w, r, http.StatusBadRequest, errors.New("what was sent is no form: "+goBack+", and send it again"))
		return
	}
	form, session := r.PostForm, sessionOf(r.Context())
	if !session.ours(r) {
		s.failWith(w, r, http.StatusForbidden, errors.New("this page is older than the session of this browser, so nothing was done: "+tooOld))
		return
	}
	steps := stepsOf(form)
	ask := asking{Back: local(form.Get("back")), form: form, Commands: seq.Map(steps, func(c step) string { return s.opts.Redact(c.String()) })}
	for _, c := range steps {
		verb, err := s.allowed(c.Args)
		var refused *Refusal
		switch {
		case errors.As(err, &refused) && refused.HTTP != http.StatusBadRequest:
			s.failWith(w, r, refused.HTTP, errors.New(strings.Join(human.Parts(refused.Text, refused.Hint), "; ")))
			return
		case err != nil: // it was mistyped
			ask.Said = &flash{Commands: ask.Commands, Text: render.Block(s.opts.Redact(err.Error())), Bad: true}
			s.ask(w, r, http.StatusUnprocessableEntity, "That was refused", ask)
			return
		}
		if verb.confirm != "" {
			ask.Lost = append(ask.Lost, verb.confirm)
		}
		if verb.name == "run" {
			if id := s.atWork(r); id != "" {
				ask.Lost = append(ask.Lost, "The run "+id+" is at work already: another one works beside it, in the same folder if it has no slots.")
			}
		}
	}
	if now := s.overtaken(r, form); len(now) > 0 {
		ask.form = maps.Clone(form)
		f := flash{Commands: ask.Commands, Text: "Somebody else has changed it since you opened the form. Try again to replace what is there now:", Bad: true}
		for _, field := range now {
			f.add(field.Label + ": " + field.Value)
			ask.form.Set("was "+field.Name, field.Value)
		}
		ask.Said = &f
		s.ask(w, r, http.StatusConflict, "It was changed meanwhile", ask)
		return
	}
	if len(ask.Lost) > 0 && form.Get("sure") == "" {
		s.ask(w, r, http.StatusOK, "Are you sure?", ask)
		return
	}
	j := &work{ask: ask, typed: steps[0].typed}
	apart := r.WithContext(context.WithoutCancel(r.Context())) // a browser that goes away leaves nothing half done
	s.works.begin(j, s.opts.Warn, func() flash { return s.carryOut(apart, steps, j) })
	s.follow(w, r, j)
}

// atWork is a run that works in the project.
func (s *Server) atWork(r *http.Request) (id string) {
	_ = s.visit(r, func(v *visit) error { // the command says what is wrong
		runs, err := v.g.History.OpenRuns()
		for _, run := range runs {
			if s.opts.Life(run.Process) == dag.Alive {
				id = run.ID
			}
		}
		return err
	})
	return id
}

// overtaken are the fields of a form that changes a task which are no longer what they were when the form was made, as they are now.
func (s *Server) overtaken(r *http.Request, form url.Values) (now []field) {
	args := form["arg"]
	if len(args) != 3 || args[0] != "task" || args[1] != "update" {
		return nil
	}
	text := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	_ = s.visit(r, func(v *visit) error { // the command says what is wrong
		t, err := v.g.Tasks.Resolve(args[2])
		if err != nil {
			return err
		}
		views, err := report.ViewTasks(v.g, v.project.Config.Run.MaxRetries, v.now, t)
		if err != nil {
			return err
		}
		p := taskPage{TaskView: views[0]}
		for _, f := range append(p.Editable(), field{"--title", "Title", p.Title}, field{"stdin", "Description", p.Description}) {
			typed, was, is := text(form.Get(f.Name)), text(form.Get("was "+f.Name)), text(f.Value)
			if form.Has("was "+f.Name) && typed != was && is != was && is != typed {
				now = append(now, f)
			}
		}
		return nil
	})
	return now
}

// carryOut carries out commands until one fails, and says what they said. What they print goes also to somebody who follows them.
func (s *Server) carryOut(r *http.Request, steps []step, j *work) (f flash) {
	ctx := r.Context()
	for _, c := range steps {
		v, _ := s.allowed(c.Args) // it was asked before
		f.Commands = append(f.Commands, s.opts.Redact(c.String()))
		if v.starts {
			var text string
			text, f.Bad = s.start(r, c.Args, v.name == "run" && j.ask.form.Get("sure") == "")
			f.add(s.opts.Redact(text))
		} else {
			var out, said bytes.Buffer
			status := s.opts.Command(ctx, Call{Args: c.Args, Stdin: strings.NewReader(c.stdin), Stdout: io.MultiWriter(&out, j), Stderr: io.MultiWriter(&said, j), Who: sessionOf(ctx).who, Via: "web"})
			f.Bad = status != 0
			printed := strings.TrimSpace(out.String())
			if v.name == "task add" && !f.Bad {
				f.Task, printed = printed, "added "+printed
			}
			f.add(s.opts.Redact(strings.TrimPrefix(strings.TrimSpace(said.String()), "ralph: ")), s.opts.Redact(printed))
		}
		if f.Bad {
			break
		}
	}
	s.hub.poke()
	return f
}

// start starts a run, one after the other: who clicks twice has one.
func (s *Server) start(r *http.Request, args []string, alone bool) (text string, bad bool) {
	s.starting.Lock()
	defer s.starting.Unlock()
	if alone {
		if id := s.atWork(r); id != "" {
			return "The run " + id + " was started meanwhile.", true
		}
	}
	if err := s.opts.Start(r.Context(), args...); err != nil {
		return err.Error(), true
	}
	return "It is starting: what it does appears here.", false
}

// asking is a form that is shown once more: to be confirmed, or because it was refused.
type asking struct {
	Said     *flash // why it was refused
	Lost     []string
	Commands []string
	Tasks    []dag.Task // that it is about
	Back     string
	form     url.Values
}

// field is a field of a form that is shown once more.
type field struct{ Name, Label, Value string }

// Long says that it has several lines.
func (f field) Long() bool { return f.Name == "stdin" || strings.HasSuffix(f.Name, "[]") }

// Typed are the fields that somebody filled in.
func (a asking) Typed() []field { return a.fields(true) }

// Hidden are the others.
func (a asking) Hidden() []field { return a.fields(false) }

func (a asking) fields(typed bool) (list []field) {
	secret := slices.Contains(a.form["arg"], "--credential")
	keys := slices.Sorted(maps.Keys(a.form))
	slices.Reverse(keys) // the texts before the options
	for _, key := range keys {
		is := a.Said != nil && (key == "text" || key == "stdin" || strings.HasPrefix(key, "--") && a.form.Get(key) != "")
		if key == "form" || key == "sure" && a.Said == nil || is != typed || secret && key == "stdin" {
			continue
		}
		label := strings.TrimSuffix(strings.TrimLeft(key, "-"), "[]")
		if key == "stdin" {
			label = strings.TrimLeft(a.form.Get("stdin-to"), "-")
		}
		for _, v := range a.form[key] {
			list = append(list, field{key, label, v})
		}
	}
	return list
}

func (s *Server) ask(w http.ResponseWriter, r *http.Request, status int, title string, a asking) {
	err := s.visit(r, func(v *visit) error {
		for _, word := range slices.Concat(a.form["arg"], a.form["then"]) {
			if t, err := v.g.Tasks.Get(word); err == nil && !slices.ContainsFunc(a.Tasks, func(o dag.Task) bool { return o.ID == t.ID }) {
				a.Tasks = append(a.Tasks, t)
			}
		}
		return v.show(w, status, "confirm", title, a)
	})
	if err != nil {
		s.fail(w, r, err)
	}
}

// flash is what commands said, for the page that comes after them.
type flash struct {
	Commands []string
	Text     string
	Task     string // that was added
	Bad      bool
}

func (f *flash) add(texts ...string) {
	for _, text := range texts {
		f.Text = strings.TrimSpace(f.Text + "\n" + render.Block(text))
	}
}
