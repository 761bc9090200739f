package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// mark is what names the instance in the description of its task.
const mark = "Replay of "

var (
	markedID = regexp.MustCompile(regexp.QuoteMeta(mark) + `([\w.-]+)`)
	taskID   = regexp.MustCompile(`<task-done>(t-[0-9a-f]+)</task-done>`)
)

// agent speaks ACP: in each turn it applies the recorded change of the instance that the prompt names, commits it, and says
// that the task is done.
func agent(ctx context.Context, corpus, patch string, stdin io.Reader, stdout io.Writer) error {
	in, out, folders := bufio.NewReader(stdin), json.NewEncoder(stdout), map[string]string{}
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Cwd       string
				SessionID string
				Prompt    []struct{ Text string }
			}
		}
		if err := json.Unmarshal(line, &request); err != nil {
			return err
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": request.ID}
		switch request.Method {
		case "initialize":
			answer["result"] = map[string]any{"protocolVersion": 1, "agentCapabilities": map[string]any{}}
		case "session/new":
			name := fmt.Sprintf("s%d", len(folders)+1)
			folders[name] = request.Params.Cwd
			answer["result"] = map[string]any{"sessionId": name}
		case "session/prompt":
			var prompt strings.Builder
			for _, block := range request.Params.Prompt {
				prompt.WriteString(block.Text)
			}
			says := work(ctx, corpus, patch, folders[request.Params.SessionID], prompt.String())
			said := map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": says}}
			params := map[string]any{"sessionId": request.Params.SessionID, "update": said}
			if err := out.Encode(map[string]any{"jsonrpc": "2.0", "method": "session/update", "params": params}); err != nil {
				return err
			}
			answer["result"] = map[string]any{"stopReason": "end_turn"}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "not known: " + request.Method}
		}
		if request.ID == nil {
			continue
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
}

// work applies a change and returns what the agent says. A later prompt of the same attempt finds the change in the folder.
func work(ctx context.Context, corpus, patch, dir, prompt string) string {
	task, done := "?", ""
	if found := taskID.FindStringSubmatch(prompt); found != nil {
		task = found[1]
	}
	done = "\n<task-done>" + task + "</task-done>\n"
	found := markedID.FindStringSubmatch(prompt)
	if found == nil {
		return "There is nothing more that I can change." + done
	}
	i, err := readInstance(corpus, found[1])
	if err == nil {
		in := command{dir: dir, stdin: changes[patch](i)}
		if _, err := in.git(ctx, "apply", "--reverse", "--check", "-"); err == nil {
			return "It is done already." + done
		}
		_, err = in.git(ctx, "apply", "--whitespace=nowarn", "-")
	}
	if err == nil {
		_, err = command{dir: dir}.git(ctx, "add", "-A")
	}
	if err == nil {
		_, err = command{dir: dir}.git(ctx, "commit", "-qm", "Make the change")
	}
	if err != nil {
		return "<task-failed>" + task + ": " + strings.Join(strings.Fields(err.Error()), " ") + "</task-failed>\n"
	}
	return "I made the change and committed it." + done
}
