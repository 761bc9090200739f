package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"

	"ralph/internal/db"
	"ralph/journal"
	"ralph/knowledge"
)

// memory is the section of what a prompt remembers.
func (b *bench) memory() error { return memoryTables(b.ctx, &b.table, b.path("memory"), b.quick) }

// memoryTables measures what remembering costs an iteration: recall from the
// journal beside bare queries on the same file, and matching knowledge with a warm
// cache beside reading all of it.
func memoryTables(ctx context.Context, t *table, dir string, quick bool) error {
	rows, files := 100_000, 10_000
	if quick {
		rows, files = 2_000, 500
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := recall(ctx, t, filepath.Join(dir, "journal.db"), rows); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := matching(t, filepath.Join(dir, "knowledge"), files); err != nil {
		return fmt.Errorf("knowledge: %w", err)
	}
	return nil
}

// bareSQL is the cheapest query that ranks: no join, no column.
const bareSQL = `SELECT rowid FROM journal_fts WHERE journal_fts MATCH :word ORDER BY rank LIMIT 5;`

func recall(ctx context.Context, t *table, path string, rows int) error {
	d, err := db.Open(ctx, path, db.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	took, err := fillJournal(ctx, d, rows)
	if err != nil {
		return err
	}
	size := count(rows) + " rows"
	t.add("memory", "remember one iteration, "+size, short(took), "", "", "")
	bare := func(word string) func() error {
		return func() error {
			return d.View(ctx, func(tx *db.Tx) error {
				return tx.Each(bareSQL, func(*sqlite.Stmt) error { return nil }, ":word", word)
			})
		}
	}
	for _, task := range memoryTasks() {
		selection := func() error {
			return d.View(ctx, func(tx *db.Tx) error {
				s, err := journal.Select(tx, journal.Query{Run: lastRun(rows), Title: task.title, Description: task.description}, journal.Options{})
				if err == nil && len(s.Recent) == 0 {
					err = fmt.Errorf("%s: the recent entries are missing", task.name)
				}
				_ = s.Text()
				return err
			})
		}
		times, err := inTurns(200, selection, bare("rare"), bare("scarce"))
		if err != nil {
			return err
		}
		t.compare("memory", "recall, "+task.name+", "+size, short(times[0]), "one word in 0.1% of rows, "+short(times[1]), ratio(times[0], times[1]), true, 3)
		t.add("memory", "recall, "+task.name+", "+size, short(times[0]), "one word in 0.01% of rows, "+short(times[2]), fmt.Sprintf("%.2f", ratio(times[0], times[2])), "")
	}
	times, err := inTurns(5, bare("common"), bare("rare"))
	if err != nil {
		return err
	}
	t.add("memory", "one word in all rows, "+size, short(times[0]), "one word in 0.1% of rows, "+short(times[1]), fmt.Sprintf("%.2f", ratio(times[0], times[1])), "")
	return nil
}

func matching(t *table, project string, files int) error {
	if err := fillKnowledge(project, files); err != nil {
		return err
	}
	q := knowledge.Query{
		Title: "Speed up the parser of topic7", Description: "See the words of topic12 and area3 error handling", Feature: "area5",
		Paths: []string{"internal/topic9/parse.go", "docs/area1.md"},
	}
	all := func(s *knowledge.Store) error {
		entries, warnings := s.Load()
		if len(entries) != files || len(warnings) > 0 {
			return fmt.Errorf("got %d entries and %d warnings, want %d and none", len(entries), len(warnings), files)
		}
		if knowledge.Render(q.Match(entries), 0) == "" {
			return fmt.Errorf("nothing matched")
		}
		return nil
	}
	warm := knowledge.Open(project)
	times, err := inTurns(5, func() error { return all(warm) }, func() error { return all(knowledge.Open(project)) }, func() error { return readAll(project) })
	if err != nil {
		return err
	}
	size := count(files) + " files"
	t.compare("memory", "match and render, warm cache, "+size, short(times[0]), "reading them all, "+short(times[1]), ratio(times[1], times[0]), false, 20)
	t.add("memory", "match and render, warm cache, "+size, short(times[0]), "their bytes alone, "+short(times[2]), fmt.Sprintf("%.2f", ratio(times[2], times[0])), "")
	return nil
}

// readAll reads the bytes and looks at none.
func readAll(project string) error {
	folder := filepath.Join(project, knowledge.Folder)
	names, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := os.ReadFile(filepath.Join(folder, name.Name())); err != nil {
			return err
		}
	}
	return nil
}

// inTurns runs functions one after the other, n times, so that all of them see the
// same machine, and returns the median of each.
func inTurns(n int, fns ...func() error) ([]time.Duration, error) {
	samples := make([][]time.Duration, len(fns))
	for range n + 1 {
		for i, fn := range fns {
			start := time.Now()
			if err := fn(); err != nil {
				return nil, err
			}
			samples[i] = append(samples[i], time.Since(start))
		}
	}
	medians := make([]time.Duration, len(fns))
	for i := range fns {
		medians[i] = median(samples[i][1:]) // the first warms up
	}
	return medians, nil
}
