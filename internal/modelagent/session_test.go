package modelagent

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"

	ralph "ralph/acp"
	"ralph/internal/testing/check"
)

// mute is a client that hears everything and can be asked nothing.
type mute struct{ acp.Client }

func (mute) SessionUpdate(context.Context, acp.SessionNotification) error { return nil }

func (mute) RequestPermission(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return acp.RequestPermissionResponse{}, acp.NewMethodNotFound(acp.ClientMethodSessionRequestPermission)
}

// bare serves a client of the SDK in this process, for what ralph's own never does, and opens a session.
func (m *model) bare(change func(*Options)) (*acp.ClientSideConnection, acp.SessionId, string) {
	m.t.Helper()
	t := m.t
	o := Options{Provider: distant(m.url), State: m.state, Environ: os.Environ(), Pick: pickOffered}
	if change != nil {
		change(&o)
	}
	fromClient, toAgent := io.Pipe()
	fromAgent, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- Serve(context.WithoutCancel(t.Context()), fromClient, toClient, o) }()
	conn := acp.NewClientSideConnection(mute{}, toAgent, fromAgent)
	t.Cleanup(func() {
		_ = toAgent.Close()
		check.OK(t, <-served)
		_ = toClient.Close()
		<-conn.Done()
	})
	_, err := conn.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber})
	check.OK(t, err)
	dir := t.TempDir()
	s, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	check.OK(t, err)
	return conn, s.SessionId, dir
}

func ask1(t *testing.T, conn *acp.ClientSideConnection, id acp.SessionId, blocks ...acp.ContentBlock) acp.PromptResponse {
	t.Helper()
	answer, err := conn.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: blocks})
	check.OK(t, err)
	return answer
}

func set(t *testing.T, conn *acp.ClientSideConnection, id acp.SessionId, option, value string) error {
	t.Helper()
	_, err := conn.SetSessionConfigOption(t.Context(), acp.SetSessionConfigOptionRequest{ValueId: &acp.SetSessionConfigOptionValueId{
		SessionId: id, ConfigId: acp.SessionConfigId(option), Value: acp.SessionConfigValueId(value),
	}})
	return err
}

func TestOptionsCountFromTheNextRequestOn(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder())
	conn, id, _ := m.bare(func(o *Options) { o.Effort = High })
	ask1(t, conn, id, acp.TextBlock("Go."))
	check.OK(t, set(t, conn, id, "effort", "low"))
	check.OK(t, set(t, conn, id, "model", "haiku"))
	ask1(t, conn, id, acp.TextBlock("Go."))
	check.OK(t, set(t, conn, id, "effort", "default"))
	_, err := conn.UnstableSetSessionModel(t.Context(), acp.UnstableSetSessionModelRequest{SessionId: id, ModelId: "sonnet"})
	check.OK(t, err)
	ask1(t, conn, id, acp.TextBlock("Go."))
	var got []string
	for _, r := range m.asked() {
		got = append(got, r.Model+" "+string(r.Effort))
	}
	check.Equal(t, "asked", []string{"sonnet high", "haiku low", "sonnet "}, got)
	for option, value := range map[string]string{"model": "opus", "effort": "utmost", "colour": "red"} {
		check.Err(t, option, "cannot be "+value, set(t, conn, id, option, value))
		check.Err(t, option, "-32602", set(t, conn, id, option, value))
	}
	check.Err(t, "session", "unknown session", set(t, conn, "s-other", "effort", "low"))
}

func TestAPromptOfSeveralPartsIsOneText(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder())
	conn, id, _ := m.bare(nil)
	ask1(t, conn, id, acp.TextBlock("Look:"), acp.ResourceLinkBlock("notes", "file:///notes.md"))
	_, err := conn.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(" ")}})
	check.Err(t, "an empty prompt", "the prompt has no text", err)
	check.Equal(t, "prompt", "Look:\n\nnotes: file:///notes.md", textOf(m.asked()[0].Messages[0]))
}

func TestNothingIsDoneThatNobodyAllowed(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder(calls("bash", bash("echo > made"))))
	conn, id, dir := m.bare(nil)
	ask1(t, conn, id, acp.TextBlock("Go."))
	check.Contains(t, "result", "denied: the client did not answer", results(m.asked()[1])[0])
	_, err := os.Stat(filepath.Join(dir, "made"))
	check.That(t, err != nil, "the command ran")
}

func TestALoadedSessionGoesOn(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder(calls("bash", bash("echo hello")), says("First.")))
	c, err := m.connect(func(c *ralph.Config) { c.Model = "haiku" })
	check.OK(t, err)
	c.ask(t, "Say hello.")
	session, dir := c.ID(), c.dir
	check.OK(t, c.Close())
	resume := func(session, dir string) *client {
		c, err := m.connect(func(c *ralph.Config) { c.Resume, c.Dir = &ralph.Earlier{Session: session}, dir })
		check.OK(t, err)
		return c
	}
	c = resume(session, dir)
	check.That(t, c.About().Resumed, "the session was not resumed")
	for _, want := range []string{`"user_message_chunk"`, "Say hello.", `"tool_call"`, `"status":"completed"`, `"agent_message_chunk"`, "First."} {
		check.Contains(t, "replay", want, c.heard())
	}
	c.ask(t, "And now?")
	asked := m.asked()
	last := asked[len(asked)-1]
	check.Equal(t, "model", "haiku", last.Model)
	check.Equal(t, "messages", 5, len(last.Messages))
	check.Equal(t, "changes", 0, changes(t, asked))
	_, _, err = openConversation(m.state, session)
	check.Err(t, "twice", "another agent goes on with this session; end that one first", err)
	check.That(t, !resume(session, dir).About().Resumed, "two agents continue a session")
	check.OK(t, c.Close())
	check.That(t, !resume(session, t.TempDir()).About().Resumed, "a session was continued in another folder")
	check.That(t, !resume("../"+session, dir).About().Resumed, "a session outside of the folder was continued")
	info, err := os.Stat(conversationFile(m.state, session))
	check.OK(t, err)
	check.Equal(t, "permissions", os.FileMode(0o600), info.Mode().Perm())
}

func TestASecondTurnIsRefused(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	m := perform(t, func(int, Request) said {
		close(entered)
		<-leave
		return says("ok")
	})
	conn, id, _ := m.bare(nil)
	done := make(chan struct{})
	go func() {
		check.Equal(t, "first turn", acp.StopReasonEndTurn, ask1(t, conn, id, acp.TextBlock("Go.")).StopReason)
		close(done)
	}()
	<-entered
	_, err := conn.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock("Me too.")}})
	check.Err(t, "second prompt", "already has a turn", err)
	close(leave)
	<-done
}

func TestTheModelIsToldWhereItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := exec.CommandContext(t.Context(), "git", "init", "-q", "-b", "trunk", dir)
	check.OK(t, git.Run())
	prompt := func() string {
		return systemPrompt(t.Context(), dir, os.Environ(), time.Date(2026, 11, 17, 0, 0, 0, 0, time.UTC))
	}
	for _, want := range []string{"Folder: " + dir, "Date: 2026-11-17", "Git branch: trunk"} {
		check.Contains(t, "prompt", want, prompt())
	}
	write := func(name, text string) { check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	write("AGENTS.md", "Use tabs.\n")
	write("CLAUDE.md", "Use tabs.")
	check.Equal(t, "a copy", 1, strings.Count(prompt(), "Use tabs."))
	write("CLAUDE.md", "Begin."+strings.Repeat("é", 30_000)+"End.")
	got := prompt()
	check.That(t, strings.Contains(got, "Begin.") && strings.Contains(got, "End.") && strings.Count(got, "é") < instructionLimit, "a long file is not shortened")
	check.OK(t, os.Remove(filepath.Join(dir, "CLAUDE.md")))
	outside := filepath.Join(t.TempDir(), "secret")
	check.OK(t, os.WriteFile(outside, []byte("secret words"), 0o600))
	check.OK(t, os.Symlink(outside, filepath.Join(dir, "CLAUDE.md")))
	check.That(t, !strings.Contains(prompt(), "secret words"), "a link leads out of the project")
}

func TestAFullDiskEndsTheTurnAndNothingElse(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer func() { _ = full.Close() }()
	dir := t.TempDir()
	c, err := createConversation(dir, "s", record{Kind: headRecord})
	check.OK(t, err)
	defer c.close()
	m := userText("Go.")
	good := c.file
	c.file = full
	check.Err(t, "add", "no space left on device; if the disk is full, make room", c.add(record{Kind: messageRecord, Message: &m}))
	c.file = good
	check.Equal(t, "messages", 0, len(c.state.messages))
	check.OK(t, c.add(record{Kind: messageRecord, Message: &m}))
	c.close()
	again, _, err := openConversation(dir, "s")
	check.OK(t, err)
	defer again.close()
	check.Equal(t, "messages", c.state.messages, again.state.messages)
}
