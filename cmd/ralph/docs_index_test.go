package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
)

// longPage is how many lines a page may have without a table of contents.
const longPage = 350

// TestTheIndexListsEveryPage: docs/README.md links every page, every page links back in its
// first lines, and a long page begins with its contents.
func TestTheIndexListsEveryPage(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("../../docs/README.md")
	check.OK(t, err)
	pages, err := filepath.Glob("../../docs/*.md")
	check.OK(t, err)
	for _, path := range pages {
		name := filepath.Base(path)
		data, err := os.ReadFile(path)
		check.OK(t, err)
		if name == "README.md" {
			continue
		}
		text := string(data)
		if !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
		if top := strings.Join(strings.SplitN(text, "\n", 5)[:4], "\n"); !strings.Contains(top, "](README.md)") {
			t.Errorf("the top of docs/%s has no link to the index: write [Documentation](README.md)", name)
		}
		if strings.Count(text, "\n") > longPage {
			golden.Check(t, path, withContents(text))
		}
	}
}

var contents = regexp.MustCompile(`(?s)\n## Contents\n\n.*?\n\n`)

// withContents lists the headings of a page's second level before the first of them.
func withContents(page string) string {
	page = contents.ReplaceAllString(page, "\n")
	var list strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(page, -1) {
		anchor := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(m[1]), "")
		fmt.Fprintf(&list, "- [%s](#%s)\n", m[1], strings.ReplaceAll(anchor, " ", "-"))
	}
	before, after, _ := strings.Cut(page, "\n## ")
	return before + "\n## Contents\n\n" + list.String() + "\n## " + after
}

// TestTheMapOfNewCodeNamesFiles: the table in docs/architecture.md names what exists.
func TestTheMapOfNewCodeNamesFiles(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/architecture.md")
	check.OK(t, err)
	_, table, _ := strings.Cut(string(page), "\n## Where new code goes\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, row := range []string{"a notification kind", "a gate verdict", "a verb", "an agent", "a sandbox level"} {
		if !strings.Contains(table, "| "+row+" | `") {
			t.Errorf("the table does not say where %s goes", row)
		}
	}
	for _, m := range regexp.MustCompile("`([a-z]+/[^` ]*)`").FindAllStringSubmatch(table, -1) {
		if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
			t.Error(err)
		}
	}
}
