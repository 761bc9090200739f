package inbox

import (
	"encoding/json"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/human"
)

// The answers to a request to change files that check the work.
const (
	Allow  = "allow"
	Refuse = "refuse"
)

// changeDetail is what a request to change files is about.
type changeDetail struct {
	Files []string `json:"files"` // globs
}

// NewChange asks whether a task may change files that check its work. What nobody answers is refused.
func NewChange(globs []string, why string) Request {
	if stored, err := dag.CleanMayChange(globs); err == nil { // a person reads what is stored; what cannot be stored is refused by Ask
		globs = stored
	}
	detail, _ := json.Marshal(changeDetail{globs}) // which always can be
	return Request{
		Kind: Change, Text: changeText(globs) + "\n" + why, Detail: string(detail), Options: []string{Allow, Refuse}, Default: Refuse, Parks: true,
	}
}

func changeText(globs []string) string {
	return "May the task change these files, which check its work: " + strings.Join(globs, ", ") + "?"
}

const maxChangeText = 4 << 10 // what a person has to see is not cut

func checkChange(globs []string) error {
	err := dag.CheckMayChange(globs)
	if err == nil && (len(globs) == 0 || len(changeText(globs)) > maxChangeText) {
		err = fmt.Errorf("%w: name between one file and %s of them", dag.ErrRefused, human.Bytes(maxChangeText))
	}
	return err
}

// Files are the globs that a request to change files is about.
func (r Request) Files() []string {
	var detail changeDetail
	if r.Kind == Change {
		_ = json.Unmarshal([]byte(r.Detail), &detail) // what cannot be read names nothing
	}
	return detail.Files
}

// allows says that a person let the task change the files.
func (r Request) allows() bool {
	return r.Kind == Change && r.Granted() && strings.EqualFold(strings.TrimSpace(r.Answer), Allow)
}

// allowChange lets the task change the files that the text of the request names: an agent that can write the database must not have it
// show others.
func allowChange(g *dag.Graph, r Request) error {
	files := r.Files()
	if err := checkChange(files); err != nil {
		return err
	}
	if !strings.HasPrefix(r.Text, g.Redact(changeText(files))) {
		return fmt.Errorf("%w: %s does not show all of the files that it is about", dag.ErrRefused, r.ID)
	}
	return g.Plan.AllowChange(r.Task, files)
}
