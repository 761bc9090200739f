package project

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"ralph/internal/copyfile"
	"ralph/internal/provenance"
)

// Texts are the files of a kind of which it counts who wrote them, as far as they can be read.
func (p Project) Texts(k provenance.Kind) []provenance.Text {
	switch k {
	case provenance.Plans:
		return p.documents("tasks.jsonl", "features/*/tasks.jsonl")
	case provenance.Specs:
		return p.documents("features/*/spec.md")
	case provenance.Settings:
	}
	var all []provenance.Text
	if data, err := copyfile.Read(p.Config(), maxConfig); err == nil {
		all = append(all, provenance.Text{Name: ConfigName, Text: string(data)})
	}
	files, _ := p.PromptFiles()
	for _, f := range files {
		all = append(all, provenance.Text{Name: f.Name, Text: f.Text})
	}
	names, _ := p.TemplateNames()
	for _, name := range names {
		if data, err := p.ReadTemplate(name); err == nil {
			all = append(all, provenance.Text{Name: TemplateFolder + "/" + name, Text: string(data), Exact: true})
		}
	}
	return all
}

const maxPlan = 1 << 30 // no larger one is taken in

// documents are the files below .ralph that match.
func (p Project) documents(patterns ...string) (all []provenance.Text) {
	for _, pattern := range patterns {
		found, _ := fs.Glob(os.DirFS(p.State()), pattern) // one that cannot be read has none
		for _, name := range found {
			if data, err := copyfile.Read(filepath.Join(p.State(), filepath.FromSlash(name)), maxPlan); err == nil {
				all = append(all, provenance.Text{Name: path.Join(".ralph", name), Text: string(data)})
			}
		}
	}
	return all
}
