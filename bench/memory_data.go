package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ralph/internal/db"
	"ralph/journal"
	"ralph/knowledge"
)

// memoryTask is a task to remember for.
type memoryTask struct{ name, title, description string }

// memoryTasks are tasks with few and with many, with rare and with common words.
// The words w0, w1, ... are ever rarer.
func memoryTasks() []memoryTask {
	var long strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&long, "w%d ", i*7)
	}
	return []memoryTask{
		{"a title of rare and common words", "common rare scarce w0 w1 w2 w3 w10 w100", ""},
		{"only common words", "common w0 w1 w2 w3 w4 w5", ""},
		{"only middling words", "w300 w400 w500 w700 w900", ""},
		{"a description of 10 kB", "common w5 w6 w9000", long.String()},
	}
}

func lastRun(rows int) string { return fmt.Sprintf("r-%08d", (rows-1)/100) }

// fillJournal adds rows whose words are distributed as in a language, and returns
// what one took.
func fillJournal(ctx context.Context, d *db.DB, rows int) (time.Duration, error) {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 3, 50_000)
	start := time.Now()
	for n := 0; n < rows; {
		err := d.Update(ctx, func(tx *db.Tx) error {
			for end := min(n+500, rows); n < end; n++ {
				if err := journal.Add(tx, journalRow(n, zipf)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return time.Since(start) / time.Duration(rows), nil
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
func fillKnowledge(project string, files int) error {
	folder := filepath.Join(project, knowledge.Folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
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
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("lesson-%d.md", i)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
