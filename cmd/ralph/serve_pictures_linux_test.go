package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/browser"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/testing/golden"
)

// pictured are the pictures of docs/serve.md: a page, and how wide and high the screen is.
var pictured = []struct {
	name, path    string
	width, height int
}{
	{"overview-1280", "/", 1280, 900},
	{"task-1280", "/tasks/" + number(5), 1280, 800},
	{"graph-1280", "/graph", 1280, 640},
	{"attempt-1280", "", 1280, 800},
	{"inbox-1280", "/inbox", 1280, 560},
	{"overview-390", "/", 390, 844},
	{"inbox-390", "/inbox", 390, 844},
}

// TestThePicturesOfPagesAreThere wants those that docs/serve.md shows, each small. With -update and a browser in RALPH_CHROMIUM
// they are taken again: just pictures.
func TestThePicturesOfPagesAreThere(t *testing.T) {
	if golden.Updating() && os.Getenv(browser.Env) != "" {
		takePictures(t)
	}
	docs := repoFile(t, "docs/serve.md")
	for _, p := range pictured {
		data := repoFile(t, "docs/pictures/"+p.name+".png")
		check.That(t, len(data) < 150_000, "%s has %d bytes", p.name, len(data))
		check.Contains(t, "docs/serve.md", "(pictures/"+p.name+".png)", docs)
	}
}

func takePictures(t *testing.T) {
	p := shopPlace(t)
	p.start("run", "--in-place")
	p.awaitMark("at work")
	s, link := p.serves()
	ctx := browser.Start(t)
	attempt := ""
	for _, e := range p.events() {
		if e.Task == number(3) && e.Attempt != "" {
			attempt = "/attempts/" + e.Attempt
		}
	}
	for i, shown := range pictured {
		tab := browser.Open(ctx, t, shown.width, "light")
		if i == 0 {
			tab.Go(link)
			tab.Await(`location.pathname === "/" && document.querySelector("main")`)
		}
		tab.Go(s.base + cmp.Or(shown.path, attempt))
		tab.Shoot(shown.width, shown.height, filepath.Join("..", "..", "docs", "pictures", shown.name+".png"))
		tab.Close()
	}
	p.write("go", "")
	s.stop()
	p.awaitGone()
}

// shopPlace is a shop in the middle of a run.
func shopPlace(t *testing.T) *place {
	dir := filepath.Join(t.TempDir(), "shop")
	check.OK(t, os.Mkdir(dir, 0o700))
	cost := 0.42
	usage := step{Do: "usage", N: 41_000, Cost: &cost}
	says := func(text string) step { return step{Do: "say", Text: text + "\n"} }
	tool := func(title, out string) step {
		return step{Do: "tool", ID: title, Text: title, Kind: "execute", Status: "completed", Data: json.RawMessage(fmt.Sprintf("%q", out))}
	}
	when := func(n int) fakeagent.When { return fakeagent.When{Task: number(n)} }
	p := placeIn(t, dir, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: when(1), Steps: []step{usage, {Do: "file", Path: "schema.sql", Text: "CREATE TABLE orders (id INTEGER);\n"}, saysDone()}},
		{When: when(4), Steps: []step{
			usage, says("Lists are paged nowhere else yet."),
			{Do: "mcp", Method: "ask", Params: json.RawMessage(`{"question":"GET /orders can return thousands of rows. Shall it have pages of 50, as the catalogue will, or a cursor, which stays right while orders come in?","options":["Pages of 50","A cursor"]}`)},
			says("I wait for an answer."),
		}},
		{When: when(5), Steps: []step{usage, says("<task-failed>{{task}}: the payment sandbox answers 503 to every request since 02:10</task-failed>")}},
		{When: when(3), Steps: []step{
			usage, says("I read the schema first, then write the handler and its tests."),
			tool("cat schema.sql", "CREATE TABLE orders (id INTEGER);"),
			{Do: "think", Text: "An order without items makes no sense, so the handler refuses it."},
			{Do: "file", Path: "orders.go", Text: "package shop\n"},
			tool("go test ./orders", "ok  shop/orders  0.21s"),
			says("The handler stores orders and refuses empty ones. Next are the tests for prices that changed in between."),
			{Do: "mark", Text: "at work"},
			{Do: "await", Path: "go"},
			saysDone(),
		}},
	}}, "max_attempts = 1", "keep_going = true")
	p.repository()
	p.imports(strings.Join([]string{
		`{"ref":"t-00000001","title":"Design the order schema","feature":"checkout"}`,
		`{"ref":"t-00000002","title":"Order API","feature":"checkout","after":["t-00000001"]}`,
		`{"ref":"t-00000005","title":"Charge the card","feature":"checkout","description":"Charge the card when an order is placed, once, also when the bank answers late.","gates":["go test ./payment"],"after":["t-00000001"],"priority":-2}`,
		`{"ref":"t-00000004","title":"GET /orders","parent":"t-00000002","priority":-1}`,
		`{"ref":"t-00000003","title":"POST /orders","parent":"t-00000002"}`,
		`{"ref":"t-00000006","title":"Checkout page","feature":"checkout","after":["t-00000002","t-00000005"]}`,
		`{"ref":"t-00000007","title":"Send the receipt","feature":"checkout","after":["t-00000006"]}`,
	}, "\n") + "\n")
	return p
}
