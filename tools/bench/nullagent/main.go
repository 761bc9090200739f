// Command nullagent is an agent that costs as little as an agent can: it answers the three requests of
// a session and says at once that the task is done.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"time"
)

func main() {
	const chunk = 32 << 10 // as much as it says in one message
	change := flag.String("change", "", "write this file in each turn; TASK in its name is the task's ID")
	wait := flag.Duration("wait", 0, "wait so long in each turn")
	gate := flag.String("gate", "", "read this pipe to its end in each turn")
	say := flag.Int("say", 0, "say so many megabytes in each turn")
	lines := flag.Int("lines", 0, "say so many lines in each turn, 100 a second")
	flag.Parse()
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	task := regexp.MustCompile(`Assigned Task[\s\S]*?(t-[0-9a-f]{8})`)
	update := func(text string) {
		said := map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": text}}
		write(out, map[string]any{"jsonrpc": "2.0", "method": "session/update", "params": map[string]any{"sessionId": "s", "update": said}})
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct{ Prompt []struct{ Text string } }
		}
		check(json.Unmarshal(line, &request))
		result := map[string]any{}
		switch request.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": 1, "agentCapabilities": map[string]any{}}
		case "session/new":
			result = map[string]any{"sessionId": "s"}
		case "session/prompt":
			text := request.Params.Prompt[0].Text
			found := task.FindStringSubmatch(text)
			time.Sleep(*wait)
			if *gate != "" {
				_, err := os.ReadFile(*gate)
				check(err)
			}
			if *change != "" {
				name := *change
				if found != nil {
					name = strings.ReplaceAll(name, "TASK", found[1])
				}
				check(os.WriteFile(name, fmt.Appendln(nil, time.Now().UnixNano()), 0o600))
			}
			for range *say << 20 / chunk {
				update(strings.Repeat("words of a line that is said. \n", chunk/31))
			}
			if *lines > 0 {
				tick := time.NewTicker(10 * time.Millisecond)
				for i := range *lines {
					<-tick.C
					update(fmt.Sprintf("line-%06d of what it says\n", i))
					check(out.Flush())
				}
				tick.Stop()
			}
			if strings.Contains(text, "verify-pass") {
				update("\n<verify-pass/>\n")
			} else if found != nil {
				update("\n<task-done>" + found[1] + "</task-done>\n")
			}
			result = map[string]any{"stopReason": "end_turn", "usage": map[string]any{"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}}
		}
		if request.ID != nil {
			write(out, map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": result})
		}
		check(out.Flush())
	}
}

func write(out *bufio.Writer, message any) { check(json.NewEncoder(out).Encode(message)) }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
