package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// BenchmarkServe measures what open pages cost the run that they show, and what pages of many tasks cost.
func BenchmarkServe(b *testing.B) {
	h := newHarness(b)
	for b.Loop() {
		t := newTable(b)
		measurePages(h, t)
		measureOpenPages(h, t)
		if !testing.Short() {
			measureFlood(h, t)
		}
	}
}

// site is ralph serve of a project, and a browser that was let in.
type site struct {
	h      *harness
	dir    string
	base   string
	cmd    *exec.Cmd
	client *http.Client
	cookie string
}

func (h *harness) serve(dir string) *site {
	s := &site{h: h, dir: dir, cmd: exec.CommandContext(h.b.Context(), h.ralph, "serve", "--listen", "127.0.0.1:0")}
	s.cmd.Dir = dir
	said := must(s.cmd.StderrPipe())
	check(s.cmd.Start())
	link := ""
	for lines := bufio.NewScanner(said); link == "" && lines.Scan(); {
		link = regexp.MustCompile(`http://\S+`).FindString(lines.Text())
	}
	go io.Copy(io.Discard, said)
	s.base, _, _ = strings.Cut(link, "/?")
	s.client = &http.Client{Jar: must(cookiejar.New(nil)), Transport: &http.Transport{MaxIdleConnsPerHost: 1000, DialContext: onLoopback}}
	answer := must(s.client.Get(link))
	answer.Body.Close()
	for _, c := range answer.Cookies() {
		s.cookie = c.Name + "=" + c.Value
	}
	return s
}

// onLoopback finds names below localhost on this machine, as browsers do, whatever the resolver makes of them.
func onLoopback(ctx context.Context, network, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
}

// stop ends the server.
func (s *site) stop() {
	s.client.CloseIdleConnections()
	check(s.cmd.Process.Signal(os.Interrupt))
	_ = s.cmd.Wait() // its status is that of an interrupted command
}

// cpu is the processor time of the server so far.
func (s *site) cpu() time.Duration {
	stat := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))))
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	return time.Duration(must(strconv.Atoi(fields[11]))+must(strconv.Atoi(fields[12]))) * 10 * time.Millisecond
}

// get fetches an address.
func (s *site) get(path string, header ...string) (*http.Response, []byte) {
	r := must(http.NewRequestWithContext(s.h.b.Context(), http.MethodGet, s.base+path, nil))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer := must(s.client.Do(r))
	defer answer.Body.Close()
	return answer, must(io.ReadAll(answer.Body))
}

// measurePages fetches pages of many tasks, and one status by the API.
func measurePages(h *harness, t *table) {
	n, turns := sized(1_000, 10_000), 20
	dir := h.graph(n)
	s := h.serve(dir)
	defer s.stop()
	for _, path := range []string{"/", "/tasks", "/graph", "/graph?view=whole", "/inbox"} {
		answer, body := s.get(path)
		if answer.StatusCode != http.StatusOK {
			h.b.Fatalf("%s: %s", path, answer.Status)
		}
		before := s.cpu()
		took := inTurns(turns, here(func() { s.get(path) }))[0].wall
		cpu := (s.cpu() - before) / time.Duration(sized(1, turns+1))
		t.row(fmt.Sprintf("`%s`, %d tasks, by the clock", path, n), show(took), show(cpu)+" of it processor time", "", below(took.Seconds(), 1))
		t.row("its bytes", fmt.Sprintf("%.0f KB", float64(len(body))/1000), "", "", below(float64(len(body)), 300_000))
	}
	if answer, _ := s.get("/api/v1/status"); answer.StatusCode == http.StatusOK {
		costs := inTurns(turns, here(func() { s.get("/api/v1/status") }), func() cost { c, _ := h.alone(dir, h.ralph, "status", "--json"); return c })
		t.row("`/api/v1/status`, by the clock", show(costs[0].wall), show(costs[1].wall)+" `ralph status --json`", times(costs[0].wall, costs[1].wall), "")
	}
}

const (
	openPages = 200
	silent    = 10 // of them never read
)

// measureOpenPages has an agent say 100 lines a second, with and without pages that show it.
func measureOpenPages(h *harness, t *table) {
	lines := sized(200, 1_000)
	dir := h.project(false)
	s := h.serve(dir)
	defer s.stop()
	talk := func() cost {
		h.add(dir, 1)
		c, out := h.alone(dir, h.ralph, "run", "--json", "--no-verify", "--agent", fmt.Sprintf("%s -lines %d", h.agent, lines))
		if !strings.Contains(out, `"outcome":"done"`) {
			h.b.Fatalf("the task is not done: %s", out)
		}
		return c
	}
	var got readings
	server := time.Duration(0)
	costs := inTurns(3, talk, func() cost {
		got = readings{}
		before := s.cpu()
		leave := s.open(&got)
		c := talk()
		got.await(s, lines)
		server = s.cpu() - before
		leave()
		return c
	})
	with := costs[1].cpu
	t.row(fmt.Sprintf("a run with %d lines at 100 a second, %d pages open", lines, openPages), show(with), show(costs[0].cpu)+" without pages", times(with, costs[0].cpu), below(ratio(with, costs[0].cpu), 1.1))
	t.row("the server meanwhile", show(server), "", "", "")
	t.row("pages of the transcript that got every line once", fmt.Sprint(got.whole.Load()), fmt.Sprint(openPages/2-silent, " that read"), "", above(float64(got.whole.Load()), openPages/2-silent))
	t.row("times that pages were fetched again", fmt.Sprint(got.fetched.Load()), fmt.Sprint(openPages-silent, " pages, at most once a second"), "", "")
}

// alone is the cost of a command and of what it waits for, beside a server that stays.
func (h *harness) alone(dir string, args ...string) (cost, string) {
	var out bytes.Buffer
	cmd := exec.CommandContext(h.b.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	begin := time.Now()
	err := cmd.Run()
	took := time.Since(begin)
	if status := cmd.ProcessState.ExitCode(); err != nil && status != limited && status != failed {
		h.b.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out.String())
	}
	return cost{wall: took}.plus(costOf(cmd.ProcessState.SysUsage().(*syscall.Rusage))), out.String()
}

// readings are what open pages saw.
type readings struct {
	fetched, whole atomic.Int64
	mu             sync.Mutex
	texts          []*transcript
}

// transcript is what one page has got of it.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

// await waits until all who read have everything, or nothing more comes for a while.
func (g *readings) await(s *site, lines int) {
	last := fmt.Sprintf("line-%06d", lines-1)
	deadline := time.Now().Add(30 * time.Second)
	for whole := int64(0); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		whole = 0
		g.mu.Lock()
		for _, t := range g.texts {
			t.mu.Lock()
			if text := t.text.String(); strings.Contains(text, last) && strings.Count(text, "line-") == lines {
				whole++
			}
			t.mu.Unlock()
		}
		expected := len(g.texts)
		g.mu.Unlock()
		if g.whole.Store(whole); expected > 0 && whole == int64(expected) {
			return
		}
	}
}

// open opens pages: half show the overview, and fetch it again when they hear of a change, and half the transcript of the next
// attempt; the last of them never read what they asked for.
func (s *site) open(got *readings) (leave func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range openPages / 2 {
		all.Go(func() { s.watch(ctx, "/", got) })
	}
	known := len(s.attempts())
	all.Go(func() {
		for len(s.attempts()) == known {
			if ctx.Err() != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		attempts := s.attempts()
		newest := attempts[0]
		for _, a := range attempts {
			if must(os.Stat(a)).ModTime().After(must(os.Stat(newest)).ModTime()) {
				newest = a
			}
		}
		page := "/attempts/" + filepath.Base(newest)
		path := page + "/live"
		got.mu.Lock()
		defer got.mu.Unlock()
		for range openPages/2 - silent {
			t := &transcript{}
			got.texts = append(got.texts, t)
			all.Go(func() { s.read(ctx, path, t) })
			all.Go(func() { s.watch(ctx, page, got) })
		}
		for range silent {
			s.stare(ctx, path)
		}
	})
	return func() { cancel(); all.Wait() }
}

// attempts are the folders of all attempts.
func (s *site) attempts() []string {
	return must(filepath.Glob(filepath.Join(s.dir, ".ralph", "runs", "*", "a-*")))
}

// watch is a page that fetches itself again when something has changed, at most once a second, and says which change it has heard of.
func (s *site) watch(ctx context.Context, path string, got *readings) {
	tag, state, busy := "", "", time.NewTimer(0)
	s.stream(ctx, "/live", func(line string) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			state = id
		}
		if line != "" || state == "" { // an event ends with an empty line
			return
		}
		select {
		case <-busy.C:
		case <-ctx.Done():
			return
		}
		busy.Reset(time.Second)
		answer, _ := s.get(path, "If-None-Match", tag, "Ralph-State", state)
		tag, state = answer.Header.Get("ETag"), ""
		got.fetched.Add(1)
	})
}

// read is a page with a transcript.
func (s *site) read(ctx context.Context, path string, t *transcript) {
	s.stream(ctx, path, func(line string) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			t.mu.Lock()
			t.text.WriteString(data)
			t.mu.Unlock()
		}
	})
}

func (s *site) stream(ctx context.Context, path string, each func(line string)) {
	r := must(http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil))
	answer, err := s.client.Do(r)
	if err != nil {
		return // the page was closed
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		each(lines.Text())
	}
}

// stare asks for a stream and never reads it.
func (s *site) stare(ctx context.Context, path string) net.Conn {
	conn := must(onLoopback(s.h.b.Context(), "tcp", strings.TrimPrefix(s.base, "http://")))
	check(conn.(*net.TCPConn).SetReadBuffer(4 << 10))
	context.AfterFunc(ctx, func() { conn.Close() })
	must(fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n", path, strings.TrimPrefix(s.base, "http://"), s.cookie))
	return conn
}

// measureFlood has an agent say so much that whoever does not read is too slow.
func measureFlood(h *harness, t *table) {
	dir := h.project(false)
	s := h.serve(dir)
	defer s.stop()
	h.add(dir, 1)
	var run sync.WaitGroup
	run.Go(func() {
		h.alone(dir, h.ralph, "run", "--json", "--no-verify", "--agent", h.agent+" -wait 3s -say 50")
	})
	for len(s.attempts()) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	path := "/attempts/" + filepath.Base(s.attempts()[0]) + "/live"
	ctx, cancel := context.WithCancel(h.b.Context())
	defer cancel()
	var conns []net.Conn
	for range silent {
		conns = append(conns, s.stare(ctx, path))
	}
	run.Wait()
	time.Sleep(15 * time.Second) // the server gives each of them ten
	dropped := 0
	for _, conn := range conns {
		check(conn.SetReadDeadline(time.Now().Add(2 * time.Second)))
		got, err := io.ReadAll(conn)
		// It hung up, or said that this is the end; the others only have nothing more to say.
		if err == nil || !os.IsTimeout(err) || bytes.HasSuffix(got, []byte("\r\n0\r\n\r\n")) {
			dropped++
		}
	}
	t.row("readers of a long transcript that do not read: dropped", fmt.Sprint(dropped), fmt.Sprint(silent, " of them"), "", above(float64(dropped), silent))
}
