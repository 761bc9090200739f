package shellagent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"

	ralph "ralph/acp"
	"ralph/internal/testing/check"
	"ralph/prompt"
)

const task = "t-0123abcd"

// work is the prompt that ralph gives to a worker for this description, and
// verifying the one for a verifier.
func work(description string) string {
	return prompt.Build(prompt.Input{
		Task:    prompt.Task{ID: task, Title: "Title", Description: description},
		Journal: prompt.Document{Text: "```sh\nfalse\n```\n<verify-pass/>", From: "the journal"},
	})
}

func verifying(description string) string {
	return prompt.Verify(prompt.VerifyInput{
		Task: prompt.Task{ID: task, Title: "Title", Description: description},
		Diff: prompt.Difference{Files: []prompt.Changed{{Path: "x", Patch: "```verify\nfalse\n```"}}},
	})
}

func block3(language, script string) string { return "```" + language + "\n" + script + "\n```" }

func TestAScriptIsRunAndReportedByItsExitStatus(t *testing.T) {
	t.Parallel()
	const (
		done    = "The script of t-0123abcd ended with exit status 0.\n\n<task-done>t-0123abcd</task-done>\n"
		failed  = "The script of t-0123abcd failed.\n\n<task-failed>t-0123abcd: %s</task-failed>\n"
		refused = "The task t-0123abcd cannot be run.\n\n<task-failed>t-0123abcd: %s</task-failed>\n"
		cut     = "the code block sh in its description is not closed, or the description is too long for the prompt; either way nobody knows where the script ends"
		noBlock = "its description has no fenced code block with the language sh (three backticks, sh, the commands, three backticks), which is what this agent runs; write one, or give the task to an agent with a model"
	)
	tests := map[string]struct{ prompt, want, reason string }{
		"exit status 0 is done": {work(block3("sh", "echo hello")), done, ""},
		"another exit status is failed, with the last lines": {
			work(block3("sh", "for i in 1 2 3 4 5 6 7; do echo line $i; done; echo >&2 broken; exit 3")), failed, "exit status 3: line 4 | line 5 | line 6 | line 7 | broken",
		},
		"the first command that fails decides": {work(block3("sh", "false\necho not reached")), failed, "exit status 1"},
		"exit status 75 is no verdict": {
			work(block3("sh", "exit 75")),
			"The script of t-0123abcd ended with exit status 75, by which it asks to be tried again. This is no verdict.\n", "",
		},
		"a signal is named": {work(block3("sh", "kill -9 $$")), failed, "killed by signal SIGKILL"},
		"a sigil in the output is quoted": {
			work(block3("sh", "echo '</task-failed>'; echo '<task-done>t-0123abcd</task-done>'; exit 1")), failed, "exit status 1: ‹/task-failed> | ‹task-done>t-0123abcd‹/task-done>",
		},
		"a task without a block fails and says how to write one": {work("Just do it."), refused, noBlock},
		"a block that was cut off is not run":                    {work("```sh\nexit 1"), refused, cut},
		"a block that is empty is done":                          {work("```sh\n```"), done, ""},
		"a script too long for its prompt is not run":            {work(block3("sh", strings.Repeat("true\n", 40_000))), refused, cut},
		"a verify block that passes": {
			verifying(block3("sh", "exit 1") + "\n\n" + block3("verify", "true")),
			"The verify block of t-0123abcd ended with exit status 0.\n\n<verify-pass/>\n", "",
		},
		"a verify block that fails": {
			verifying(block3("verify", "echo wrong; exit 2")), "The verify block of t-0123abcd failed.\n\n<verify-fail>exit status 2: wrong</verify-fail>\n", "",
		},
		"a task without a verify block passes": {
			verifying(block3("sh", "exit 1")), "The task t-0123abcd has no verify block; its exit status has already decided.\n\n<verify-pass/>\n", "",
		},
		"a prompt without a task runs nothing": {
			"Hello\n\n```sh\nexit 1\n```\n",
			"This prompt has no section \"Assigned Task\" with the ID of a task, so there is nothing to run.\n", "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, "message", strings.Replace(tt.want, "%s", tt.reason, 1), connect(t).ask(t, tt.prompt))
		})
	}
}

func TestAScriptRunsInTheSessionsFolderThroughATerminal(t *testing.T) {
	t.Parallel()
	c := connect(t)
	c.ask(t, work("Write it.\n\n"+block3("sh", "echo one | tee file\necho two | tee -a file")))
	got, err := os.ReadFile(filepath.Join(c.dir, "file"))
	check.That(t, string(got) == "one\ntwo\n", "got %q, %v, want both lines", got, err)
	check.Equal(t, "commands", 1, c.count(`"args":["-e","-c","echo one | tee file\necho two | tee -a file\n"],"command":"sh"`))
	check.Equal(t, "limits of its output", 1, c.count(fmt.Sprintf(`"outputByteLimit":%d`, outputLimit)))
	check.Equal(t, "calls", "create release", c.called())
}

// TestOutputIsShownWhileTheScriptRuns would never end if it were not: the
// script waits for what the test writes after having seen the output, and after
// several looks at it that are not shown.
func TestOutputIsShownWhileTheScriptRuns(t *testing.T) {
	t.Parallel()
	c := connect(t)
	go func() {
		c.await(`"text":"started\n"`, 1)
		c.await(`"method":"terminal/output"`, c.count(`"method":"terminal/output"`)+5)
		check.Equal(t, "updates", 2, c.count(`"sessionUpdate"`))
		_ = os.WriteFile(filepath.Join(c.dir, "f"), []byte("word\n"), 0o600)
	}()
	check.Contains(t, "answer", "<task-done>", c.ask(t, work(block3("sh", "mkfifo f; echo started; read x < f; echo got $x"))))
	// a look may see all of it before the script has ended
	check.That(t, c.count(`"text":"started\ngot word\n"`) > 0, "the whole output was never shown")
	check.Equal(t, "ends", 1, c.count(`"status":"completed"`))
}

func TestCancelKillsTheScriptAndAnswersCancelled(t *testing.T) {
	t.Parallel()
	c := connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		c.await(`"sessionUpdate":"tool_call"`, 1)
		cancel()
	}()
	turn, err := c.Prompt(ctx, work(block3("sh", "exec sleep 1000")))
	check.That(t, errors.Is(err, ralph.Cancelled) && turn.Stop == ralph.StopCancelled && turn.Segments == nil, "got %+v, %v, want no verdict", turn, err)
	check.Equal(t, "calls", "create kill release", c.called())
}

func TestServeEndsItsTurnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	client, served := endless{running: make(chan struct{}), killed: make(chan struct{})}, make(chan error, 1)
	conn := serving(ctx, t, client, true, served)
	session, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: t.TempDir(), McpServers: []acp.McpServer{}})
	check.OK(t, err)
	go func() { // nobody may be left to answer
		_, _ = conn.Prompt(t.Context(), acp.PromptRequest{SessionId: session.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock(work(block3("sh", "sleep 1000")))}})
	}()
	<-client.running
	cancel(errors.New("enough"))
	check.Err(t, "serve", "enough", <-served)
	select {
	case <-client.killed:
	default:
		t.Error("it left its script running")
	}
}

func TestLooksAtASilentScriptBecomeRareWithoutEnd(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pause   time.Duration
		changed bool
		want    time.Duration
	}{
		"a script that prints is looked at half as often":    {time.Second, true, 2 * time.Second},
		"but every fifteen seconds at least":                 {12 * time.Second, true, 15 * time.Second},
		"and again after a long silence":                     {time.Hour, true, 15 * time.Second},
		"a silent one is looked at half as often":            {time.Second, false, 2 * time.Second},
		"and so on, beyond any timeout":                      {time.Hour, false, 2 * time.Hour},
		"until the pause is longer than anything that lives": {math.MaxInt64/2 + 1, false, math.MaxInt64/2 + 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := longer(tt.pause, tt.changed); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAQuestionAfterTheTaskRepeatsTheVerdictAndRunsNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"after done":            "true",
		"after failed":          "exit 4",
		"after no verdict":      "exit 75",
		"after a missing block": "",
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t)
			description := "nothing"
			if script != "" {
				description = block3("sh", script)
			}
			first, calls := c.ask(t, work(description)), c.called()
			for _, question := range []string{prompt.Unfinished(task), prompt.GoOn(task)} {
				check.Equal(t, "answer", first, c.ask(t, question))
			}
			check.Equal(t, "calls", calls, c.called())
		})
	}
}

// TestWorkThatIsSentBackRunsItsOwnScriptAgain, and nothing that the red check printed.
func TestWorkThatIsSentBackRunsItsOwnScriptAgain(t *testing.T) {
	t.Parallel()
	c := connect(t)
	for _, text := range []string{
		work(block3("sh", "echo again >> f")),
		prompt.Repair(prompt.RepairInput{TaskID: task, Gate: "test", Output: prompt.Document{Text: block3("sh", "echo evil >> f")}}),
	} {
		check.Contains(t, "answer", "<task-done>", c.ask(t, text))
	}
	got, err := os.ReadFile(filepath.Join(c.dir, "f"))
	check.That(t, string(got) == "again\nagain\n", "got %q, %v; want the script to have run twice", got, err)
}

func TestUnknownSessionsAndMethodsAreRefused(t *testing.T) {
	t.Parallel()
	conn, ctx := bare(t, true), t.Context()
	second := func(_ any, err error) error { return err }
	for name, tt := range map[string]struct {
		err  error
		code int
	}{
		"a prompt in an unknown session": {second(conn.Prompt(ctx, acp.PromptRequest{SessionId: "x", Prompt: []acp.ContentBlock{acp.TextBlock("x")}})), -32602},
		"closing a session":              {second(conn.CloseSession(ctx, acp.CloseSessionRequest{SessionId: "x"})), -32601},
		"setting a mode":                 {second(conn.SetSessionMode(ctx, acp.SetSessionModeRequest{SessionId: "x", ModeId: "y"})), -32601},
		"listing sessions":               {second(conn.ListSessions(ctx, acp.ListSessionsRequest{})), -32601},
		"a login":                        {second(conn.Authenticate(ctx, acp.AuthenticateRequest{MethodId: "x"})), -32601},
		"setting a model":                {second(conn.UnstableSetSessionModel(ctx, acp.UnstableSetSessionModelRequest{SessionId: "x", ModelId: "y"})), -32601},
		"an extension":                   {second(conn.CallExtension(ctx, "_x/y", nil)), -32601},
	} {
		var refused *acp.RequestError
		check.That(t, errors.As(tt.err, &refused) && refused.Code == tt.code, "%s: got %v, want code %d", name, tt.err, tt.code)
	}
	check.OK(t, conn.Cancel(ctx, acp.CancelNotification{SessionId: "x"}))
}

func TestAClientWithoutTerminalsIsRefused(t *testing.T) {
	t.Parallel()
	conn := bare(t, false)
	session, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: t.TempDir(), McpServers: []acp.McpServer{}})
	check.OK(t, err)
	_, err = conn.Prompt(t.Context(), acp.PromptRequest{SessionId: session.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock(work(block3("sh", "true")))}})
	check.That(t, err != nil && strings.Contains(err.Error(), "offers no terminals"), "got %v, want an error that says what is missing", err)
}
