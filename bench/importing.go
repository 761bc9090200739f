package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/taskfile"
)

// importing measures a validated import, from the bytes of a JSONL file to the
// commit, against bare inserts of the same rows into the same schema through the
// same kind of transaction.
func (b *bench) importing() error {
	n, rounds := 100_000, 5
	if b.quick {
		n, rounds = 10_000, 3
	}
	file, err := planFile(n)
	if err != nil {
		return err
	}
	var rows *rows
	var whole, bare []time.Duration
	for i := range rounds {
		took, path, err := b.importOnce(file, i)
		if err != nil {
			return err
		}
		whole = append(whole, took)
		if rows == nil {
			if rows, err = b.readRows(path); err != nil {
				return err
			}
		}
		if took, err = b.insertOnce(rows, i); err != nil {
			return err
		}
		bare = append(bare, took)
	}
	a, c := median(whole), median(bare)
	what := fmt.Sprintf("%s tasks, %s dependencies", count(len(rows.tasks)), count(len(rows.edges)))
	b.table.compare("import", what, short(a), short(c)+" bare inserts", ratio(a, c), true, 2)
	return nil
}

// planFile writes a plan down as people do, without the keys it does not need.
func planFile(n int) ([]byte, error) {
	var file bytes.Buffer
	enc := json.NewEncoder(&file)
	for _, s := range plan(n) {
		line := map[string]any{"ref": s.Ref, "title": s.Title, "description": s.Description, "priority": s.Priority}
		for key, value := range map[string]string{"parent": s.Parent, "feature": s.Feature, "status": string(s.Status)} {
			if value != "" {
				line[key] = value
			}
		}
		if len(s.After) > 0 {
			line["after"] = s.After
		}
		if err := enc.Encode(line); err != nil {
			return nil, err
		}
	}
	return file.Bytes(), nil
}

func (b *bench) importOnce(file []byte, i int) (time.Duration, string, error) {
	path := b.path(fmt.Sprintf("import-%d.db", i))
	s, err := b.open(path, dag.Options{})
	if err != nil {
		return 0, "", err
	}
	defer s.discard()
	begin := time.Now()
	specs, err := taskfile.Parse(file, taskfile.JSONL)
	if err != nil {
		return 0, "", err
	}
	err = s.Update(b.ctx, func(g *dag.Graph) error {
		_, err := g.Import(specs)
		return err
	})
	return time.Since(begin), path, err
}

// rows is what an import left behind.
type rows struct {
	features, tasks, edges [][]any // arguments of the inserts below
}

const (
	readFeaturesSQL = `SELECT n, id, name FROM features;`
	readEdgesSQL    = `SELECT blocker, blocked FROM dependencies ORDER BY blocked, blocker;`
	readTasksSQL    = `
SELECT n, id, status, priority, parent, feature, children, open_deps, held, doomed, title, description FROM tasks ORDER BY n;`

	insertFeatureSQL = `INSERT INTO features (n, id, name, created_at, updated_at) VALUES (:0, :1, :2, 1, 1);`
	insertEdgeSQL    = `INSERT INTO dependencies (blocker, blocked) VALUES (:0, :1);`
	insertTaskSQL    = `
INSERT INTO tasks (n, id, status, priority, parent, feature, children, open_deps, held, doomed, title, description, created_at, updated_at)
VALUES (:0, :1, :2, :3, :4, :5, :6, :7, :8, :9, :10, :11, 1, 1);`
)

func (b *bench) readRows(path string) (*rows, error) {
	s, err := b.open(path, dag.Options{})
	if err != nil {
		return nil, err
	}
	defer s.discard()
	r := &rows{}
	err = s.db.View(b.ctx, func(tx *db.Tx) error {
		for query, into := range map[string]*[][]any{readFeaturesSQL: &r.features, readTasksSQL: &r.tasks, readEdgesSQL: &r.edges} {
			err := tx.Each(query, func(stmt *sqlite.Stmt) error {
				*into = append(*into, arguments(stmt))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return r, err
}

// arguments turns a row into the arguments that insert it again.
func arguments(stmt *sqlite.Stmt) []any {
	args := make([]any, 0, 2*stmt.ColumnCount())
	for i := range stmt.ColumnCount() {
		args = append(args, fmt.Sprintf(":%d", i))
		switch stmt.ColumnType(i) {
		case sqlite.TypeNull:
			args = append(args, nil)
		case sqlite.TypeInteger:
			args = append(args, stmt.ColumnInt64(i))
		default:
			args = append(args, stmt.ColumnText(i))
		}
	}
	return args
}

func (b *bench) insertOnce(r *rows, i int) (time.Duration, error) {
	s, err := b.open(b.path(fmt.Sprintf("bare-%d.db", i)), dag.Options{})
	if err != nil {
		return 0, err
	}
	defer s.discard()
	begin := time.Now()
	err = s.db.Update(b.ctx, func(tx *db.Tx) error {
		for _, part := range []struct {
			query string
			rows  [][]any
		}{{insertFeatureSQL, r.features}, {insertTaskSQL, r.tasks}, {insertEdgeSQL, r.edges}} {
			for _, args := range part.rows {
				if err := tx.Exec(part.query, args...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return time.Since(begin), err
}
