package project

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ralph/internal/copyfile"
)

// TemplateFolder is where the templates of a project are, from its root.
const TemplateFolder = ".ralph/templates"

// MaxTemplate is how many bytes a template has at most.
const MaxTemplate = 256 << 10

// maxTemplates is how many files of a folder are looked at.
const maxTemplates = 1000

// TemplateNames lists the files that can be templates. Their folder must not lead out of the project.
func (p Project) TemplateNames() ([]string, error) {
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := root.Open(TemplateFolder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	return Templates(entries), err
}

// Templates are the files of a folder that can be templates.
func Templates(entries []fs.DirEntry) (names []string) {
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names) // the same ones are looked at each time
	return names[:min(len(names), maxTemplates)]
}

// ReadTemplate reads a file that an agent or a branch of somebody else may have put there.
func (p Project) ReadTemplate(name string) ([]byte, error) {
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, _, err := copyfile.Open(root, TemplateFolder+"/"+name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxTemplate+1))
	if err == nil && len(data) > MaxTemplate {
		err = fmt.Errorf("it has more than %d KiB", MaxTemplate>>10)
	}
	return data, err
}
