package forge_test

import (
	"testing"

	"ralph/internal/forge"
	"ralph/internal/testing/check"
)

const ours = `{"iid":4,"web_url":"https://example.com/acme/tools/app/-/merge_requests/4","target_branch":"main","description":"text","sha":"1f0c","source_project_id":1,"project_id":1`

func TestGlabFindsOpensAndChanges(t *testing.T) {
	t.Parallel()
	want := forge.Pull{Number: 4, URL: "https://example.com/acme/tools/app/-/merge_requests/4", Base: "main", Body: "text"}
	s := newStandIn(t, forge.GitLab, long,
		answer{To: "source_branch=ralph%2Flogin ", Stdout: `[{"iid":3,"source_project_id":9,"project_id":1},` + ours + `}]`},
		answer{To: "POST", Stdout: ours + "}"}, answer{To: "PUT", Stdout: ours + "}"})
	got, err := s.Find(t.Context(), "ralph/login")
	check.OK(t, err)
	check.Equal(t, "found", want, got)
	got, err = s.Save(t.Context(), forge.Draft{Branch: "ralph/login", Base: "main", Title: "login", Body: "text", Draft: true})
	check.OK(t, err)
	check.Equal(t, "opened", want, got)
	got, err = s.Save(t.Context(), forge.Draft{Number: 4, Branch: "ralph/login", Body: "text", Draft: true})
	check.OK(t, err)
	check.Equal(t, "changed", want, got)
	check.Equal(t, "calls", []string{
		"api projects/acme%2Ftools%2Fapp/merge_requests?state=opened&per_page=20&source_branch=ralph%2Flogin --hostname example.com",
		"api projects/acme%2Ftools%2Fapp/merge_requests --method POST --raw-field source_branch=ralph/login --raw-field target_branch=main --raw-field title=Draft: login --field description=@- --hostname example.com",
		"api projects/acme%2Ftools%2Fapp/merge_requests/4 --method PUT --field description=@- --hostname example.com",
	}, s.args())
}

func TestGlabReadsJobs(t *testing.T) {
	t.Parallel()
	jobs := answer{To: "pipelines/9/jobs", Stdout: `[{"id":1,"name":"lint","status":"success","web_url":"u1"},{"id":2,"name":"test","status":"failed","web_url":"u2"}]
[{"id":3,"name":"flaky","status":"failed","allow_failure":true},{"id":4,"name":"deploy","status":"manual"},{"id":5,"name":"docs","status":"created"},{"id":6,"name":"x","status":"canceled"}]`}
	want := []forge.Check{
		{Name: "lint", State: forge.Passed, URL: "u1", ID: "1"},
		{Name: "test", State: forge.Failed, URL: "u2", ID: "2"},
		{Name: "flaky", State: forge.Passed, ID: "3"},
		{Name: "deploy", State: forge.Passed, ID: "4"},
		{Name: "docs", State: forge.Pending, ID: "5"},
		{Name: "x", State: forge.Cancelled, ID: "6"},
	}
	pending := []forge.Check{{Name: "pipeline", State: forge.Pending, URL: "https://example.com/acme/tools/app/-/merge_requests/4"}}
	for pipeline, want := range map[string][]forge.Check{
		`null`:                                  nil,
		`{"id":9,"sha":"1f0c","ref":"b"}`:       want,
		`{"id":9,"sha":"aaaa","ref":"b"}`:       pending, // of an older commit
		`{"id":9,"sha":"aaaa","ref":"x/merge"}`: want,    // of a merge result
	} {
		got, err := newStandIn(t, forge.GitLab, long, jobs, answer{To: "merge_requests/4", Stdout: ours + `,"head_pipeline":` + pipeline + "}"}).Checks(t.Context(), 4)
		check.OK(t, err)
		check.Equal(t, pipeline, forge.Checks{Commit: "1f0c", List: want}, got)
	}
}

func TestGlabReadsLogsAndDiscussions(t *testing.T) {
	t.Parallel()
	s := newStandIn(t, forge.GitLab, long,
		answer{To: "jobs/2/trace", Stdout: "a.go:3: no\n"},
		answer{To: "merge_requests/4/discussions", Stdout: `[{"id":"d1","notes":[{"id":1,"body":"added 1 commit","system":true,"author":{"username":"ann"}}]},
{"id":"d2","notes":[{"id":2,"body":"off by one","author":{"username":"ann"},"resolvable":true,"resolved":false,"position":{"new_path":"a.go","new_line":3,"old_path":"a.go","old_line":null}},
{"id":3,"body":"done","author":{"username":"bob"},"resolvable":true,"resolved":true}]}]`},
		answer{To: "POST", Stdout: "{}"},
		answer{To: "issues/5/notes", Stdout: `[{"id":1,"body":"told"}]`})
	log, err := s.Log(t.Context(), forge.Check{ID: "2"})
	check.OK(t, err)
	check.Equal(t, "log", "a.go:3: no\n", log)
	got, err := s.Comments(t.Context(), 4)
	check.OK(t, err)
	check.Equal(t, "comments", []forge.Comment{{ID: "2", Author: "ann", Text: "off by one", Path: "a.go", Line: 3}}, got)
	issue := forge.Issue{Repository: "acme/tools/app", Number: 5}
	told, err := s.Commented(t.Context(), issue, "told")
	check.OK(t, err)
	check.Equal(t, "told", true, told)
	check.OK(t, s.Comment(t.Context(), issue, "done"))
	check.Equal(t, "call", "api projects/acme%2Ftools%2Fapp/issues/5/notes --method POST --field body=@- --hostname example.com", s.args()[3])
}

func TestACommandOfTheUsers(t *testing.T) {
	t.Parallel()
	s := newStandIn(t, forge.Own, long,
		answer{To: "for me find", Stdout: "{}"}, answer{To: "for me save", Stdout: `{"number":2,"url":"u"}`},
		answer{To: "for me checks", Stdout: `{"commit":"1f0c","checks":[{"name":"test","state":"failed","id":"7"}]}`},
		answer{To: "for me log", Stdout: `{"log":"no"}`}, answer{To: "for me commented", Stdout: `{"commented":true}`},
		answer{To: "for me comments", Stdout: `{"comments":[{"id":"1","author":"ann","text":"hm","path":"a.go","line":3}]}`}, answer{To: "for me comment"})
	found, err := s.Find(t.Context(), "b")
	check.OK(t, err)
	check.Equal(t, "found", forge.Pull{}, found)
	saved, err := s.Save(t.Context(), forge.Draft{Branch: "b", Base: "main", Title: "t", Body: "x"})
	check.OK(t, err)
	check.Equal(t, "saved", forge.Pull{Number: 2, URL: "u"}, saved)
	checks, err := s.Checks(t.Context(), 2)
	check.OK(t, err)
	check.Equal(t, "checks", forge.Checks{Commit: "1f0c", List: []forge.Check{{Name: "test", State: forge.Failed, ID: "7"}}}, checks)
	log, err := s.Log(t.Context(), checks.List[0])
	check.OK(t, err)
	check.Equal(t, "log", "no", log)
	comments, err := s.Comments(t.Context(), 2)
	check.OK(t, err)
	check.Equal(t, "comments", []forge.Comment{{ID: "1", Author: "ann", Text: "hm", Path: "a.go", Line: 3}}, comments)
	issue := forge.Issue{Repository: "acme/app", Number: 5}
	told, err := s.Commented(t.Context(), issue, "x")
	check.OK(t, err)
	check.Equal(t, "told", true, told)
	check.OK(t, s.Comment(t.Context(), issue, "x"))
	var stdins []string
	for _, c := range s.calls() {
		stdins = append(stdins, c.Stdin)
	}
	check.Equal(t, "questions", []string{
		`{"branch":"b"}` + "\n", `{"branch":"b","base":"main","title":"t","body":"x"}` + "\n", `{"number":2}` + "\n",
		`{"name":"test","state":"failed","url":"","id":"7"}` + "\n", `{"number":2}` + "\n",
		`{"repository":"acme/app","number":5,"text":"x"}` + "\n", `{"repository":"acme/app","number":5,"body":"x"}` + "\n",
	}, stdins)

	_, err = newStandIn(t, forge.Own, long, answer{Stdout: `{"checks":[{"name":"test","state":"green"}]}`}).Checks(t.Context(), 2)
	check.That(t, forge.Is(err, forge.Garbage), "got %v", err)
	_, err = newStandIn(t, forge.Own, long, answer{Stdout: `{}`}).Save(t.Context(), forge.Draft{})
	check.That(t, forge.Is(err, forge.Garbage), "got %v", err)
	_, err = forge.New(forge.Own, "", forge.Options{})
	check.That(t, err != nil, "an empty command was accepted")
}
