package web

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestACommandThatTakesLongIsFollowed: the browser has an answer before the command ends, sees what it prints, and then how it ended.
func TestACommandThatTakesLongIsFollowed(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{0: "✓ Done", 1: "That was refused"} {
		s := newSite(t)
		s.server.patience = 0
		printed, end := make(chan struct{}), make(chan struct{})
		s.server.opts.Command = func(ctx context.Context, c Call) int {
			fmt.Fprintln(c.Stdout, "half of it, hunter2")
			close(printed)
			<-end
			fmt.Fprintln(c.Stderr, "the rest of it")
			check.OK(t, ctx.Err())
			return status
		}
		form := s.form("arg", "merge", "sure", "yes", "text", "typed")
		form.Set("back", "/tasks?q=x")
		answer, err := s.client.PostForm(s.url+"/do", form)
		check.OK(t, err)
		answer.Body.Close()
		said := answer.Request.URL.Path
		check.That(t, strings.HasPrefix(said, "/said/") && answer.Header.Get("Refresh") != "", "the answer is %s", said)
		<-printed
		s.page(said, "At work", "half of it, ***", "ralph merge")
		close(end)
		<-s.server.works.find(strings.TrimPrefix(said, "/said/")).done
		answer, err = s.client.Get(s.url + said)
		check.OK(t, err)
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		check.OK(t, err)
		check.Contains(t, "the page after it", want, string(body))
		check.Contains(t, "the page after it", "the rest of it", string(body))
		if status == 0 {
			check.Equal(t, "the page to come back to", "x", answer.Request.URL.Query().Get("q"))
		} else {
			check.Contains(t, "what was typed", `value="typed"`, string(body))
		}
	}
}

// TestWhoClicksRunTwiceHasOne: a second run is started only by who says so.
func TestWhoClicksRunTwiceHasOne(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	starts := 0
	s.server.opts.Start = func(context.Context, ...string) error { starts++; s.begin(); return nil }
	form := s.form("arg", "run")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := s.post(form); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	check.Equal(t, "runs", 1, starts)
	page, err := s.post(form)
	check.OK(t, err)
	check.Contains(t, "the page that asks", "The run "+s.run.ID+" is at work already", page)
	form.Set("sure", "yes")
	_, err = s.post(form)
	check.OK(t, err)
	check.Equal(t, "runs", 2, starts)
}

// TestAnEditReplacesOnlyWhatWasSeen: what somebody else wrote meanwhile is shown before it is replaced.
func TestAnEditReplacesOnlyWhatWasSeen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.add(dag.NewTask{Detail: dag.Detail{Title: "Write it", Description: "By the other\nperson", Gates: []string{"if true\nthen true\nfi", "true"}}})
	check.That(t, !strings.Contains(s.page("/tasks/"+id), `name="--gate[]" rows="1">if`), "a gate of several lines is edited as several gates")
	form := s.form("arg", "task", "arg", "update", "arg", id, "stdin", "Mine", "was stdin", "", "stdin-to", "--description", "--title", "Write it well", "was --title", "Write it")
	page, err := s.post(form)
	check.OK(t, err)
	for _, want := range []string{"It was changed meanwhile", "Description: By the other\nperson", ">Mine</textarea>", `name="was stdin" value="By the other`} {
		check.Contains(t, "the page", want, page)
	}
	check.Equal(t, "what was carried out", 0, len(s.ran))
	form.Set("was stdin", "By the other\r\nperson")
	_, err = s.post(form)
	check.OK(t, err)
	check.Equal(t, "what was carried out", []string{"task update " + id + " --title=Write it well --description=-"}, s.ran)
}
