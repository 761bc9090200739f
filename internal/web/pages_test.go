package web_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
	"ralph/internal/web"
)

// hostile is what somebody would like a browser to carry out, or a reader to see wrongly.
const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>"onmouseover="alert(3)' --><svg onload=alert(4)> javascript:alert(5) ` + "\u202eevil\u2066 \x1b[31mred\x07 \u0000 {{.Form}} </textarea></title></style>"

func TestHostileTextIsOnlyText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	text := strings.ReplaceAll(hostile, "\x00", "") // a database keeps none
	ids := s.night(text)
	paths := []string{"/", "/tasks", "/tasks?status=all&tree=1", "/inbox", "/tasks?q=" + "%3Cscript%3Ealert(1)%3C/script%3E&tag=%22onmouseover=%22&feature="}
	for _, id := range ids {
		paths = append(paths, "/tasks/"+id)
		check.OK(t, s.store.View(t.Context(), func(g *dag.Graph) error {
			task, err := g.Tasks.Get(id)
			check.OK(t, err)
			attempts, err := g.History.Attempts(task)
			for _, at := range attempts {
				paths = append(paths, "/attempts/"+at.ID+"/diff")
			}
			return err
		}))
	}
	// Where text is in an attribute, its quotes are escaped, so that none of these begins a tag or an attribute.
	bad := regexp.MustCompile(`(?i)<script[^ ]|<img|<svg onload|[^&;\w]"onmouseover=|href="javascript:|\x1b|\x07|\x{202e}|\x{2066}`)
	typed := regexp.MustCompile(`(?s) value="[^"]*"|<textarea[^>]*>[^<]*`) // what is edited is what is stored
	for _, path := range paths {
		page := typed.ReplaceAllString(s.page(path), "")
		if at := bad.FindStringIndex(page); at != nil {
			t.Errorf("%s: %q", path, page[max(0, at[0]-80):min(len(page), at[1]+80)])
		}
		check.That(t, !strings.Contains(page, ` style="`), "%s has a style of its own, which no browser applies", path)
		check.That(t, strings.Count(page, "<script") == 1, "%s has %d scripts", path, strings.Count(page, "<script"))
	}
	page, _ := s.get("/tasks/%3Cscript%3Ealert(1)")
	check.That(t, !strings.Contains(page, "<script>alert"), "a page that does not exist shows its name as it came")
}

func TestTheOverviewSaysWhatIsToBeDone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	check.Contains(t, "an empty project", "Add a first task", s.page("/"))
	s.night("tonight")
	page := s.page("/")
	for _, want := range []string{"5 answers needed from you", "Which cipher?", "the gate go test ./... failed", "Send the mail", "to review", "waits for the budget", "$2.52"} {
		check.Contains(t, "the overview", want, page)
	}
}

func TestAPrefixLeadsToTheTask(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids := s.night("x")
	answer, err := s.client.Get(s.url + "/tasks/" + strings.TrimPrefix(ids[0], "t-")[:7])
	check.OK(t, err)
	defer answer.Body.Close()
	check.Equal(t, "where it leads", "/tasks/"+ids[0], answer.Request.URL.Path)
	_, status := s.get("/tasks/t-00000000")
	check.Equal(t, "the status of a task that does not exist", http.StatusNotFound, status)
}

func TestFormsCarryOutTheirCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page, _ := s.post("arg", "task", "arg", "add", "text", "--help", "stdin", "@/etc/passwd", "stdin-to", "--description", "--gate[]", "true\r\n\r\nfalse", "--model", "")
	check.Contains(t, "the page after it", "added t-", page)
	added := s.task("--help")
	check.Equal(t, "the description", "@/etc/passwd", added.Description)
	check.Equal(t, "the gates", []string{"true", "false"}, added.Gates)
	check.Equal(t, "the model", "", added.Model)

	// What is as it was is not touched, and what was emptied is.
	s.post("arg", "task", "arg", "update", "arg", added.ID, "--title", "@channel please", "was --title", "--help", "stdin", "@/etc/passwd", "was stdin", "@/etc/passwd", "stdin-to", "--description", "--gate[]", "", "was --gate[]", "true\r\nfalse")
	changed := s.task("@channel please")
	check.Equal(t, "the description", "@/etc/passwd", changed.Description)
	check.Equal(t, "the gates", 0, len(changed.Gates))

	// Two commands in their order; the first is left out where nothing was typed for it.
	page, _ = s.post("arg", "task", "arg", "update", "arg", added.ID, "--model", "opus", "was --model", "", "then", "task", "then", "reset", "then", added.ID, "sure", "yes")
	check.Contains(t, "what was carried out", "ralph task update "+added.ID+" --model=opus", page)
	check.Contains(t, "what was carried out", "ralph task reset "+added.ID, page)
	check.Equal(t, "the model", "opus", s.task("@channel please").Model)
	page, _ = s.post("arg", "task", "arg", "update", "arg", added.ID, "--model", "opus", "was --model", "opus", "then", "task", "then", "reset", "then", added.ID, "sure", "yes")
	check.That(t, !strings.Contains(page, "--model=opus"), "the model was set again")

	s.post("arg", "run", "--limit", "3", "--feature", "")
	check.Equal(t, "what was started", [][]string{{"run", "--limit=3"}}, s.started)
}

func TestWhatLosesSomethingIsConfirmedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post("arg", "task", "arg", "add", "text", "Write it")
	id := s.task("Write it").ID
	before := s.calls
	page, status := s.post("arg", "task", "arg", "delete", "arg", id)
	check.Equal(t, "the status", http.StatusOK, status)
	for _, want := range []string{"Are you sure?", "deleted with its history", "Write it", "ralph task delete " + id, `name="sure" value="yes"`} {
		check.Contains(t, "the page that asks", want, page)
	}
	check.Equal(t, "the commands that were carried out", before, s.calls)
	page, _ = s.post("arg", "task", "arg", "block", "arg", id, "--now", "true")
	check.Contains(t, "the page that asks before an agent is ended", "The agent at work on the task ends at once", page)
	check.Equal(t, "the commands that were carried out", before, s.calls)
	page, _ = s.post("arg", "task", "arg", "block", "arg", id, "--now", "")
	check.Contains(t, "a task that is only blocked", id+" blocked", page)
	page, _ = s.post("arg", "task", "arg", "delete", "arg", id, "sure", "yes")
	check.Contains(t, "the page after it", id+" deleted", page)
}

func TestWhatIsRefusedCanBeTypedOn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page, status := s.post("arg", "task", "arg", "add", "text", `A "title"`, "stdin", "A long\ndescription <b>", "stdin-to", "--description", "--feature", "nosuch")
	check.Equal(t, "the status", http.StatusUnprocessableEntity, status)
	for _, want := range []string{"That was refused", "nosuch", "ralph feature create", "A &#34;title&#34;", "A long\ndescription &lt;b&gt;</textarea>", `name="arg" value="add"`} {
		check.Contains(t, "the page", want, page)
	}
	check.That(t, !strings.Contains(page, `name="sure"`), "nobody was asked, and the next try would not ask")
	for _, args := range [][]string{{"arg", "config"}, {"arg", "serve"}, {"arg", "--project=/", "arg", "task", "arg", "add"}, {"--project", "/"}} {
		_, status = s.post(args...)
		check.Equal(t, fmt.Sprint("the status of ", args), http.StatusForbidden, status)
	}
}

func TestAReadOnlyServerOffersNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, web.Access{ReadOnly: true})
	for _, id := range append(s.night("tonight"), "") {
		for _, path := range []string{"/tasks/" + id, "/", "/inbox"} {
			page := s.page(strings.TrimSuffix(path, "/tasks/"))
			check.That(t, !strings.Contains(page, `action="/do"`), "%s has a form", path)
			check.Contains(t, path, "read-only", page)
		}
	}
	before := s.calls
	_, status := s.post("arg", "task", "arg", "add", "text", "x")
	check.Equal(t, "the status of a change", http.StatusForbidden, status)
	check.Equal(t, "the commands that were carried out", before, s.calls)
}

func TestAnswersAreGivenOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.night("tonight")
	q := regexp.MustCompile(`id="(q-[0-9a-f]+)"`).FindAllStringSubmatch(s.page("/inbox"), -1)
	check.Equal(t, "the open questions", 4, len(q))
	page, _ := s.post("arg", "inbox", "arg", "answer", "arg", q[0][1], "--option", "2")
	check.Contains(t, "the first answer", q[0][1]+" answered: argon2 tonight", page)
	page, _ = s.post("arg", "inbox", "arg", "answer", "arg", q[0][1], "--option", "1")
	check.Contains(t, "the second answer", "answered already", page)
	check.Contains(t, "a way to change it", `name="--change"`, s.page("/inbox"))
	page, _ = s.post("arg", "inbox", "arg", "answer", "arg", q[0][1], "--change", "true", "stdin", "scrypt")
	check.Contains(t, "what is not an option", "not an option of "+q[0][1], page)
	page, _ = s.post("arg", "inbox", "arg", "answer", "arg", q[0][1], "--change", "true", "--other", "true", "stdin", "scrypt")
	check.Contains(t, "another answer", q[0][1]+" answered", page)
	check.Contains(t, "another answer", "→ scrypt", s.page("/inbox"))
	page, _ = s.post("arg", "inbox", "arg", "answer", "arg", q[1][1], "stdin", "@all of them")
	check.Contains(t, "a text", "answered", page)
	page, _ = s.post("arg", "inbox", "arg", "answer", "arg", q[2][1], "arg", "--credential", "stdin", "k-123456789")
	check.That(t, !strings.Contains(page, "k-123456789"), "the credential is in the page")
	check.Contains(t, "a credential", q[2][1]+" answered", page)
	page = s.page("/inbox")
	check.Contains(t, "the history", "@all of them", page)
	check.That(t, !strings.Contains(page, "k-123456789"), "the credential is in the inbox")
	check.Equal(t, "what waits", 1, strings.Count(page, `class="card ask" id="q-`))
}

func TestTenThousandTasks(t *testing.T) {
	t.Parallel()
	raced.Long(t, "how large pages are")
	s := newSite(t)
	var specs []dag.Spec
	for i := range 10_000 {
		specs = append(specs, dag.Spec{Ref: fmt.Sprint("case-", i), Detail: dag.Detail{Title: fmt.Sprintf("Make case %d handle input that is longer than the buffer", i), Description: map[bool]string{true: "zebra"}[i == 77] + strings.Repeat("x", 500), Tags: []string{"core"}}})
	}
	s.update(func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err })
	for path, want := range map[string]string{
		"/": "10000 tasks", "/tasks": "1 to 200 of 10000", "/tasks?page=49": "9801 to 10000 of 10000", "/tasks?tree=1": "1 to 200 of 10000",
		"/tasks?q=zebra+77": "Make case 77 handle", "/tasks?q=buffer&page=1": "201 to 400 of 10000", "/tasks?tag=core": "1 to 200 of 10000",
	} {
		page := s.page(path)
		check.Contains(t, path, want, page)
		check.That(t, len(page) < 300_000, "%s has %d bytes", path, len(page))
	}
}

func TestAPageThatIsTheSameIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ask := func(tag string, more ...string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/tasks", nil)
		check.OK(t, err)
		r.Header.Set("If-None-Match", tag)
		for _, state := range more {
			r.Header.Set("Ralph-State", state)
		}
		answer, err := s.client.Do(r)
		check.OK(t, err)
		answer.Body.Close()
		return answer.StatusCode, answer.Header.Get("ETag")
	}
	_, tag := ask("")
	status, _ := ask(tag)
	check.Equal(t, "the status of the same page", http.StatusNotModified, status)
	_, shared := ask("", "state-1")
	s.post("arg", "task", "arg", "add", "text", "Write it")
	status, _ = ask(tag)
	check.Equal(t, "the status after a change", http.StatusOK, status)
	status, _ = ask(shared, "state-1")
	check.Equal(t, "the status for who looks because of the same change", http.StatusNotModified, status)
	status, _ = ask(shared, "state-2")
	check.Equal(t, "the status for who looks because of the next one", http.StatusOK, status)
}

func TestADatabaseThatIsGoneIsSaid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	check.OK(t, os.RemoveAll(s.root+"/.ralph"))
	page, status := s.get("/")
	check.Equal(t, "the status", http.StatusInternalServerError, status)
	check.Contains(t, "the page", `class="why `, page)
	check.Contains(t, "the page", "restore it from a copy", page)
}
