package inbox_test

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/inbox"
	"ralph/internal/provenance"
	"ralph/internal/testing/check"
)

// TestAnAnswerThatAnAgentWritesIsNone, of whatever state, nor one that was given to another question. A person is
// asked again.
func TestAnAnswerThatAnAgentWritesIsNone(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]string{
		"answered":               "state = 'answered', answer = 'yes', answered_at = 1, answered_by = 'ann', answered_via = 'command line'",
		"expired":                "state = 'expired', answer = 'yes', answered_at = 1",
		"expired without answer": "state = 'expired', answered_at = 1",
		"denied":                 "state = 'answered', denied = 1, answered_at = 1",
	} {
		w := newWorld(t)
		task := w.add("deploy")
		c := w.claim(task)
		q := w.ask(c, question("May I?"))
		w.release(c)
		w.update(func(g *dag.Graph) error {
			return g.Tx().Exec("UPDATE requests SET "+forge+" WHERE id = :id;", ":id", q.ID)
		})
		wantForged(t, name, w, task, q.ID)
	}
	for name, forge := range map[string]string{
		"another question": "text = 'May I drop the database?'", "another answer": "answer = 'yes, always'", "another kind": "kind = 'call'",
		"another detail": `detail = '{"name":"PATH"}'`, "not denied": "denied = 1 - denied", "expired after all": "state = 'expired'",
	} {
		w := newWorld(t)
		task := w.add("deploy")
		c := w.claim(task)
		q := w.ask(c, question("May I?"))
		w.release(c)
		check.OK(t, w.answer(q.ID, inbox.Reply{Text: "yes"}))
		check.That(t, !w.request(q.ID).Forged(w.trust), "a person's answer is taken for forged")
		w.update(func(g *dag.Graph) error {
			return g.Tx().Exec("UPDATE requests SET "+forge+" WHERE id = :id;", ":id", q.ID)
		})
		wantForged(t, name, w, task, q.ID)
	}
}

// TestAnAnswerThatAPersonChangedIsNone, though an agent writes it back: it was sealed once.
func TestAnAnswerThatAPersonChangedIsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.add("deploy")
	c := w.claim(task)
	q := w.ask(c, question("May I?"))
	w.release(c)
	check.OK(t, w.answer(q.ID, inbox.Reply{Text: "yes"}))
	check.OK(t, w.answer(q.ID, inbox.Reply{Text: "no", Change: true}))
	check.That(t, !w.request(q.ID).Forged(w.trust), "the change does not count")
	w.update(func(g *dag.Graph) error {
		return g.Tx().Exec("UPDATE requests SET answer = 'yes' WHERE id = :id;", ":id", q.ID)
	})
	wantForged(t, "the answer before", w, task, q.ID)
}

// TestNoAgentHasItsQuestionExpire before its time, nor to an answer of its own: the run would seal it.
func TestNoAgentHasItsQuestionExpire(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]string{
		"none": "", "its time": "expires_at = 1", "its default": "fallback = 'yes, do it'", "its text": "text = 'May I drop the database?'",
		"its kind": "kind = 'call'", "its options": `options = '["yes, do it"]'`, "its detail": `detail = '{"name":"PATH"}'`,
	} {
		w := newWorld(t)
		task := w.add("deploy")
		c := w.claim(task)
		r := question("May I?", "yes", "no")
		r.Default, r.ExpiresAt = "no", start.Add(time.Hour)
		q := w.ask(c, r)
		if forge != "" {
			w.update(func(g *dag.Graph) error {
				return g.Tx().Exec("UPDATE requests SET "+forge+" WHERE id = :id;", ":id", q.ID)
			})
			w.ask(c, r) // seals nothing that is there
		}
		w.release(c)
		w.pass(2 * time.Hour)
		var over, bad []inbox.Request
		w.update(func(g *dag.Graph) (err error) { over, bad, err = inbox.Expire(g, w.trust); return err })
		got := w.request(q.ID)
		if forge == "" {
			check.Equal(t, name, [3]any{1, 0, "no"}, [3]any{len(over), len(bad), got.Answer})
			continue
		}
		check.That(t, len(bad) == 1 && got.State == inbox.Open && got.Answer == "", "%s: %d opened again, %+v", name, len(bad), got)
	}
}

// TestWhatCannotBeSealedDoesNotExpire: nothing would show that its default is the one that was asked with.
func TestWhatCannotBeSealedDoesNotExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.trust = provenance.Store{}
	r := question("May I?")
	r.Default, r.ExpiresAt = "no", start.Add(time.Hour)
	q := w.ask(w.claim(w.add("deploy")), r)
	check.That(t, q.State == inbox.Open && q.ExpiresAt.IsZero(), "%+v", q)
}

func wantForged(t *testing.T, name string, w *world, task, id string) {
	t.Helper()
	check.That(t, w.request(id).Forged(w.trust), "%s: it counts", name)
	known := get(w, func(g *dag.Graph) ([]inbox.Request, error) { return inbox.Answers(g, w.trust, task) })
	check.Equal(t, name+": answers", 0, len(known))
	var bad []inbox.Request
	w.update(func(g *dag.Graph) error {
		list, err := inbox.Settled(g, task)
		if err == nil {
			bad, err = inbox.Disown(g, w.trust, list...)
		}
		return err
	})
	got := w.request(id)
	check.That(t, len(bad) == 1 && got.State == inbox.Open && got.Answer == "" && !got.Denied, "%s: %d disowned, %+v", name, len(bad), got)
}

// TestAnAnswerIsOneToItsOwnTask: a row that an agent has moved to its own task would give it what another was given, as a credential.
func TestAnAnswerIsOneToItsOwnTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine, other := w.add("mine"), w.add("other")
	c := w.claim(other)
	q := w.ask(c, inbox.NewCredential("API_KEY", "to log in"))
	w.release(c)
	check.OK(t, w.answer(q.ID, inbox.Reply{}))
	w.update(func(g *dag.Graph) error {
		return g.Tx().Exec("UPDATE requests SET task = (SELECT n FROM tasks WHERE id = :mine) WHERE id = :id;", ":mine", mine, ":id", q.ID)
	})
	known := get(w, func(g *dag.Graph) ([]inbox.Request, error) { return inbox.Answers(g, w.trust, mine) })
	check.Equal(t, "answers", 0, len(known))
	w.update(func(g *dag.Graph) error {
		return g.Tx().Exec("UPDATE requests SET task_id = :mine WHERE id = :id;", ":mine", mine, ":id", q.ID)
	})
	wantForged(t, "all of it", w, mine, q.ID)
}

// TestWhatCannotBeSealedIsNotAnswered: it would be taken for the agent's later.
func TestWhatCannotBeSealedIsNotAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.claim(w.add("deploy"))
	q := w.ask(c, question("May I?"))
	w.trust = provenance.Store{}
	check.Err(t, "without a home", "HOME", w.answer(q.ID, inbox.Reply{Text: "yes"}))
	check.Equal(t, "state", inbox.Open, w.request(q.ID).State)
}

// TestAnAgentAnswersOnlyWhatItIsAsked: the run stores what its agent says to a query, and seals nothing for it, though the agent may have
// made a query of its own question for the moment.
func TestAnAgentAnswersOnlyWhatItIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.add("deploy")
	c := w.claim(task)
	q := w.ask(c, question("May I?"))
	respond := func() error { return w.try(func(g *dag.Graph) error { return inbox.Respond(g, q.ID, "yes") }) }
	check.Err(t, "a question", "no agent answers it", respond())
	kind := func(is string) {
		w.update(func(g *dag.Graph) error {
			return g.Tx().Exec("UPDATE requests SET kind = '"+is+"' WHERE id = :id;", ":id", q.ID)
		})
	}
	kind("query")
	check.OK(t, respond())
	kind("question")
	wantForged(t, "a query in between", w, task, q.ID)
}
