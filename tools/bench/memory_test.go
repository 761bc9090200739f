//go:build unix

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/internal/db"
	"ralph/journal"
	"ralph/knowledge"
)

// bareSQL is the cheapest query that ranks: no join, no column.
const bareSQL = `SELECT rowid FROM journal_fts WHERE journal_fts MATCH :word ORDER BY rank LIMIT 5;`

// BenchmarkRecall measures what a prompt remembers of the journal beside bare queries on
// the same file.
func BenchmarkRecall(b *testing.B) {
	rows := sized(2_000, 100_000)
	d := must(db.Open(b.Context(), filepath.Join(b.TempDir(), "journal.db"), db.Options{}))
	defer d.Close()
	filled := measure(func() { fillJournal(b.Context(), d, rows) }).wall
	view := func(fn func(*db.Tx) error) func() cost { return here(func() { check(d.View(b.Context(), fn)) }) }
	bare := func(word string) func() cost {
		return view(func(tx *db.Tx) error {
			return tx.Exec(bareSQL, ":word", word)
		})
	}
	t := newTable(b)
	for _, task := range memoryTasks() {
		b.Run(task.name, func(b *testing.B) {
			selection := view(func(tx *db.Tx) error {
				s, err := journal.Select(tx, journal.Query{Run: lastRun(rows), Title: task.title, Description: task.description}, journal.Options{Recent: 5, Matches: 5, Tokens: 3000})
				if len(s.Recent) == 0 || s.Text() == "" {
					b.Error("the recent entries are missing")
				}
				return err
			})
			for b.Loop() {
				costs := inTurns(200, selection, bare("rare"), bare("scarce"))
				recall, rare, scarce := costs[0].wall, costs[1].wall, costs[2].wall
				t.row("recall, "+task.name, show(recall), show(rare)+" bare query, 0.1 % of rows", times(recall, rare), below(ratio(recall, rare), 3))
				t.row("the same", show(recall), show(scarce)+" bare query, 0.01 % of rows", times(recall, scarce), "")
			}
		})
	}
	b.Run("every-row", func(b *testing.B) {
		for b.Loop() {
			costs := inTurns(5, bare("common"), bare("rare"))
			t.row("bare query, every row", show(costs[0].wall), show(costs[1].wall)+" 0.1 % of rows", times(costs[0].wall, costs[1].wall), "")
			t.row("remember one iteration", show(filled/time.Duration(rows)), "", "", "")
		}
	})
}

// BenchmarkKnowledge measures matching knowledge with a warm cache beside reading the bytes of
// all of it.
func BenchmarkKnowledge(b *testing.B) {
	project, files := b.TempDir(), sized(500, 10_000)
	folder := filepath.Join(project, knowledge.Folder)
	fillKnowledge(folder, files)
	q := knowledge.Query{
		Title: "Speed up the parser of topic7", Description: "See the words of topic12 and area3 error handling", Feature: "area5",
		Paths: []string{"internal/topic9/parse.go", "docs/area1.md"},
	}
	all := func(s *knowledge.Store) {
		entries, warnings := s.Load()
		if len(entries) != files || len(warnings) > 0 || knowledge.Render(q.Match(entries), 2000).Task == "" {
			b.Fatalf("got %d entries and %d warnings, want %d and none", len(entries), len(warnings), files)
		}
	}
	readBytes := func() {
		for _, name := range must(os.ReadDir(folder)) {
			must(os.ReadFile(filepath.Join(folder, name.Name())))
		}
	}
	warm := knowledge.Open(project)
	for b.Loop() {
		costs := inTurns(5, here(func() { all(warm) }), here(func() { all(knowledge.Open(project)) }), here(readBytes))
		t := newTable(b)
		match, first, bytes := costs[0].cpu, costs[1].cpu, costs[2].cpu
		t.row(fmt.Sprintf("match and render, %d files", files), show(match), show(bytes)+" reading their bytes", times(match, bytes), below(ratio(match, bytes), 1))
		t.row("the same for the first time", show(first), show(bytes)+" reading their bytes", times(first, bytes), "")
	}
}

// memoryTask is a task to remember for.
type memoryTask struct{ name, title, description string }

// memoryTasks have few and many, rare and common words. The words w0, w1, ... are ever rarer.
func memoryTasks() []memoryTask {
	var long strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&long, "w%d ", i*7)
	}
	return []memoryTask{
		{"title", "common rare scarce w0 w1 w2 w3 w10 w100", ""},
		{"common", "common w0 w1 w2 w3 w4 w5", ""},
		{"middling", "w300 w400 w500 w700 w900", ""},
		{"10kB", "common w5 w6 w9000", long.String()},
	}
}

func lastRun(rows int) string { return fmt.Sprintf("r-%08d", (rows-1)/100) }

// fillJournal adds rows whose words are distributed as in a language.
func fillJournal(ctx context.Context, d *db.DB, rows int) {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 3, 50_000)
	for n := 0; n < rows; {
		check(d.Update(ctx, func(tx *db.Tx) error {
			for end := min(n+500, rows); n < end; n++ {
				if err := journal.Add(tx, journalRow(n, zipf)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

func journalRow(n int, zipf *rand.Zipf) journal.Entry {
	words := make([]string, 60, 64)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", zipf.Uint64())
	}
	title := strings.Join(words[:8], " ")
	words = append(words[8:], "common")
	if n%1000 == 7 {
		words = append(words, "rare")
	}
	if n%10000 == 8 {
		words = append(words, "scarce")
	}
	return journal.Entry{
		At: time.UnixMilli(int64(n) * 60_000), Run: fmt.Sprintf("r-%08d", n/100), Iteration: n%100 + 1, Task: fmt.Sprintf("t-%08d", n/2),
		Title: title, Outcome: "done", Notes: strings.Join(words, " "), Agent: "shell", Model: "sonnet", Duration: time.Minute,
		Files: []string{"a.go", "b/c.go"},
	}
}

// fillKnowledge writes files as ralph does, but not one by one.
func fillKnowledge(folder string, files int) {
	check(os.MkdirAll(folder, 0o700))
	for i := range files {
		text := fmt.Sprintf(`---
title: Lesson %d about topic%d
kind: lesson
tags: [topic%d, area%d, error handling]
feature: area%d
created_at: "2026-01-02T03:04:05Z"
task: t-%08d
run: r-%08d
---

See [[Lesson %d about topic%d]]. %s
`, i, i%500, i%500, i%20, i%20, i, i/100, i/2, (i/2)%500, strings.Repeat("What was learned was hard to learn and is worth knowing. ", 30))
		check(os.WriteFile(filepath.Join(folder, fmt.Sprintf("lesson-%d.md", i)), []byte(text), 0o600))
	}
}
