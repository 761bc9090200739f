package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
)

// ghStandIn is gh for scripts: it replays answers of GitHub from the folder in FORGE, and remembers there what it was asked. The
// branch itself is in the repository REMOTE. Files that a script may put there:
//
//	trouble  EXIT TEXT: every call fails so; "hangs ARGS": calls with these arguments never end; "loses ARGS": they do what they are
//	         asked, and fail
//	garbage  what every call prints
//	needed   a file without which the check "CI / test" of a commit is red
//	checks, lines, reviews, talk, log, issue5   what gh prints
func ghStandIn() {
	g := ghState{os.Getenv("FORGE"), os.Getenv("REMOTE"), strings.Join(os.Args[1:], " ")}
	in, _ := io.ReadAll(os.Stdin) // there may be none
	log, err := os.OpenFile(filepath.Join(g.dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	fmt.Fprintln(log, g.args)
	kind, text, _ := strings.Cut(strings.TrimSpace(g.file("trouble", "")), " ")
	switch meant := strings.Contains(g.args, text); {
	case kind == "hangs" && meant:
		g.answer(string(in)) // it is done, and nobody is told
		g.write("hanging", "yes")
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, os.Interrupt)
		<-ended
	case kind == "loses" && meant:
		g.answer(string(in))
		fmt.Fprintln(os.Stderr, "connection reset by peer")
		os.Exit(1)
	case kind != "" && kind != "hangs" && kind != "loses":
		fmt.Fprintln(os.Stderr, text)
		os.Exit(int(kind[0] - '0'))
	}
	if garbage := g.file("garbage", ""); garbage != "" {
		fmt.Print(garbage)
		return
	}
	fmt.Print(g.answer(string(in)))
}

type ghState struct{ dir, remote, args string }

func (g ghState) file(name, otherwise string) string {
	data, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return otherwise
	}
	return string(data)
}

func (g ghState) write(name, text string) {
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

func (g ghState) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"--git-dir", g.remote}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}

var numbered = regexp.MustCompile(`repos/([^/ ]+/[^/ ]+)/(\w+)/(\d+)(/\w+)?`)

func (g ghState) answer(in string) string {
	words := append(strings.Fields(g.args), "", "")
	after := func(flag string) string {
		for i, w := range words {
			if w == flag {
				return words[i+1]
			}
		}
		return ""
	}
	switch words[0] + " " + words[1] {
	case "pr list":
		if number := g.file("number", ""); number == "" || after("--head") != g.file("head", "") {
			return "[]\n"
		}
		return "[" + g.pull("baseRefName", g.file("base", "")) + "]\n"
	case "pr create":
		g.write("number", "8")
		g.write("head", after("--head"))
		g.write("base", after("--base"))
		g.write("body", in)
		return g.url() + "\n"
	case "pr view":
		head, _ := g.git("rev-parse", g.file("head", ""))
		return fmt.Sprintf(`{"headRefOid":%q}`+"\n", strings.TrimSpace(g.file("commit", head)))
	case "pr checks":
		if none := g.file("none", ""); none != "" {
			fmt.Fprintf(os.Stderr, "no checks reported on the '%s' branch\n", g.file("head", ""))
			os.Exit(1)
		}
		return g.checks()
	case "run view":
		return g.file("log", "")
	}
	m := numbered.FindStringSubmatch(g.args)
	switch {
	case m == nil:
	case after("--method") == "PATCH":
		g.write("body", in)
		return g.pull("base", map[string]string{"ref": g.file("base", "")})
	case after("--method") == "POST":
		text, _ := json.Marshal(in)
		g.write("issue"+m[3], "["+strings.Trim(strings.TrimSpace(g.file("issue"+m[3], "[]")), "[]")+`{"body":`+string(text)+"}]\n")
		return "{}\n"
	case m[2] == "issues" && m[3] != "8":
		return g.file("issue"+m[3], "[]")
	default:
		return g.file(map[string]string{"pulls/comments": "lines", "pulls/reviews": "reviews", "issues/comments": "talk"}[m[2]+m[4]], "[]")
	}
	fmt.Fprintln(os.Stderr, "unknown command", g.args)
	os.Exit(98)
	return ""
}

func (g ghState) url() string { return "https://github.com/acme/app/pull/8" }

func (g ghState) pull(base string, value any) string {
	text, _ := json.Marshal(map[string]any{"number": 8, "url": g.url(), "html_url": g.url(), "body": g.file("body", ""), base: value, "isCrossRepository": false})
	return string(text)
}

func (g ghState) checks() string {
	needed := strings.TrimSpace(g.file("needed", ""))
	if needed == "" {
		return g.file("checks", `[{"bucket":"pass","link":"https://ci.example.com/1","name":"lint","state":"SUCCESS","workflow":""}]`+"\n")
	}
	bucket := "pass"
	if _, err := g.git("cat-file", "-e", g.file("head", "")+":"+needed); err != nil {
		bucket = "fail"
	}
	return fmt.Sprintf(`[{"bucket":%q,"link":"https://github.com/acme/app/actions/runs/1/job/3","name":"test","state":"","workflow":"CI"}]`+"\n", bucket)
}
