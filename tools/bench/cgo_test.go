//go:build unix

package bench

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"ralph/dag"
)

// readStatements returns the SQL constants of package dag by name. They are read from
// its source, so that what is compared is what the product runs and no copy of it.
func readStatements(dir string) map[string]string {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range must(filepath.Glob(filepath.Join(dir, "*.go"))) {
		if !strings.HasSuffix(name, "_test.go") {
			files = append(files, must(parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)))
		}
	}
	// Imports stay unresolved: constants of plain strings need none of them.
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := conf.Check("dag", fset, files, nil)
	found := map[string]string{"begin": "BEGIN IMMEDIATE;", "commit": "COMMIT;"}
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if ok && (strings.HasSuffix(name, "SQL") || name == "taskColumns") && c.Val().Kind() == constant.String {
			found[name] = constant.StringVal(c.Val())
		}
	}
	return found
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }

// cgoWorker does what worker does with the very statements of package dag, on one
// connection of cgo SQLite: prepared once, bound by position, no database/sql.
type cgoWorker struct {
	conn  driver.Conn
	sql   map[string]string
	stmts map[string]*cgoStmt
	run   dag.Run
	newID func(string) string
}

func openCgo(b *testing.B, path string, sql map[string]string, run dag.Run) *cgoWorker {
	conn, err := (&sqlite3.SQLiteDriver{}).Open("file:" + path + "?_journal_mode=WAL&_synchronous=NORMAL&_foreign_keys=1&_mutex=no")
	if err != nil && strings.Contains(err.Error(), "CGO_ENABLED=0") {
		b.Skip("built without cgo")
	}
	check(err)
	return &cgoWorker{conn: conn, sql: sql, stmts: map[string]*cgoStmt{}, run: run, newID: newIDs()}
}

func (w *cgoWorker) close() {
	for _, s := range w.stmts {
		_ = s.stmt.Close()
	}
	_ = w.conn.Close()
}

// pair is Queue.Claim and Queue.Complete, a transaction each.
func (w *cgoWorker) pair() {
	w.exec("begin")
	c := w.claim()
	w.exec("commit")
	w.exec("begin")
	w.complete(c)
	w.exec("commit")
}

type cgoClaim struct {
	n, generation int64
	id            string
}

func (w *cgoWorker) claim() (c cgoClaim) {
	now := standing().UnixMilli()
	w.exec("clearWaitsSQL", ":now", now)
	w.each("locksSQL", func(cgoRow) {})
	w.each("readFinishedSQL", func(cgoRow) { panic("nothing waits to be verified") }, ":doomed", int64(0), ":feature", int64(0))
	var n int64
	w.first("readAllSQL", func(row cgoRow) { n = row.number("n") }, ":doomed", int64(0))
	w.each("claimSQL", func(row cgoRow) {
		c = cgoClaim{n: row.number("n"), id: row.text("id"), generation: row.number("generation")}
	}, ":n", n, ":owner", w.run.Owner, ":lease", standing().Add(time.Minute).UnixMilli(), ":now", now, ":stands_on", int64(0))
	if c.n == 0 {
		panic("nothing to claim")
	}
	w.exec("beginAttemptSQL", ":id", w.newID("a-"), ":run", w.run.ID, ":task", c.n, ":task_id", c.id,
		":iteration", int64(1), ":generation", c.generation, ":slot", nil, ":now", now)
	return c
}

func (w *cgoWorker) complete(c cgoClaim) {
	t := w.node("heldSQL", ":id", c.id, ":owner", w.run.Owner, ":generation", c.generation)
	w.exec("verifiedSQL", ":verification", "skipped", ":n", t.n)
	w.moveToDone(t)
	w.exec("countSQL", ":n", t.n)
	w.exec("endAttemptSQL", ":task", t.n, ":generation", c.generation, ":outcome", "done", ":reason", nil, ":now", standing().UnixMilli())
}

type cgoNode struct {
	n, parent, generation, children int64
	status                          string
}

func (w *cgoWorker) node(name string, pairs ...driver.Value) (t cgoNode) {
	w.each(name, func(row cgoRow) {
		t = cgoNode{
			n: row.number("n"), parent: row.number("parent"), status: row.text("status"),
			children: row.number("children"), generation: row.number("generation"),
		}
	}, pairs...)
	if t.n == 0 {
		panic(name + ": no row")
	}
	return t
}

// moveToDone is Graph.move for the one status that completing leads to.
func (w *cgoWorker) moveToDone(t cgoNode) {
	now := standing().UnixMilli()
	w.exec("moveSQL", ":to", string(dag.Done), ":fence", int64(0), ":now", now, ":finished", now,
		":n", t.n, ":from", t.status, ":generation", t.generation)
	var turned []int64
	w.each("dependentsSQL", func(row cgoRow) {
		if row.values[1].(int64) != 0 {
			turned = append(turned, row.values[0].(int64))
		}
	}, ":by", int64(-1), ":n", t.n)
	if t.children > 0 && t.status == string(dag.Failed) {
		turned = append(turned, t.n)
	}
	for _, n := range turned {
		w.exec("flagSQL", ":n", n)
	}
	if t.parent == 0 {
		return
	}
	parent := w.node("nodeSQL", ":n", t.parent)
	busy := false
	w.each("childrenSQL", func(row cgoRow) { busy = row.values[0].(int64)+row.values[1].(int64) > 0 }, ":n", t.parent)
	if !busy {
		w.moveToDone(parent)
	}
}

// exec runs a statement of package dag by the name of its constant. Arguments
// come in pairs, as they do there.
func (w *cgoWorker) exec(name string, pairs ...driver.Value) {
	s := w.prepare(name, pairs)
	must(s.stmt.Exec(s.args)) //nolint:staticcheck // the direct call is the fastest one
}

func (w *cgoWorker) each(name string, fn func(cgoRow), pairs ...driver.Value) {
	w.rows(name, func(row cgoRow) bool { fn(row); return true }, pairs)
}

// first reads no more than one row.
func (w *cgoWorker) first(name string, fn func(cgoRow), pairs ...driver.Value) {
	w.rows(name, func(row cgoRow) bool { fn(row); return false }, pairs)
}

func (w *cgoWorker) rows(name string, fn func(cgoRow) bool, pairs []driver.Value) {
	s := w.prepare(name, pairs)
	rows := must(s.stmt.Query(s.args)) //nolint:staticcheck // the direct call is the fastest one
	if s.row.values == nil {
		s.row = newCgoRow(rows.Columns())
	}
	for {
		err := rows.Next(s.row.values)
		if errors.Is(err, io.EOF) {
			check(rows.Close())
			return
		}
		check(err)
		if !fn(s.row) {
			check(rows.Close())
			return
		}
	}
}

// cgoStmt is a statement that was prepared once. Its parameters are bound by
// their place, which is where their names first appear.
type cgoStmt struct {
	stmt   driver.Stmt
	places map[string]int
	args   []driver.Value
	row    cgoRow
}

// cgoRow is read by the names of the columns: their places change with the tables.
type cgoRow struct {
	values []driver.Value
	places map[string]int
}

func newCgoRow(columns []string) cgoRow {
	row := cgoRow{values: make([]driver.Value, len(columns)), places: map[string]int{}}
	for i, name := range columns {
		row.places[name] = i
	}
	return row
}

// number is 0 for NULL. A column that is gone is a mistake of ours and panics.
func (r cgoRow) number(column string) int64 {
	n, _ := r.values[r.place(column)].(int64)
	return n
}

func (r cgoRow) text(column string) string { return r.values[r.place(column)].(string) }

func (r cgoRow) place(column string) int {
	i, ok := r.places[column]
	if !ok {
		panic("package dag selects no column " + column + " any more")
	}
	return i
}

// fieldNames are the columns that package dag fills in where a statement has {said}.
func fieldNames() string {
	var names []string
	for _, f := range dag.Fields {
		names = append(names, "["+f.Name+"]") // one is a word of SQL
	}
	return strings.Join(names, ", ")
}

var parameter = regexp.MustCompile(`:[a-z_]+`)

func (w *cgoWorker) prepare(name string, pairs []driver.Value) *cgoStmt {
	s := w.stmts[name]
	if s == nil {
		text, ok := w.sql[name]
		if !ok {
			panic("package dag has no statement " + name + " any more")
		}
		text = strings.NewReplacer("{said}", fieldNames()).Replace(strings.ReplaceAll(text, "{task}", w.sql["taskColumns"]))
		s = &cgoStmt{stmt: must(w.conn.Prepare(text)), places: map[string]int{}}
		for _, p := range parameter.FindAllString(text, -1) {
			if _, known := s.places[p]; !known {
				s.places[p] = len(s.places)
			}
		}
		s.args = make([]driver.Value, len(s.places))
		w.stmts[name] = s
	}
	if len(pairs) != 2*len(s.args) {
		panic(fmt.Sprintf("%s takes %d arguments now, not %d", name, len(s.args), len(pairs)/2))
	}
	for i := 0; i < len(pairs); i += 2 {
		place, ok := s.places[pairs[i].(string)]
		if !ok {
			panic(fmt.Sprintf("%s has no parameter %s any more", name, pairs[i]))
		}
		s.args[place] = pairs[i+1]
	}
	return s
}
