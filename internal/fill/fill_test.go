package fill_test

import (
	"strings"
	"testing"
	"text/template"

	"ralph/internal/fill"
)

type inner struct {
	Name string
	N    int
}

func (i *inner) String() string { return "<" + i.Name + ">" }

type outer struct {
	inner
	Title   string
	Empty   string
	On      bool
	Some    *inner
	None    *inner
	List    []inner
	Nothing []string
	Words   []string
}

func plural(n int, word string) string { return strings.Repeat(word, n) }

// TestTheSameAsTextTemplate fills each text with both.
func TestTheSameAsTextTemplate(t *testing.T) {
	t.Parallel()
	data := outer{
		inner: inner{"embedded", 7}, Title: `a "title" & <b>{{.Title}}</b>`, On: true, Some: &inner{"some", 2},
		List: []inner{{"one", 1}, {"two", 2}}, Words: []string{"x", "", "z"},
	}
	for name, text := range map[string]string{
		"plain text":                 "no action, { one brace }, }} and a newline\n",
		"fields":                     "{{.Title}} {{.On}} {{.Some.Name}} {{.Some.N}} {{.Empty}}.",
		"spaces in an action":        "{{ .Title }}{{  .On}}",
		"a pointer that says itself": "{{.Some}}",
		"what is filled in is no template, and fields of an embedded value": "{{.Title}} {{.Name}} {{.N}}",
		"if and else":             "{{if .On}}on{{else}}off{{end}} {{if .Empty}}full{{else}}empty{{end}} {{if .None}}some{{end}}.",
		"else if":                 "{{if .Empty}}a{{else if .None}}b{{else if .On}}c{{else}}d{{end}}",
		"else if, the end":        "{{if .Empty}}a{{else if .None}}b{{end}}.",
		"with":                    "{{with .Some}}{{.Name}} of {{$.Title}}{{end}}{{with .None}}never{{else}}none, {{.Title}}{{end}}",
		"with a text":             "{{with .Title}}[{{.}}]{{end}}{{with .Empty}}[{{.}}]{{end}}",
		"range":                   "{{range .List}}{{.Name}}={{.N}} {{$.Name}};{{end}}{{range .Words}}[{{.}}]{{end}}",
		"range over nothing":      "{{range .Nothing}}x{{else}}nothing of {{.Title}}{{end}}",
		"trim marks":              "a  \n\t{{- .Name -}}  \n b {{- /**/ -}} c",
		"trim marks around ends":  "{{if .On -}}\n  yes\n{{- else -}}\n  no\n{{- end}}\n\n{{- with .Some}}\nx\n{{- end}}\n",
		"a minus without a space": "{{if .On}}a -{{end}}-b",
		"functions":               `{{plural 3 "ab"}} {{plural .Some.N .Name}} {{plural (len .List) "x"}} {{len .Title}}`,
		"and, or, not, ne":        `{{and .On .Title}} {{and .Empty .On}} {{or .Empty "else"}} {{or .Title "else"}} {{not .On}} {{if not .Nothing}}n{{end}} {{ne .Title .Empty}} {{ne .Title .Title}}`,
		"and as a condition":      "{{if and .On .Some}}both{{end}}{{if or .Empty .None}}either{{end}}",
		"named templates":         `{{template "one" .Some}}{{range .List}}{{template "one" .}}{{end}}{{define "one"}}({{.Name}} {{$.N}}){{end -}}` + "\n",
		"an escape in a literal":  `{{or .Empty "a\n\"b\""}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text = strings.ReplaceAll(text, "{{- /**/ -}}", `{{- .Empty -}}`) // comments are not ours
			reference, err := template.New("x").Funcs(template.FuncMap{"plural": plural}).Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			var want strings.Builder
			if err := reference.Execute(&want, data); err != nil {
				t.Fatal(err)
			}
			ours, err := fill.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			ours.Funcs = map[string]fill.Func{"plural": func(args ...any) any { return plural(args[0].(int), args[1].(string)) }}
			got, err := ours.Execute(data)
			if err != nil || got != want.String() {
				t.Errorf("got %q, %v\nwant %q", got, err, want.String())
			}
		})
	}
}

func TestAFaultInATemplateIsAnError(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"an action without an end": "a {{.Title",
		"an empty action":          "{{}}",
		"an if without an end":     "{{if .On}}x",
		"an end too many":          "x{{end}}",
		"an else too many":         "x{{else}}",
		"two elses":                "{{if .On}}{{else}}{{else}}{{end}}",
		"a define without an end":  `{{define "x"}}`,
		"a define without a name":  "{{define x}}{{end}}",
		"a template without value": `{{template "x"}}`,
		"an unknown template":      `{{template "x" .}}`,
		"an unknown field":         "{{.Nosuch}}",
		"a method":                 "{{.Some.String}}",
		"an unexported field":      "{{.inner}}",
		"a field of nothing":       "{{.None.Name}}",
		"a field of a text":        "{{.Title.Name}}",
		"an unknown function":      "{{nosuch .Title}}",
		"a function of nothing":    "{{nosuch}}",
		"a call of a value":        "{{.Title .Title}}",
		"a range over a text":      "{{range .Title}}{{end}}",
		"an open text":             `{{or .Title "x}}`,
		"an open parenthesis":      "{{not (len .Title}}",
		"a fault in a branch":      "{{range .List}}{{if .N}}{{.Nosuch}}{{end}}{{end}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, err := fill.Parse(text)
			if err != nil {
				return
			}
			if got, err := ours.Execute(outer{Title: "x", List: []inner{{N: 1}}}); err == nil {
				t.Errorf("%q became %q", text, got)
			}
		})
	}
}

func TestWhatIsFilledInIsEscaped(t *testing.T) {
	t.Parallel()
	ours, err := fill.Parse(`<b>{{.Title}}</b>{{or .Empty "<i>"}}`)
	if err != nil {
		t.Fatal(err)
	}
	ours.Escape = func(v any) string { return strings.ReplaceAll(v.(string), "<", "&lt;") }
	got, err := ours.Execute(outer{Title: "<x>"})
	if want := "<b>&lt;x></b>&lt;i>"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
