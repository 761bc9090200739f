package template

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/copyfile"
	"ralph/internal/project"
)

// Source is where a template comes from.
type Source string

// The sources, from the one that counts least.
const (
	BuiltIn Source = "built in"
	User    Source = "user"
	Project Source = "project"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Library finds templates by name. Those of the project hide those of the user, which hide those that are built in.
type Library struct {
	Root string // of the project
	User string // the user's folder; "" for none
}

// File is a template that was found. Err says why it cannot be used.
type File struct {
	Name     string
	Source   Source
	Path     string // "" if it is built in
	Text     []byte
	Template Template
	Err      error
}

// NameError says that no template can have such a name.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("no template is called %q: a name has letters, digits, - and _, at most 64", cut(e.Name))
}

// CheckName refuses what is no name, such as a path.
func CheckName(name string) error {
	if !nameForm.Get().MatchString(name) {
		return &NameError{name}
	}
	return nil
}

// List returns every template that has a name of its own, sorted by name. A file that cannot be used is among them. The error
// is that of a folder that cannot be read.
func (l Library) List() ([]File, error) {
	found := map[string]File{}
	var errs []error
	for _, source := range []Source{BuiltIn, User, Project} {
		names, err := l.names(source)
		if errs = append(errs, err); err != nil {
			continue
		}
		for _, name := range names {
			found[strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml")] = l.read(source, name)
		}
	}
	var list []File
	for name, f := range found {
		if CheckName(name) == nil {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return list, errors.Join(errs...)
}

// Find returns the template of a name, checked. A missing one is a dag.MissingError.
func (l Library) Find(name string) (File, error) {
	if err := CheckName(name); err != nil {
		return File{}, err
	}
	for _, source := range []Source{Project, User, BuiltIn} {
		names, err := l.names(source)
		if err != nil {
			return File{}, err
		}
		for _, file := range []string{name + ".yaml", name + ".yml"} {
			if slices.Contains(names, file) {
				f := l.read(source, file)
				return f, f.Err
			}
		}
	}
	list, _ := l.List() // what cannot be read was an error above
	missing := &dag.MissingError{Kind: "template", Typed: name}
	for _, f := range list {
		missing.Known = append(missing.Known, f.Name)
	}
	return File{}, missing
}

// names are the files of a folder that can be templates.
func (l Library) names(source Source) (names []string, err error) {
	var entries []fs.DirEntry
	switch source {
	case BuiltIn:
		entries, err = builtin.ReadDir("builtin")
		names = project.Templates(entries)
	case User:
		if l.User == "" {
			return nil, nil
		}
		entries, err = os.ReadDir(l.User)
		names = project.Templates(entries)
	case Project:
		names, err = project.Project{Root: l.Root}.TemplateNames()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: templates of the %s: %w", dag.ErrRefused, source, err)
	}
	return names, nil
}

// read reads and checks one file.
func (l Library) read(source Source, name string) (f File) {
	f = File{Name: strings.TrimSuffix(name, filepath.Ext(name)), Source: source}
	switch source {
	case BuiltIn:
		f.Text, f.Err = builtin.ReadFile(path.Join("builtin", name))
	case User: // they are the user's own, who may keep them elsewhere and link them
		f.Path = filepath.Join(l.User, name)
		f.Text, f.Err = copyfile.Read(f.Path, project.MaxTemplate)
	case Project:
		f.Path = filepath.Join(l.Root, filepath.FromSlash(project.TemplateFolder), name)
		f.Text, f.Err = project.Project{Root: l.Root}.ReadTemplate(name)
	}
	if f.Err != nil {
		f.Err = fmt.Errorf("template %s: %w: %w", cmp.Or(f.Path, f.Name), dag.ErrRefused, f.Err)
		return f
	}
	if f.Template, f.Err = Parse(f.Text); f.Err == nil && f.Template.Name != "" && f.Template.Name != f.Name {
		f.Err = fmt.Errorf("%w: its name is %s, but the file is called %s", dag.ErrRefused, cut(f.Template.Name), name)
	}
	if f.Template.Name = f.Name; f.Err != nil {
		f.Err = fmt.Errorf("template %s: %w", cmp.Or(f.Path, f.Name), f.Err)
	}
	return f
}

//go:embed starter.yaml
var starter string

// Create writes a template for a person to change, and returns its path. What exists is not replaced.
func (l Library) Create(name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	names, err := l.names(Project)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(l.Root, filepath.FromSlash(project.TemplateFolder))
	for _, file := range []string{name + ".yaml", name + ".yml"} {
		if slices.Contains(names, file) {
			return "", fmt.Errorf("%w: %s exists", dag.ErrRefused, filepath.Join(dir, file))
		}
	}
	root, err := os.OpenRoot(l.Root)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := root.MkdirAll(project.TemplateFolder, 0o755); err != nil {
		return "", fmt.Errorf("%w: %w", dag.ErrRefused, err)
	}
	path := filepath.Join(dir, name+".yaml")
	return path, atomicfile.Write(path, []byte(strings.Replace(starter, "name: NAME", "name: "+name, 1)))
}
