package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/plain"
	"ralph/internal/redact"
	"ralph/sigils"
)

// tool is one row of the table: who may call it, and how it is offered on a connection.
type tool struct {
	name           string
	worker, person bool
	asks           bool // it needs an inbox
	add            func(ctx context.Context, server *sdk.Server, s *Session)
}

// audience is who may call a tool.
type audience int

const (
	worker  audience = 1 << iota // the agent of an attempt
	person                       // a person's assistant
	asks                         // who can reach others
	offered                      // an agent that looks tools up only when it needs them is to have this one from the start
)

// tools is all that can be called.
func tools() []tool {
	return []tool{
		define(worker|offered, "report", "Say how your task stands: done, failed with a reason, or blocked_on another task. It counts when your turn ends; "+
			"the last report counts. Notes go into the journal that later agents read.", report),
		define(worker, "add_task", "Add a task that you found along the way: below yours (a subtask: yours becomes a group when it is done), beside it, "+
			"or after it. Returns its ID.", addFrom),
		define(person, "add_task", "Add a task to the plan. Returns its ID.", addTask),
		define(person, "update_task", "Change the text, the priority or the place of a task. What is left out stays as it is.", updateTask),
		define(person, "reset_task", "Make a task pending as if it had never run.", resetTask),
		define(person, "delete_task", "Delete a task.", deleteTask),
		define(person, "project_status", "Show how the project stands: what runs, what is ready, what failed.", projectStatus),
		define(worker|person, "show_task", "Show everything about a task.", showTask),
		define(worker|person, "list_tasks", "List tasks; without arguments, everything that is not done.", listTasks),
		define(worker|person, "search_journal", "Find what earlier agents did, by words of their notes, titles and reasons.", searchJournal),
		define(worker|person, "search_knowledge", "Find what the project has learned, by words.", searchKnowledge),
		define(worker, "learn", "Store something that later agents should know about this project.", learn),
		define(person, "learn", "Store something that agents should know about this project.", learnNow),
		define(worker, "try_lock", "Lock named resources that others use too (port:8080, db:test) for as long as you work. It takes all of them or none, and "+
			"never waits: if one is taken it says by whom, and you do something else first.", tryLock),
		define(worker, "unlock", "Give locks back before your work ends.", unlock),
		define(worker|asks|offered, "ask", "Ask a person, with options or for free text. Ask only what you cannot find out or decide.", ask),
		define(worker|asks, "send", "Tell the agent of another task something, or all agents at work.", send),
		define(worker|asks, "messages", "Read what was sent to you.", messages),
	}
}

// define makes a row. The schema of the input comes from its type.
func define[In any](who audience, name, description string, do func(context.Context, *Session, In) (string, error)) tool {
	return tool{name: name, worker: who&worker != 0, person: who&person != 0, asks: who&asks != 0, add: func(conn context.Context, server *sdk.Server, s *Session) {
		offer := &sdk.Tool{Name: name, Description: description}
		if who&offered != 0 {
			offer.Meta = sdk.Meta{"anthropic/alwaysLoad": true} // Claude Code defers tools of servers, which costs a request
		}
		sdk.AddTool(server, offer, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			defer context.AfterFunc(conn, stop)() // nobody waits for the answer any more
			text, err := do(ctx, s, in)
			if err != nil {
				return nil, nil, errors.New(cut(err.Error()))
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: cut(text)}}}, nil, nil
		})
	}}
}

type reportInput struct {
	Status    string `json:"status,omitempty" jsonschema:"done, failed or blocked_on; leave it out to add notes only"`
	Reason    string `json:"reason,omitempty" jsonschema:"why it failed"`
	BlockedOn string `json:"blocked_on,omitempty" jsonschema:"the ID of the task that has to be done first"`
	Notes     string `json:"notes,omitempty" jsonschema:"what later agents should know about this attempt"`
	NextModel string `json:"next_model,omitempty" jsonschema:"the model that should work on the next task"`
}

func report(ctx context.Context, s *Session, in reportInput) (string, error) {
	said := sigils.Set{NextModel: strings.TrimSpace(in.NextModel)}
	if said.NextModel != "" && !sigils.ValidModel(said.NextModel) {
		return "", errors.New("next_model is no name of a model")
	}
	status := cmp.Or(in.Status, map[bool]string{true: "blocked_on"}[in.BlockedOn != ""])
	switch status {
	case "":
		if in.Notes == "" && said.NextModel == "" {
			return "", errors.New("nothing is reported: give a status, notes or next_model")
		}
	case "done":
		said.Done = true
	case "failed":
		if said.Failed, said.FailReason = true, plain.Head(strings.TrimSpace(in.Reason), maxDetailsLen); said.FailReason == "" {
			return "", errors.New("say in reason why it failed")
		}
	case "blocked_on":
	default:
		return "", fmt.Errorf("status is done, failed or blocked_on, not %q", plain.Head(status, 100))
	}
	err := s.change(ctx, func(g *dag.Graph, c dag.Claim) (err error) {
		if status == "blocked_on" {
			said.BlockedOn, err = blocker(g, c, in.BlockedOn)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.said
	if status == "" {
		said.Done, said.Failed, said.FailReason, said.BlockedOn = kept.Done, kept.Failed, kept.FailReason, kept.BlockedOn
	}
	said.NextModel, said.Knowledge = cmp.Or(said.NextModel, kept.NextModel), kept.Knowledge
	if notes := strings.TrimSpace(in.Notes); notes != "" {
		if len(strings.Join(s.notes, "\n\n"))+len(notes) > maxNoted {
			return "", fmt.Errorf("the notes of one attempt have at most %d KiB", maxNoted>>10)
		}
		s.notes = append(s.notes, notes)
	}
	s.said = said // of a report that was not refused
	if status == "" {
		return "noted", nil
	}
	return "noted: it counts when your turn ends", nil
}

// blocker finds the task that another is to wait for. That this would be a circle is said now; it is linked when the turn ends.
func blocker(g *dag.Graph, c dag.Claim, typed string) (string, error) {
	t, err := g.Tasks.Resolve(typed)
	switch {
	case err != nil:
		return "", err
	case t.Satisfies:
		return "", fmt.Errorf("%s is %s: nothing blocks you", t.ID, t.Status)
	case t.ID == c.Task.ID:
		return "", errors.New("a task cannot wait for itself")
	}
	return t.ID, g.Plan.MayWait(t.ID, c.Task.ID)
}

type additionInput struct {
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty" jsonschema:"all that the agent which gets it has to know"`
	Place       string   `json:"place,omitempty" jsonschema:"below (a subtask of yours), beside (independent, the default) or after (it waits for yours)"`
	Closing     bool     `json:"closing,omitempty" jsonschema:"with below: when the subtasks are done, your task is finished in one more, with their summaries and your task's own checks"`
	After       []string `json:"after,omitempty" jsonschema:"IDs of tasks that it waits for"`
	Gates       []string `json:"gates,omitempty" jsonschema:"commands that must succeed before it counts as done"`
	Check       bool     `json:"check,omitempty" jsonschema:"it may be done without a change of the project"`
	Locks       []string `json:"locks,omitempty" jsonschema:"names that only one task at a time may hold"`
	Paths       []string `json:"paths,omitempty" jsonschema:"globs of the files that it will touch"`
}

func addFrom(ctx context.Context, s *Session, in additionInput) (id string, err error) {
	w := s.opts.Work
	a := dag.Addition{
		Place: cmp.Or(dag.Place(in.Place), dag.Beside), Closing: in.Closing,
		NewTask: dag.NewTask{Detail: dag.Detail{Title: in.Title, Description: in.Description, Gates: in.Gates, Locks: in.Locks, Paths: in.Paths}},
	}
	if in.Check {
		a.Kind = dag.Check
	}
	a = redact.Deep(w.Redact, a)
	added := event.Event{Type: event.TaskAdded, Attempt: w.Claim.Attempt}
	err = s.change(ctx, func(g *dag.Graph, c dag.Claim) error {
		for _, typed := range in.After {
			t, err := g.Tasks.Resolve(typed)
			if err != nil {
				return fmt.Errorf("after: %w", err)
			}
			a.After = append(a.After, t.ID)
		}
		if id, err = g.Plan.AddFrom(c, a, w.Limits); err != nil {
			return err
		}
		t, err := g.Tasks.Get(id)
		if t.CreatedAt.Equal(g.Now().Truncate(time.Millisecond)) { // else it was found again after a crash
			added.Task, added.Title = t.ID, t.Title
		}
		return err
	})
	if err != nil {
		return "", err
	}
	w.Wake()
	if added.Task != "" {
		w.tell(added)
	}
	if a.Place == dag.Below {
		return id + " is added: it becomes a subtask of yours when you are done", nil
	}
	return id + " is added", nil
}

type newTaskInput struct {
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty" jsonschema:"all that the agent which gets it has to know"`
	Parent      string   `json:"parent,omitempty" jsonschema:"ID of the task that it is a subtask of"`
	Feature     string   `json:"feature,omitempty"`
	After       []string `json:"after,omitempty" jsonschema:"IDs of tasks that it waits for"`
	Gates       []string `json:"gates,omitempty" jsonschema:"commands that must succeed before it counts as done"`
	Priority    *int64   `json:"priority,omitempty" jsonschema:"lower runs first"`
}

func addTask(ctx context.Context, s *Session, in newTaskInput) (string, error) {
	args := words("task", "add", "--json", "--description=-")
	args.text("parent", in.Parent).text("feature", in.Feature).texts("after", in.After).texts("gate", in.Gates).number("priority", in.Priority)
	return s.command(ctx, in.Description, args.named(in.Title)...)
}

type changedTaskInput struct {
	ID          string   `json:"id"`
	Title       string   `json:"title,omitempty"`
	Description *string  `json:"description,omitempty"`
	Parent      string   `json:"parent,omitempty" jsonschema:"ID of its parent, or none"`
	Gates       []string `json:"gates,omitempty"`
	Priority    *int64   `json:"priority,omitempty" jsonschema:"lower runs first"`
}

func updateTask(ctx context.Context, s *Session, in changedTaskInput) (string, error) {
	args, text := words("task", "update", "--json"), ""
	if in.Description != nil {
		text = *in.Description
		args.text("description", "-")
	}
	args.text("title", in.Title).text("parent", in.Parent).texts("gate", in.Gates).number("priority", in.Priority)
	return s.command(ctx, text, args.named(in.ID)...)
}

type taskInput struct {
	ID string `json:"id" jsonschema:"of the task, or how it begins"`
}

func resetTask(ctx context.Context, s *Session, in taskInput) (string, error) {
	_, err := s.command(ctx, "", words("task", "reset").named(in.ID)...)
	return "reset", err
}

func deleteTask(ctx context.Context, s *Session, in taskInput) (string, error) {
	_, err := s.command(ctx, "", words("task", "delete").named(in.ID)...)
	return "deleted", err
}

func projectStatus(ctx context.Context, s *Session, _ struct{}) (string, error) {
	return s.command(ctx, "", "status")
}

func showTask(ctx context.Context, s *Session, in taskInput) (string, error) {
	return s.command(ctx, "", words("task", "show").named(in.ID)...)
}

type listInput struct {
	Status  []string `json:"status,omitempty" jsonschema:"only these: ready, pending, in_progress, done, failed, blocked"`
	Feature string   `json:"feature,omitempty"`
	All     bool     `json:"all,omitempty" jsonschema:"also what is done"`
	Limit   int      `json:"limit,omitempty" jsonschema:"at most so many; 50 unless told"`
}

func listTasks(ctx context.Context, s *Session, in listInput) (string, error) {
	args := words("task", "list", "--limit="+strconv.Itoa(cmp.Or(in.Limit, 50)))
	args.texts("status", in.Status).text("feature", in.Feature)
	if in.All {
		args.list = append(args.list, "--all")
	}
	text, err := s.command(ctx, "", args.list...)
	return cmp.Or(text, "no task"), err
}

type searchInput struct {
	Words string `json:"words"`
}

func searchJournal(ctx context.Context, s *Session, in searchInput) (string, error) {
	return s.command(ctx, "", words("journal", "search", "--json", "--limit=20").named(in.Words)...)
}

func searchKnowledge(ctx context.Context, s *Session, in searchInput) (string, error) {
	return s.command(ctx, "", words("knowledge", "search", "--json").named(in.Words)...)
}

type lessonInput struct {
	Title string   `json:"title"`
	Text  string   `json:"text" jsonschema:"what to know, in a few sentences"`
	Tags  []string `json:"tags,omitempty" jsonschema:"words that make it match a task"`
}

// learn keeps a lesson until the attempt ends, as one that the agent says in its text.
func learn(ctx context.Context, s *Session, in lessonInput) (string, error) {
	lesson := sigils.Knowledge{Title: strings.TrimSpace(in.Title), Tags: in.Tags, Body: strings.TrimSpace(in.Text)}
	if lesson.Title == "" || lesson.Body == "" {
		return "", errors.New("a lesson has a title and a text")
	}
	if err := s.change(ctx, func(*dag.Graph, dag.Claim) error { return nil }); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.said.Knowledge) >= sigils.MaxKnowledge {
		return "", fmt.Errorf("an attempt stores at most %d lessons", sigils.MaxKnowledge)
	}
	s.said.Knowledge = append(s.said.Knowledge, lesson)
	return "it is stored when your turn ends", nil
}

func learnNow(ctx context.Context, s *Session, in lessonInput) (string, error) {
	args := words("knowledge", "add", "--description=-")
	args.texts("tag", in.Tags)
	return s.command(ctx, in.Text, args.named(in.Title)...)
}

type locksInput struct {
	Names []string `json:"names" jsonschema:"such as port:8080, db:test or path:src"`
}

func tryLock(ctx context.Context, s *Session, in locksInput) (string, error) {
	if len(in.Names) == 0 {
		return "", errors.New("name what to lock")
	}
	var holder dag.LockHolder
	err := s.change(ctx, func(g *dag.Graph, c dag.Claim) (err error) {
		holder, err = g.Queue.TryLocks(c, in.Names, s.opts.Work.Locks)
		return err
	})
	switch {
	case err != nil:
		return "", err
	case holder.Name != "":
		return "", fmt.Errorf("not locked, nothing was taken: %s", holder)
	}
	s.opts.Work.tellLocks(event.LocksTaken, in.Names)
	return "locked", nil
}

func (w *Work) tellLocks(outcome string, names []string) {
	w.tell(event.Event{Type: event.LocksChanged, Task: w.Claim.Task.ID, Title: w.Claim.Task.Title, Attempt: w.Claim.Attempt, Outcome: outcome, Locks: names})
}

func (w *Work) tell(e event.Event) {
	if w.Tell != nil {
		w.Tell(e)
	}
}

type unlockInput struct {
	Names []string `json:"names,omitempty" jsonschema:"all that you locked if none is named"`
}

func unlock(ctx context.Context, s *Session, in unlockInput) (string, error) {
	err := s.change(ctx, func(g *dag.Graph, c dag.Claim) error { return g.Queue.Unlock(c, in.Names) })
	if err == nil {
		s.opts.Work.Wake()
		s.opts.Work.tellLocks(event.LocksReleased, in.Names)
	}
	return "unlocked", err
}

// arguments are a command line. Values stand behind their flags, and names behind "--", so that none of them can be a flag.
type arguments struct{ list []string }

func words(list ...string) *arguments { return &arguments{list} }

func (a *arguments) text(flag, value string) *arguments {
	if value != "" {
		a.list = append(a.list, "--"+flag+"="+value)
	}
	return a
}

func (a *arguments) texts(flag string, values []string) *arguments {
	for _, value := range values {
		a.list = append(a.list, "--"+flag+"="+value)
	}
	return a
}

func (a *arguments) number(flag string, value *int64) {
	if value != nil {
		a.text(flag, strconv.FormatInt(*value, 10))
	}
}

func (a *arguments) named(name string) []string { return append(a.list, "--", name) }
