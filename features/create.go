package features

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"ralph/dag"
	"ralph/internal/human"
)

// What a step did.
const (
	DidWrite   = "written"
	DidKeep    = "kept" // there was nothing left to do
	DidPropose = "proposed"
	DidApprove = "approved"
)

// BuildStep is the step that makes tasks; the others are kinds of documents.
const BuildStep = "build"

// Step is what one step of planning did, in the shape of docs/json.md.
type Step struct {
	Step     string    `json:"step"`
	Did      string    `json:"did"`
	Path     string    `json:"path"`
	Passes   int       `json:"passes"` // of the review
	Settled  bool      `json:"settled"`
	Findings []string  `json:"findings"` // of the review
	Warnings []Finding `json:"warnings"` // about tasks
	Tasks    []string  `json:"tasks"`
}

func newStep(step, did, path string) Step {
	return Step{Step: step, Did: did, Path: path, Findings: []string{}, Warnings: []Finding{}, Tasks: []string{}}
}

// Next is the command to type after the step.
func (s Step) Next(feature string) string {
	switch {
	case s.Step == string(Spec):
		return "ralph feature plan " + feature
	case s.Step == string(Plan):
		return "ralph feature build " + feature
	case s.Did == DidPropose:
		return "ralph feature approve " + feature
	default:
		return "ralph run --feature " + feature
	}
}

// StepError is why a step did not succeed.
type StepError struct {
	Step    string
	Feature string // empty for tasks of none
	Err     error
}

func (e *StepError) Error() string {
	if e.Feature == "" {
		return fmt.Sprintf("create tasks: %v", e.Err)
	}
	return fmt.Sprintf("feature %s: %v", e.Feature, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// failed says which step an error is about.
func (p *Planner) failed(step string, err error) error {
	if err == nil {
		return nil
	}
	return &StepError{step, p.Name, err}
}

// Create takes a feature from an idea to tasks: it does the steps that are left. It returns
// all of them, and the command to type next.
func (p *Planner) Create(ctx context.Context, r Request) (steps []Step, next string, err error) {
	tasks := 0
	err = p.Store.View(ctx, func(g *dag.Graph) error {
		f, err := g.Feature(p.Name)
		tasks = f.Total()
		return err
	})
	if err != nil {
		return nil, "", err
	}
	for _, kind := range []Kind{Spec, Plan} {
		path := p.Path(kind.File())
		switch {
		case Exists(path) && !p.begun(string(kind)):
			p.Note("%s exists and is kept", path)
			steps = append(steps, newStep(string(kind), DidKeep, path))
			if r.Idea != "" {
				p.Note("--from %s is not used for it", r.From)
			}
		case tasks > 0:
		case kind == Spec && r.Idea == "" && p.Ask == nil && !p.begun(string(kind)):
			return steps, fmt.Sprintf("ralph feature spec %s --from FILE", p.Name), nil
		default:
			step, err := p.Write(ctx, Request{Kind: kind, Idea: r.Idea, From: r.From})
			if errors.Is(err, ErrNothing) {
				return steps, "ralph feature spec " + p.Name, nil
			}
			if err != nil {
				return steps, "", err
			}
			steps = append(steps, step)
		}
		r.Idea, r.From = "", "" // the specification has it now
	}
	step := newStep(BuildStep, DidKeep, p.Path(TasksFile))
	switch {
	case tasks > 0:
		p.Note("feature %s has %s, which are kept", p.Name, human.Count(tasks, "task"))
		return steps, step.Next(p.Name), nil
	case p.Saved():
		if _, err = p.Load(ctx); err == nil {
			p.Note("%s exists and is kept", step.Path)
		}
	default:
		step, err = p.Build(ctx, Wish{})
	}
	return append(steps, step), step.Next(p.Name), err
}

// Kind is a document that an agent helps to write.
type Kind string

// The kinds there are, by the names of their files without .md.
const (
	Spec Kind = "spec"
	Plan Kind = "plan"
)

// File is the name of the document.
func (k Kind) File() string { return string(k) + ".md" }

// what the document is called in a sentence.
func (k Kind) what() string {
	if k == Spec {
		return "specification"
	}
	return "plan"
}

// TasksFile is the graph of a feature as it travels in git.
const TasksFile = "tasks.jsonl"

// MaxDocument is the largest document that is read.
const MaxDocument = 8 << 20

// ErrNoText is a file that is no document.
var ErrNoText = fmt.Errorf("%w: no document", dag.ErrRefused)

// ReadDocument reads a regular file of text. fs.ErrNotExist means that there is none.
func ReadDocument(path string) (string, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return "", cause(err)
	}
	defer root.Close()
	return readIn(root, filepath.Base(path))
}

// readIn does not follow links: what an agent puts in place of a document must be one.
func readIn(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return "", cause(err)
	}
	if err := fits(name, info); err != nil {
		return "", err
	}
	f, err := root.Open(name)
	if err != nil {
		return "", cause(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || fits(name, info) != nil {
		return "", errors.Join(err, fits(name, info))
	}
	return ReadText(f, name)
}

func fits(name string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is not a regular file", ErrNoText, name)
	case info.Size() > MaxDocument:
		return fmt.Errorf("%w: %s has %d MiB; at most %d are read", ErrNoText, name, info.Size()>>20, MaxDocument>>20)
	}
	return nil
}

// ReadText reads a document to its end and refuses what is too large, not text, or
// empty.
func ReadText(r io.Reader, name string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	switch text := string(data); {
	case len(data) > MaxDocument:
		return "", fmt.Errorf("%w: %s has more than %d MiB", ErrNoText, name, MaxDocument>>20)
	case strings.ContainsRune(text, 0), !utf8.ValidString(text):
		return "", fmt.Errorf("%w: %s is not text", ErrNoText, name)
	case strings.TrimSpace(text) == "":
		return "", fmt.Errorf("%w: %s is empty", ErrNoText, name)
	default:
		return text, nil
	}
}

// cause keeps what errors.Is needs and drops the name that os repeats.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", filepath.Base(pe.Path), pe.Err)
	}
	return err
}

// Exists says that something stands at a path, whatever it is.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// fingerprint tells whether a file is still what it was; "" means that there is none.
func fingerprint(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%w: %s is not a regular file", ErrNoText, path)
	}
	data, err := os.ReadFile(path)
	return sum(data), err
}

func sum(data []byte) string {
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:])
}
