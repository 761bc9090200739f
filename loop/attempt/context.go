package attempt

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"ralph/prompt"
	"ralph/verify"
)

// contextTime is how long one command for the prompt may run: an agent waits for it.
const contextTime = time.Minute

// printed runs the commands whose fresh output the task wants in its prompt, as gates are run, and keeps all of it in a file. One that
// fails is no reason not to begin: what it says may be why the task is there. Of a slot, the room shows what the agent finds in it.
func (a *attempt) printed(ctx context.Context) (list []prompt.Printed) {
	if len(a.job.Task.Context) == 0 {
		return nil
	}
	state, _ := a.ports.Lane.Shown()
	unshown := a.ports.Lane.Show(ctx, state.Head)
	runner := a.runner()
	runner.Owner, runner.Redact, runner.Timeout = a.job.Run.Owner, a.Redact, contextTime
	log := io.Discard
	if f, err := os.OpenFile(filepath.Join(a.job.Place.Folder, "context.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		defer f.Close()
		log = f
	}
	for _, command := range a.job.Task.Context {
		_, _ = io.WriteString(log, "$ "+a.Redact.Text(command)+"\n") // the prompt has it, too
		res, err := verify.Result{}, unshown
		if err == nil {
			res, err = runner.Run(ctx, command, log)
		}
		text := res.Tail
		switch {
		case err != nil:
			text = "(it could not be run: " + err.Error() + ")"
		case !res.Passed:
			text = "(" + res.Exit + ")\n" + text
		case text == "":
			text = "(nothing)"
		}
		list = append(list, prompt.Printed{Command: command, Text: text})
	}
	return list
}
