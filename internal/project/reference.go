package project

import (
	"fmt"
	"reflect"
	"strings"
)

// titles are the groups of docs/config.md, with what is said first.
var titles = []struct {
	group        Group
	title, intro string
}{
	{Common, "What people set", "These stand at the top of the file, before any `[section]`."},
	{Expert, "For experts", "All have good defaults."},
	{Named, "Named entries", "Names are yours. Entries of `~/.config/ralph/config.toml` and of `.ralph.toml` count together."},
	{Serve, "Read by ralph serve", "Entries under `[[...]]` can be repeated."},
	{OnServers, "Read by ralph-temporal", ""},
	{Fixed, "Constants", "One value is right for everybody. Files of earlier versions and tests may set them under these names; `ralph config show` lists those that are set."},
}

// Reference is what docs/config.md has below its introduction: each key with its kind, its default and what it does.
func Reference() string {
	var b strings.Builder
	for _, t := range titles {
		fmt.Fprintf(&b, "\n## %s\n\n", t.title)
		if t.intro != "" {
			b.WriteString(t.intro + "\n\n")
		}
		b.WriteString("| key | value | default | |\n|---|---|---|---|\n")
		var entries []Key
		for _, k := range Keys() {
			switch {
			case k.Group != t.group:
			case k.isEntries():
				entries = append(entries, k)
			default:
				shown := ""
				if v := k.Shown(); v != nil {
					shown = "`" + shorter(tomlText(v)) + "`"
				}
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, k.Kind(), shown, k.Doc)
			}
		}
		for _, k := range entries {
			fmt.Fprintf(&b, "| `%s` | %s | | %s |\n", k.header(), k.fields(), k.Doc)
		}
	}
	b.WriteString("\n## Names of earlier versions\n\nThey are read, and mean the same, also as variables. `ralph config migrate` renames them in your files.\n\n| earlier | now |\n|---|---|\n")
	for _, k := range Keys() {
		switch {
		case k.Group == Parts:
			fmt.Fprintf(&b, "| `%s` | `%s` |\n", k.Name, k.rule.of)
		case k.Old != "":
			fmt.Fprintf(&b, "| `%s` | `%s` |\n", k.Old, k.Name)
		}
	}
	return strings.ReplaceAll(b.String(), "|  |", "| |")
}

// shorter leaves out the end of a long list.
func shorter(value string) string {
	if len(value) <= 60 {
		return value
	}
	head, _, _ := strings.Cut(value[40:], ",")
	return value[:40] + head + ", ...]"
}

// header is how an entry begins.
func (k Key) header() string {
	t := reflect.TypeOf(k.at).Elem()
	switch {
	case t.Kind() == reflect.Slice:
		return "[[" + k.Name + "]]"
	case t.Elem().Kind() == reflect.Struct:
		return "[" + k.Name + ".NAME]"
	}
	return "[" + k.Name + "]"
}

// fields are what an entry can have, in Markdown.
func (k Key) fields() string {
	names := k.fieldNames()
	if names == nil {
		return "NAME = number"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

// fieldNames are what an entry can have, if it is a table.
func (k Key) fieldNames() (names []string) {
	entry := reflect.TypeOf(k.at).Elem().Elem()
	for i := 0; entry.Kind() == reflect.Struct && i < entry.NumField(); i++ {
		names = append(names, entry.Field(i).Tag.Get("toml"))
	}
	return names
}
