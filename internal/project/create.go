package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ralph/internal/atomicfile"
)

// Found is what `ralph init` detected or was told; empty means nothing.
type Found struct {
	Agent   string   // a known agent's name
	Command string   // that starts an agent, if it has no name
	Model   string   // the one that it is to use for everything; empty leaves it to the agent
	Gates   []string // commands
}

// ignore keeps everything below .ralph out of git, except what travels with it.
const ignore = `# Written by ralph init: state stays here; plans, knowledge, templates and prompts travel.
*
!.gitignore
` + admitted + temporary

// admitted are the lines that let what travels pass. Projects of older versions lack some.
const admitted = `!tasks.jsonl
!features/
!features/**
!knowledge/
!knowledge/**
!templates/
!templates/**
!prompts/
!prompts/**
`

// temporary are the files that atomicfile renames once they are complete: a killed process leaves them where files travel. The last
// rule that matches counts, so this one follows the others.
const temporary = ".tmp-*\n"

// Create makes dir a project and returns the files it wrote. What exists is left
// as it is, so that creating twice changes nothing.
func Create(dir string, found Found) (Project, []string, error) {
	p := Project{Root: dir}
	if err := isProject(dir); err != nil && !errors.Is(err, ErrNone) {
		return p, nil, err
	}
	for _, folder := range []string{p.State(), p.Features(), filepath.Join(p.State(), "knowledge")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return p, nil, err
		}
	}
	var written []string
	for _, file := range []struct{ path, text string }{
		{p.ignoreFile(), ignore},
		{p.Config(), configText(found)}, // last: it is what makes the folder a project
	} {
		made, err := writeNew(file.path, file.text)
		if err != nil {
			return p, written, err
		}
		if made {
			written = append(written, file.path)
		}
	}
	return p, written, nil
}

func (p Project) ignoreFile() string { return filepath.Join(p.State(), ".gitignore") }

// Admit adds the lines that the ignore rules of an older version lack, so that git carries what it did not know of and leaves out what
// killed processes left, and says whether any were missing. Rules that a person wrote instead are left as they are.
func (p Project) Admit() (changed bool, err error) {
	text, missing, err := p.unadmitted()
	if err != nil || missing == "" {
		return false, err
	}
	return true, atomicfile.Replace(p.ignoreFile(), []byte(text+missing))
}

// Unadmitted lists what the ignore rules of an older version do not speak of.
func (p Project) Unadmitted() []string {
	_, missing, _ := p.unadmitted() // a file that cannot be read ignores nothing
	return strings.Fields(strings.ReplaceAll(missing, "!", ""))
}

func (p Project) unadmitted() (text, missing string, err error) {
	data, err := os.ReadFile(p.ignoreFile())
	text = string(data)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !strings.Contains("\n"+text, "\n*\n") {
		return text, "", nil
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for line := range strings.Lines(admitted) {
		if !strings.Contains("\n"+text, "\n"+line) {
			missing += line
		}
	}
	if missing != "" || !strings.Contains("\n"+text, "\n"+temporary) {
		missing += temporary
	}
	return text, missing, err
}

// Ignore makes sure that the state of a project stays out of git, also if nobody
// ran init: a .ralph.toml may have been written by hand.
func (p Project) Ignore() error {
	if err := os.MkdirAll(p.State(), 0o700); err != nil {
		return err
	}
	_, err := writeNew(p.ignoreFile(), ignore)
	return err
}

func writeNew(path, text string) (bool, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // half of it would be taken for all of it the next time
		return false, err
	}
	return true, nil
}

// configText is at most six lines: what somebody chose, or how to.
func configText(found Found) string {
	agent, gates, models := `# agent = "claude"`, `# gates = ["make test"]`, ""
	if use := cmp.Or(found.Agent, found.Command); use != "" {
		agent = "agent = " + tomlText(use)
	}
	if len(found.Gates) > 0 {
		gates = "gates = " + tomlText(found.Gates)
	}
	if model := tomlText(found.Model); found.Model != "" {
		models = fmt.Sprintf("\n[agents.%s]\nmodels = { opus = %s, sonnet = %s, haiku = %s }\n", tomlKey(found.Agent), model, model, model)
	}
	return "# every key: ralph config show; to set one: ralph config set KEY VALUE\n" + agent + "\n" + gates + "\n" + models
}
