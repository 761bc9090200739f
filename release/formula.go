package main

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed formula.rb.tmpl
var formulaText string

// formula writes the Homebrew formula, which installs the archives of macOS and Linux: all of them, so a part of a release has none.
func (m *maker) formula(f facts) error {
	if m.only != "" {
		return nil
	}
	sums, err := m.sums()
	if err != nil {
		return err
	}
	archive := func(goos, arch string) (string, error) {
		name, err := f.names(target{goos, arch}).fill(m.config.Archive[0].Name)
		name += "." + m.config.Archive[0].format(goos)
		switch {
		case err != nil:
			return "", err
		case sums[name] == "":
			return "", fmt.Errorf("%s has no sum of %s", m.config.Checksum.Name, name)
		}
		return fmt.Sprintf("url %q\n      sha256 %q", m.home+"/releases/download/v"+f.version+"/"+name, sums[name]), nil
	}
	t, err := template.New("").Funcs(template.FuncMap{"archive": archive}).Parse(formulaText)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, map[string]string{"Home": m.home, "Version": f.version}); err != nil {
		return err
	}
	return m.write("ralph.rb", b.String(), 0o644)
}
