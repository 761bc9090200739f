package report

import (
	"html/template"
	"io"

	"ralph/internal/human"
)

// HTMLByTheBook writes the page with html/template, which knows by itself where what
// must be escaped how.
func HTMLByTheBook(w io.Writer, r Run, o HTMLOptions) error {
	page, err := template.New("page").Funcs(template.FuncMap{
		"css": func(m markup) template.CSS { return template.CSS(m) }, "js": func(m markup) template.JS { return template.JS(m) },
		"svg": func(m markup) template.HTML { return template.HTML(m) }, "line": line, "plural": human.Count, "short": short, "long": long, //nolint:gosec // a test
	}).Parse(pageHTML)
	if err != nil {
		return err
	}
	return page.Execute(w, r.page(o))
}
