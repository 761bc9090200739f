package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/project"
	"ralph/internal/testing/check"
)

const withToken = "Bearer " + token

func TestTheAPIIsTheCommandLine(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Token: token})
	for target, want := range map[string]string{
		"/api/v1/status": "status --json --",
		"/api/v1/tasks?status=done&status=failed&all":   "task list --all=true --status=done --status=failed --json --",
		"/api/v1/tasks/t-1/why":                         "task why --json -- t-1",
		"/api/v1/tasks/--project=%2Fetc":                "task show --json -- --project=/etc",
		"/api/v1/features/a%2Fb":                        "feature show --json -- a/b",
		"/api/v1/runs/r-1":                              "report --json -- r-1",
		"/api/v1/tasks/t-1/logs?full=true&follow=false": "logs --follow=false --full=true --json -- t-1",
	} {
		d.calls = nil
		d.want(200, d.ask("GET", target, "", "Authorization", withToken))
		check.Equal(t, target, want, strings.Join(d.calls[0], " "))
		d.want(200, d.ask("HEAD", target, "", "Authorization", withToken))
	}
	for _, target := range []string{"/api/v1/nothing", "/api/v1/", "/api/v2/status", "/api/v1/tasks/a/b"} {
		body := d.want(404, d.ask("GET", target, "", "Authorization", withToken))
		check.Contains(t, target, "is not of the API", body)
	}
	d.want(404, d.ask("POST", "/api/v1/status", "{}", "Authorization", withToken))
	check.Contains(t, "description", "openapi: 3", d.want(200, d.ask("GET", "/api/v1/openapi.yaml", "", "Authorization", withToken)))
}

func TestAFailedCommandIsAnErrorOfTheAPI(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Token: token})
	for exit, want := range map[int]int{64: 400, 3: 404, 1: 409, 2: 409, 4: 409, 5: 503, 70: 500, 130: 500} {
		d.opts.Command = func(_ context.Context, c Call) int {
			fmt.Fprint(c.Stdout, "half of it")
			fmt.Fprint(c.Stderr, "ralph: it went wrong\nhint: do better\n")
			return exit
		}
		check.Equal(t, fmt.Sprint(exit), fmt.Sprintf(`{"error":"it went wrong","hint":"do better","status":%d}`+"\n", exit),
			d.want(want, d.ask("GET", "/api/v1/status", "", "Authorization", withToken)))
	}
}

func TestACommandAnswersAsItPrints(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Token: token})
	d.opts.Command = func(_ context.Context, c Call) int {
		in, _ := io.ReadAll(c.Stdin)
		fmt.Fprintf(c.Stdout, "%s %v %d %d\n", in, c.Args, c.Width, c.ErrWidth)
		fmt.Fprint(c.Stderr, "a note\n")
		_, _ = c.Stdout.Write([]byte{0xff, 'x'})
		return 3
	}
	res := d.ask("POST", "/api/v1/commands", `{"args":["task","add","x"],"stdin":"in","width":80,"err_width":81}`, "Authorization", withToken)
	check.Equal(t, "the version", apiVersion, res.Header.Get(APIHeader))
	check.Equal(t, "the lines", `{"out":"in [task add x] 80 81\n"}
{"err":"a note\n"}
{"out64":"/3g="}
{"exit":3}
`, d.want(200, res))
	check.Contains(t, "bytes", `{"out":"`, d.want(200, d.ask("POST", "/api/v1/commands", `{"args":["task","add","x"],"stdin64":"eA=="}`, "Authorization", withToken)))
	for body, want := range map[string]int{
		``: 400, `x`: 400, `{"args":"task list"}`: 400, `{"args":[]}`: 403, `{"args":["serve"]}`: 403, `{"args":["task","nothing"]}`: 403,
		`{"args":["task","list"],"stdin":"` + strings.Repeat("x", maxBody) + `"}`: 413,
	} {
		d.want(want, d.ask("POST", "/api/v1/commands", body, "Authorization", withToken))
	}
}

// TestACommandWithoutItsReader: one that only looks ends with its reader, and a change is carried out to its end.
func TestACommandWithoutItsReader(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Token: token})
	ended := make(chan error, 1)
	begun := make(chan context.CancelFunc, 1)
	d.opts.Command = func(ctx context.Context, c Call) int {
		(<-begun)()
		if c.Args[0] == "inbox" {
			<-ctx.Done()
		}
		ended <- ctx.Err()
		return 0
	}
	for args, want := range map[string]error{`["inbox","list"]`: context.Canceled, `["pause"]`: nil} {
		ctx, leave := context.WithCancel(t.Context())
		begun <- leave
		r := httptest.NewRequestWithContext(ctx, "POST", "/api/v1/commands", strings.NewReader(`{"args":`+args+`}`))
		r.Host = "localhost"
		r.Header.Set("Authorization", withToken)
		w := httptest.NewRecorder()
		d.Handler().ServeHTTP(w, r)
		check.Equal(t, args, fmt.Sprint(want), fmt.Sprint(<-ended))
		check.Equal(t, args+" is told how it ended", want == nil, strings.Contains(w.Body.String(), "exit"))
	}
}

func TestTheAPIAnswersOnlySoManyAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Token: token})
	for range maxCalls {
		d.Server.calls <- struct{}{}
	}
	res := d.ask("GET", "/api/v1/status", "", "Authorization", withToken)
	check.Contains(t, "why", "busy", d.want(503, res))
	check.Equal(t, "when to try again", "1", res.Header.Get("Retry-After"))
	<-d.Server.calls
	d.want(200, d.ask("GET", "/api/v1/status", "", "Authorization", withToken))

	// Those that stay have room of their own, so that a run can still be stopped.
	for range maxStays {
		d.stays <- struct{}{}
	}
	d.want(200, d.ask("GET", "/api/v1/status", "", "Authorization", withToken))
	d.want(503, d.ask("GET", "/api/v1/tasks/t-1/logs?follow", "", "Authorization", withToken))
	check.Contains(t, "why", "has no end", d.want(400, d.ask("GET", "/api/v1/inbox?watch", "", "Authorization", withToken)))
}

// TestEventsResume: the events of a run are read from any offset, and followed from the one that a reader has seen last.
func TestEventsResume(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Token: token})
	p := project.Project{Root: t.TempDir()}
	check.OK(t, os.MkdirAll(p.State(), 0o700))
	var run string
	d.opts.Open = func(ctx context.Context) (*Project, error) {
		file, err := db.Open(ctx, p.DB(), db.Options{})
		if err != nil {
			return nil, err
		}
		return &Project{Project: p, Store: dag.New(file, dag.Options{Now: d.opts.Now}), Close: file.Close}, nil
	}
	var died atomic.Bool
	d.opts.Life = func(dag.Process) dag.Life {
		if died.Load() {
			return dag.Dead
		}
		return dag.Alive
	}
	open, err := d.opts.Open(t.Context())
	check.OK(t, err)
	defer open.Close()
	check.OK(t, open.Store.Update(t.Context(), func(g *dag.Graph) error {
		r, err := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		run = r.ID
		return err
	}))
	file := filepath.Join(p.Runs(), run, "events.jsonl")
	path := "/api/v1/runs/" + run + "/events"
	d.want(404, d.ask("GET", path, "", "Authorization", withToken))
	d.want(404, d.ask("GET", "/api/v1/runs/..%2f..%2fx/events", "", "Authorization", withToken))
	check.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
	check.OK(t, os.WriteFile(file, []byte("{\"n\":1}\n{\"n\":2}\n{\"half"), 0o600))
	check.Equal(t, "all", "{\"n\":1}\n{\"n\":2}\n", d.want(200, d.ask("GET", path, "", "Authorization", withToken)))
	check.Equal(t, "from an offset", "{\"n\":2}\n", d.want(200, d.ask("GET", path+"?after=8", "", "Authorization", withToken)))
	check.Equal(t, "at the end", "", d.want(200, d.ask("GET", path+"?after=99", "", "Authorization", withToken)))
	d.want(400, d.ask("GET", path+"?after=x", "", "Authorization", withToken))
	d.want(400, d.ask("GET", path+"?after=-1", "", "Authorization", withToken))

	// followed from the first event on, while the run goes on and a line is completed
	server := httptest.NewServer(d.Handler())
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+path, http.NoBody)
	check.OK(t, err)
	req.Header.Set("Authorization", withToken)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", "8")
	res, err := http.DefaultClient.Do(req)
	check.OK(t, err)
	defer res.Body.Close()
	in := bufio.NewScanner(res.Body)
	next := func(want string) {
		t.Helper()
		for in.Scan() {
			if in.Text() != "" {
				check.Equal(t, "line", want, in.Text())
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", want, in.Err())
	}
	next("id: 16")
	next("event: event")
	next(`data: {"n":2}`)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	check.OK(t, err)
	_, err = f.WriteString("\":3}\n")
	check.OK(t, err)
	check.OK(t, f.Close())
	next("id: 27")
	next("event: event")
	next(`data: {"half":3}`)
	died.Store(true)
	next("id: 27")
	next("event: end")
}

// TestABodyHasADeadlineAndACommandHasNone: who sends nothing is dropped, and what takes long after it was asked for is not.
func TestABodyHasADeadlineAndACommandHasNone(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Token: token})
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	d.opts.Command = func(context.Context, Call) int {
		check.That(t, len(w.read) == 2 && !w.read[0].IsZero() && w.read[1].IsZero(), "the deadlines of reads were %v", w.read)
		return 0
	}
	r := httptest.NewRequest("POST", "/api/v1/commands", strings.NewReader(`{"args":["pause"]}`))
	r.Host = "localhost"
	r.Header.Set("Authorization", withToken)
	d.Handler().ServeHTTP(w, r)
	check.Contains(t, "the end", `{"exit":0}`, w.Body.String())
	check.That(t, !w.write.IsZero(), "a slow reader is never dropped")
}

// TestAnAnswerHasItsTimeFromItsBeginning, whatever the command took.
func TestAnAnswerHasItsTimeFromItsBeginning(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Access{Token: token})
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	d.opts.Command = func(context.Context, Call) int { w.write = time.Time{}; return 0 }
	r := httptest.NewRequest("GET", "/api/v1/status", http.NoBody)
	r.Host = "localhost"
	r.Header.Set("Authorization", withToken)
	d.Handler().ServeHTTP(w, r)
	check.That(t, !w.write.IsZero(), "the deadline of the answer is that of the request")
}

// deadlines remembers those of a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	read  []time.Time
	write time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.read = append(d.read, at)
	return nil
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.write = at
	return nil
}
