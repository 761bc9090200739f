package web

import (
	"slices"

	"ralph/dag"
	"ralph/internal/inbox"
)

// request is something that waits for an answer, or has one, with what is known of who asks.
type request struct {
	inbox.Request
	Title string // of the task
	Open  bool
}

// IsCredential says that the answer is a secret.
func (r request) IsCredential() bool { return r.Kind == inbox.Credential }

// Choices are the answers that can be given with a button.
func (r request) Choices() []string {
	if r.Kind == inbox.Permission && len(r.Options) == 0 {
		return []string{"yes", "no", "always", "never"}
	}
	return r.Options
}

// Numbered says that a choice is an option's number, and not its text.
func (r request) Numbered() bool { return len(r.Options) > 0 }

// inboxPage is what people are asked.
type inboxPage struct {
	Asks   []request
	Review []review
	Over   []request
}

// review is work that a person is to accept before it lands.
type review struct {
	dag.Merge
	By dag.Attempt
}

// inboxHistory is how many requests that are over the page lists.
const inboxHistory = 50

func loadInbox(v *visit) (any, error) {
	asked, err := inbox.Waiting(v.g)
	if err != nil {
		return nil, err
	}
	p := inboxPage{Asks: v.requests(asked)}
	held, err := v.g.Queue.ToReview()
	if err != nil {
		return nil, err
	}
	for _, m := range held {
		at, err := v.g.History.Attempt(m.Attempt)
		if err != nil {
			return nil, err
		}
		p.Review = append(p.Review, review{m, at})
	}
	last, err := inbox.Last(v.g, inboxHistory+len(asked))
	p.Over = v.requests(slices.DeleteFunc(last, func(r inbox.Request) bool {
		return r.State == inbox.Open && r.Kind != inbox.Message || r.Kind == inbox.Stop
	}))
	return p, err
}

func (v *visit) requests(list []inbox.Request) (all []request) {
	titles := map[string]string{}
	for _, r := range list {
		if _, known := titles[r.Task]; !known && r.Task != "" {
			t, _ := v.g.Tasks.Get(r.Task) // it may be deleted
			titles[r.Task] = t.Title
		}
		all = append(all, request{r, titles[r.Task], r.State == inbox.Open})
	}
	return all
}
