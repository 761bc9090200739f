package plansync

import (
	"os"
	"time"

	"ralph/dag"
	"ralph/internal/db"
)

// seal tells, by what a look at a file costs, that nobody changed it.
type seal struct {
	Size, Mtime, Inode int64
	Fresh              bool // it was changed so shortly before that another change could leave it looking the same
}

// coarse is the resolution of the clocks of file systems, with some room.
const coarse = 2 * time.Second

func sealOf(info os.FileInfo, now time.Time) seal {
	age := now.Sub(info.ModTime())
	return seal{info.Size(), info.ModTime().UnixNano(), inode(info), age < coarse}
}

// row is what is stored about a file, without the text.
type row struct {
	stamp   seal
	carried bool // of git's index
}

const (
	indexKey    = ".git/index"
	carriedText = "carried"

	rowsSQL = `SELECT path, size, mtime, inode, fresh, path = '.git/index' AND base = 'carried' FROM synced;`
	baseSQL = `SELECT base FROM synced WHERE path = :path COLLATE NOCASE ORDER BY path = :path DESC LIMIT 1;`
	setSQL  = `
INSERT INTO synced (path, size, mtime, inode, fresh, base) VALUES (:path, :size, :mtime, :inode, :fresh, :base)
ON CONFLICT (path) DO UPDATE SET size = :size, mtime = :mtime, inode = :inode, fresh = :fresh, base = :base;`
	otherCaseSQL  = `DELETE FROM synced WHERE path = :path COLLATE NOCASE AND path <> :path;`
	seenSQL       = `UPDATE synced SET size = :size, mtime = :mtime, inode = :inode, fresh = :fresh WHERE path = :path;`
	unsavedSQL    = `SELECT u.feature, coalesce(f.name, '') FROM unsaved u LEFT JOIN features f ON f.n = u.feature ORDER BY u.feature;`
	setUnsavedSQL = `INSERT INTO unsaved VALUES (coalesce((SELECT n FROM features WHERE name = :name), 0)) ON CONFLICT DO NOTHING;`
	savedSQL      = `DELETE FROM unsaved WHERE feature = coalesce((SELECT n FROM features WHERE name = :name), 0) OR feature > 0 AND feature NOT IN (SELECT n FROM features);`
)

func rowsOf(g *dag.Graph) (map[string]row, error) {
	rows := map[string]row{}
	for r := range g.Tx().Rows(rowsSQL) {
		rows[r.Text()] = row{seal{r.Int64(), r.Int64(), r.Int64(), r.Bool()}, r.Bool()}
	}
	return rows, g.Tx().Err()
}

// baseOf is the text of a file when it and the database last agreed; false if they never did. They may have agreed before its folder was
// renamed in case.
func baseOf(g *dag.Graph, key string) (base string, known bool, err error) {
	base, err = db.One(g.Tx(), baseSQL, func(r *db.Row) string { known = true; return r.Text() }, ":path", key)
	return base, known, err
}

func setRow(g *dag.Graph, key string, s seal, base string) error {
	g.Tx().Do(otherCaseSQL, ":path", key) // the folder had that name before
	return g.Tx().Exec(setSQL, ":path", key, ":size", s.Size, ":mtime", s.Mtime, ":inode", s.Inode, ":fresh", s.Fresh, ":base", base)
}

// seen stores that a file looks different and says the same.
func seen(g *dag.Graph, key string, s seal) {
	g.Tx().Do(seenSQL, ":path", key, ":size", s.Size, ":mtime", s.Mtime, ":inode", s.Inode, ":fresh", s.Fresh)
}

// unsavedIn lists the features, and "" for tasks of none, whose plan may differ from their file.
func unsavedIn(g *dag.Graph) (list []string, err error) {
	for r := range g.Tx().Rows(unsavedSQL) {
		if n, name := r.Int64(), r.Text(); n == 0 || name != "" {
			list = append(list, name)
		}
	}
	return list, g.Tx().Err()
}

// unsaved says that the plan of a feature, or of tasks of none, differs from its file.
func unsaved(g *dag.Graph, feature string) { g.Tx().Do(setUnsavedSQL, ":name", feature) }

// saved says that the plan of a feature, or of tasks of none, is in its file.
func saved(g *dag.Graph, feature string) { g.Tx().Do(savedSQL, ":name", feature) }
