package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// TestLiveScripts runs the scripts that do something to a run while it is under way. Their
// folder is a place: script.json says what its agent does, config.toml continues section
// run of its configuration.
func TestLiveScripts(t *testing.T) {
	t.Parallel()
	params := scriptParams("testdata/live")
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		err := setup(env)
		env.Setenv("TERM", "xterm-256color")
		l := &live{&place{TB: env.T().(testing.TB), dir: env.WorkDir, env: env.Vars}, map[string]*running{}}
		texts := map[string]string{"script.json": "{}", "config.toml": ""}
		for name := range texts {
			if l.has(name) {
				texts[name] = l.read(name)
			}
		}
		l.furnish(texts["script.json"], texts["config.toml"])
		l.env = append(l.env, "SIGNALS="+l.ledger) // gates write it, too
		env.Vars, env.Values["live"] = l.env, l
		return err
	}
	for name, act := range liveCommands {
		params.Cmds[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			act(liveCall{ts.Value("live").(*live), ts, neg, args})
		}
	}
	testscript.Run(t, params)
}

// live is the place of a script, and what the script has started in it.
type live struct {
	*place
	started map[string]*running
}

// liveCall is one line of a script.
type liveCall struct {
	*live
	ts   *testscript.TestScript
	neg  bool
	args []string
}

var liveCommands = map[string]func(liveCall){
	// plan TITLE...: plan t-00000001 and so on
	"plan": func(c liveCall) { c.plan(c.args...) },
	// repository: make the project one
	"repository": func(c liveCall) { c.repository() },
	// start NAME [VARIABLE=VALUE...] ARGS...: run ralph in the background
	"start": func(c liveCall) { c.started[c.args[0]] = c.configured().start(c.words()...) },
	// terminal NAME [VARIABLE=VALUE...] ARGS...: run it on a terminal that does not say its size
	"terminal": func(c liveCall) { c.started[c.args[0]] = c.configured().onTerminalOf(unix.Winsize{}, c.words()...) },
	// resize NAME COLUMNS ROWS
	"resize": func(c liveCall) {
		size := unix.Winsize{Col: uint16(c.number(1)), Row: uint16(c.number(2))}
		c.ts.Check(unix.IoctlSetWinsize(int(c.program().master.Fd()), unix.TIOCSWINSZ, &size))
	},
	// silent NAME: wait until the terminal does not show what is typed; ! silent NAME: until it does
	"silent": func(c liveCall) {
		eventually(c, "what is typed is shown or not", func() bool {
			state, err := unix.IoctlGetTermios(int(c.program().master.Fd()), unix.TCGETS)
			c.ts.Check(err)
			return state.Lflag&unix.ECHO != 0 == c.neg
		})
	},
	// signal NAME INT
	"signal": func(c liveCall) { c.program().signal(unix.SignalNum("SIG" + c.args[1])) },
	// orphan NAME: kill it and the helpers between it and its agents, which live on
	"orphan": func(c liveCall) { c.program().killWithHelpers() },
	// address NAME: wait until a server says where it is, and keep that in URL; its link, if it printed one, in LINK
	"address": func(c liveCall) {
		re := regexp.MustCompile(`(?s).*((http://[0-9.:]+)(?:/\?key=\w+)?)[ \r\n]`)
		eventually(c, c.args[0]+" says where it is", func() bool { return re.MatchString(c.text()) })
		found := re.FindStringSubmatch(c.text())
		c.ts.Setenv("LINK", found[1])
		c.ts.Setenv("URL", found[2])
	},
	// age DURATION: make what is stored about runs and attempts older
	"age": func(c liveCall) {
		by, err1 := time.ParseDuration(c.args[0])
		d, err2 := db.Open(c.Context(), filepath.Join(c.dir, ".ralph/progress.db"), db.Options{})
		c.ts.Check(errors.Join(err1, err2))
		defer d.Close()
		c.ts.Check(d.Update(c.Context(), func(tx *db.Tx) error {
			const older = ` SET started_at = started_at - :by, heartbeat_at = heartbeat_at - :by;`
			return errors.Join(tx.Exec("UPDATE runs"+older, ":by", by.Milliseconds()), tx.Exec("UPDATE attempts"+older, ":by", by.Milliseconds()))
		}))
	},
	// ended NAME STATUS: wait for its end and keep its output; ended NAME: with any status
	"ended": func(c liveCall) {
		if len(c.args) == 1 {
			eventually(c, c.args[0]+" ends", c.program().over)
			return
		}
		out := c.program().wait(c.number(1))
		_, err1 := io.WriteString(c.ts.Stdout(), out.stdout)
		_, err2 := io.WriteString(c.ts.Stderr(), out.stderr)
		c.ts.Check(errors.Join(err1, err2))
	},
	// mark NAME: wait until an agent has made that mark; ! mark NAME: none has
	"mark": func(c liveCall) {
		if !c.neg {
			c.awaitMark(c.args[0])
		}
		check.That(c, !c.neg || c.entered("mark")[c.args[0]] == 0, "an agent marked %s", c.args[0])
	},
	// shows NAME REGEXP [TEXT]: wait until what a program wrote matches, and type TEXT
	// shows FILES REGEXP: wait until what is in files matches
	"shows": func(c liveCall) {
		re := regexp.MustCompile(c.args[1])
		defer func() {
			if c.Failed() {
				c.Logf("got:\n%s", c.text())
			}
		}()
		eventually(c, c.args[0]+" shows "+c.args[1], func() bool { return re.MatchString(c.text()) })
		if len(c.args) > 2 {
			c.types(2)
		}
	},
	// type NAME TEXT: type, without looking
	"type": func(c liveCall) { c.types(1) },
	// until REGEXP ARGS...: run ralph until what it prints matches, and keep that
	"until": func(c liveCall) {
		re := regexp.MustCompile(c.args[0])
		var out string
		eventually(c, "it prints "+c.args[0], func() bool {
			out = c.want(0, c.args[1:]...).stdout
			return re.MatchString(out)
		})
		_, err := io.WriteString(c.ts.Stdout(), out)
		c.ts.Check(err)
	},
	// task ID STATUS ATTEMPTS: how a task stands
	"task": func(c liveCall) { c.wantTask(c.args[0], c.args[1], c.number(2)) },
	// interrupted: the first task was given back, and its only attempt is not charged
	"interrupted": func(c liveCall) { c.wantInterrupted() },
	// attempts OUTCOME...: how all of them ended
	"attempts": func(c liveCall) { check.Equal(c, "attempts", c.args, c.ended()) },
	// prompt N REGEXP: the nth prompt of all matches; ! prompt N REGEXP: it does not
	"prompt": func(c liveCall) {
		prompt := c.prompts()[c.number(0)-1]
		check.That(c, regexp.MustCompile(c.args[1]).MatchString(prompt) != c.neg, "got prompt %s:\n%s", c.args[0], prompt)
	},
	// alive N: wait until so many processes of the place live, or more; ! alive: none does
	"alive": func(c liveCall) {
		if c.neg {
			c.wantNothingLeft()
			return
		}
		eventually(c, c.args[0]+" processes live", func() bool { return len(c.processes()) >= c.number(0) })
	},
	// gone: wait until no process of the place lives
	"gone": func(c liveCall) { c.awaitGone() },
	// ! overlap: no two agents had a task at once
	"overlap": func(c liveCall) { c.wantNoOverlap() },
}

func (c liveCall) number(i int) int {
	n, err := strconv.Atoi(c.args[i])
	c.ts.Check(err)
	return n
}

func (c liveCall) program() *running {
	r := c.started[c.args[0]]
	if r == nil {
		c.ts.Fatalf("nothing was started as %s", c.args[0])
	}
	return r
}

// types types an argument on the terminal of a program, with the escapes of a Go string.
func (c liveCall) types(i int) {
	text, err := strconv.Unquote(`"` + c.args[i] + `"`)
	c.ts.Check(err)
	c.program().types(text)
}

var variable = regexp.MustCompile(`^[A-Z_]+=`)

// configured is the place with the variables of a call.
func (c liveCall) configured() *place {
	p := *c.place
	p.env = append(slices.Clone(p.env), slices.DeleteFunc(slices.Clone(c.args[1:]), func(word string) bool { return !variable.MatchString(word) })...)
	return &p
}

// words are the arguments of a call, without its variables.
func (c liveCall) words() []string {
	return slices.DeleteFunc(slices.Clone(c.args[1:]), variable.MatchString)
}

// text is what a program has written, or what is in files.
func (c liveCall) text() string {
	if r := c.started[c.args[0]]; r != nil {
		return r.stdout.String() + r.stderr.String()
	}
	files, err := filepath.Glob(filepath.Join(c.dir, c.args[0]))
	c.ts.Check(err)
	var text strings.Builder
	for _, name := range files {
		data, err := os.ReadFile(name)
		c.ts.Check(err)
		text.Write(data)
	}
	return text.String()
}
