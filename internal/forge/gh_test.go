package forge_test

import (
	"testing"

	"ralph/internal/forge"
	"ralph/internal/testing/check"
)

func TestGhFindsThePullRequestOfABranch(t *testing.T) {
	t.Parallel()
	s := newStandIn(t, forge.GitHub, long, answer{To: "pr list", Stdout: `[
{"baseRefName":"main","body":"of a fork","isCrossRepository":true,"number":7,"url":"https://github.com/acme/app/pull/7"},
{"baseRefName":"main","body":"ours","isCrossRepository":false,"number":8,"url":"https://github.com/acme/app/pull/8"}]`})
	got, err := s.Find(t.Context(), "ralph/login")
	check.OK(t, err)
	check.Equal(t, "pull request", forge.Pull{Number: 8, URL: "https://github.com/acme/app/pull/8", Base: "main", Body: "ours"}, got)
	check.Equal(t, "calls", []string{"pr list --head ralph/login --state open --limit 20 --json number,url,body,baseRefName,isCrossRepository"}, s.args())
	check.Equal(t, "environment", true, contains(s.calls()[0].Env, "GH_REPO=github.com/acme/app") && contains(s.calls()[0].Env, "GH_PROMPT_DISABLED=1"))

	got, err = newStandIn(t, forge.GitHub, long, answer{To: "pr list", Stdout: "[]\n"}).Find(t.Context(), "b")
	check.OK(t, err)
	check.Equal(t, "without one", forge.Pull{}, got)
}

func TestGhOpensAndChanges(t *testing.T) {
	t.Parallel()
	s := newStandIn(t, forge.GitHub, long,
		answer{To: "pr create", Stdout: "https://github.com/acme/app/pull/8\n"},
		answer{To: "pr list", Stdout: `[{"number":8,"url":"https://github.com/acme/app/pull/8","baseRefName":"main","body":"text"}]`},
		answer{To: "PATCH", Stdout: `{"number":8,"html_url":"https://github.com/acme/app/pull/8","body":"new","base":{"ref":"main"}}`})
	got, err := s.Save(t.Context(), forge.Draft{Branch: "b", Base: "main", Title: "Login", Body: "text", Draft: true})
	check.OK(t, err)
	check.Equal(t, "number", 8, got.Number)
	got, err = s.Save(t.Context(), forge.Draft{Number: 8, Branch: "b", Body: "new"})
	check.OK(t, err)
	check.Equal(t, "changed", forge.Pull{Number: 8, URL: "https://github.com/acme/app/pull/8", Base: "main", Body: "new"}, got)
	check.Equal(t, "first call", "pr create --head b --base main --title Login --body-file - --draft", s.args()[0])
	check.Equal(t, "last call", "api repos/acme/app/pulls/8 --method PATCH --field body=@- --hostname github.com", s.args()[2])
	check.Equal(t, "bodies", []string{"text", "new"}, []string{s.calls()[0].Stdin, s.calls()[2].Stdin})
}

func TestGhReadsChecks(t *testing.T) {
	t.Parallel()
	view := answer{To: "pr view", Stdout: `{"headRefOid":"1f0c9a3e"}`}
	list := `[{"bucket":"pass","link":"https://github.com/acme/app/actions/runs/1/job/2","name":"lint","state":"SUCCESS","workflow":"CI"},
{"bucket":"fail","link":"https://github.com/acme/app/actions/runs/1/job/3","name":"test","state":"FAILURE","workflow":"CI"},
{"bucket":"pending","link":"https://ci.example.com/9","name":"other","state":"PENDING","workflow":""},
{"bucket":"skipping","link":"","name":"deploy","state":"SKIPPED","workflow":"deploy"},
{"bucket":"cancel","link":"","name":"slow","state":"CANCELLED","workflow":""},
{"bucket":"news","link":"","name":"odd","state":"ODD","workflow":""}]`
	want := forge.Checks{Commit: "1f0c9a3e", List: []forge.Check{
		{Name: "CI / lint", State: forge.Passed, URL: "https://github.com/acme/app/actions/runs/1/job/2", ID: "https://github.com/acme/app/actions/runs/1/job/2"},
		{Name: "CI / test", State: forge.Failed, URL: "https://github.com/acme/app/actions/runs/1/job/3", ID: "https://github.com/acme/app/actions/runs/1/job/3"},
		{Name: "other", State: forge.Pending, URL: "https://ci.example.com/9", ID: "https://ci.example.com/9"},
		{Name: "deploy", State: forge.Passed},
		{Name: "slow", State: forge.Cancelled},
		{Name: "odd", State: forge.Pending},
	}}
	for _, exit := range []int{0, 1, 8} { // versions differ
		got, err := newStandIn(t, forge.GitHub, long, view, answer{To: "pr checks 8", Stdout: list, Exit: exit}).Checks(t.Context(), 8)
		check.OK(t, err)
		check.Equal(t, "checks", want, got)
	}
	got, err := newStandIn(t, forge.GitHub, long, view, answer{To: "pr checks", Stderr: "no checks reported on the 'ralph/login' branch\n", Exit: 1}).Checks(t.Context(), 8)
	check.OK(t, err)
	check.Equal(t, "without any", forge.Checks{Commit: "1f0c9a3e"}, got)
}

func TestGhReadsTheLogOfAJob(t *testing.T) {
	t.Parallel()
	s := newStandIn(t, forge.GitHub, long, answer{
		To:     "run view --job 3 --log-failed",
		Stdout: "test\tRun go test\t\ufeff2026-01-02T03:04:05.1234567Z ##[group]Run go test ./...\ntest\tRun go test\t2026-01-02T03:04:06.1Z login_test.go:12: no\nan odd line\n",
	})
	log, err := s.Log(t.Context(), forge.Check{ID: "https://github.com/acme/app/actions/runs/1/job/3"})
	check.OK(t, err)
	check.Equal(t, "log", "##[group]Run go test ./...\nlogin_test.go:12: no\nan odd line\n", log)
	log, err = s.Log(t.Context(), forge.Check{ID: "https://ci.example.com/9"})
	check.OK(t, err)
	check.Equal(t, "log of another service", "", log)
	_, err = newStandIn(t, forge.GitHub, long, answer{Stderr: "failed to get run log: HTTP 410: Gone\n", Exit: 1}).Log(t.Context(), forge.Check{ID: "/actions/runs/1"})
	check.That(t, forge.Is(err, forge.Refused), "got %v", err)
}

func TestGhReadsComments(t *testing.T) {
	t.Parallel()
	s := newStandIn(t, forge.GitHub, long,
		answer{To: "pulls/8/comments", Stdout: `[{"id":10,"user":{"login":"ann"},"body":"off by one","path":"a.go","line":null,"original_line":7,"html_url":"u10","created_at":"2026-01-02T03:00:02Z"}]
[{"id":11,"user":{"login":"bob"},"body":"second page","path":"b.go","line":9,"html_url":"u11","created_at":"2026-01-02T03:00:04Z"}]`},
		answer{To: "pulls/8/reviews", Stdout: `[{"id":20,"user":{"login":"ann"},"body":"LGTM","state":"APPROVED","submitted_at":"2026-01-02T03:00:01Z"},
{"id":21,"user":{"login":"ann"},"body":"please split it","state":"CHANGES_REQUESTED","html_url":"u21","submitted_at":"2026-01-02T03:00:03Z"},
{"id":22,"user":{"login":"ann"},"body":"","state":"COMMENTED","submitted_at":"2026-01-02T03:00:01Z"}]`},
		answer{To: "issues/8/comments", Stdout: `[{"id":30,"user":{"login":"eve"},"body":"hello","html_url":"u30","created_at":"2026-01-02T03:00:01Z"}]`})
	got, err := s.Comments(t.Context(), 8)
	check.OK(t, err)
	check.Equal(t, "comments", []forge.Comment{
		{ID: "talk-30", Author: "eve", Text: "hello", URL: "u30"},
		{ID: "line-10", Author: "ann", Text: "off by one", Path: "a.go", Line: 7, URL: "u10"},
		{ID: "review-21", Author: "ann", Text: "please split it", URL: "u21"},
		{ID: "line-11", Author: "bob", Text: "second page", Path: "b.go", Line: 9, URL: "u11"},
	}, got)
}

func TestGhCommentsOnIssues(t *testing.T) {
	t.Parallel()
	s := newStandIn(t, forge.GitHub, long, answer{To: "POST", Stdout: "{}"}, answer{To: "issues/5/comments", Stdout: `[{"body":"x <!-- ralph: landed t-1 --> y"}]`})
	issue := forge.Issue{Repository: "acme/app", Number: 5}
	check.OK(t, s.Comment(t.Context(), issue, "done"))
	check.Equal(t, "call", call{Args: "api repos/acme/app/issues/5/comments --method POST --field body=@- --hostname github.com", Stdin: "done"}, call{s.calls()[0].Args, s.calls()[0].Stdin, nil})
	for text, want := range map[string]bool{"<!-- ralph: landed t-1 -->": true, "<!-- ralph: landed t-2 -->": false} {
		got, err := s.Commented(t.Context(), issue, text)
		check.OK(t, err)
		check.Equal(t, text, want, got)
	}
}

func contains(list []string, text string) bool {
	for _, item := range list {
		if item == text {
			return true
		}
	}
	return false
}
