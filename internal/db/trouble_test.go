package db_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// TestAMigrationHappensWholeOrNotAtAll lets one fail near its end: the table that
// it makes last but a few is there already.
func TestAMigrationHappensWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "progress.db")
	raw(t, path, `PRAGMA application_id = 0x524c5048; CREATE TABLE journal (mine);`)
	check.That(t, tryOpen(t, path, db.Options{}) != nil, "a failing migration was passed over")
	check.Equal(t, "tables and indexes of the failed migration", 0, ask(t, path, "SELECT count(*) FROM sqlite_schema WHERE name <> 'journal';"))
	check.Equal(t, "version", 0, ask(t, path, "PRAGMA user_version;"))
	raw(t, path, "DROP TABLE journal;")
	check.OK(t, addFeature(t.Context(), open(t, path, db.Options{}), "a"))
}

func TestAFullDiskChangesNothing(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := open(t, path, db.Options{})
	check.OK(t, addFeature(t.Context(), d, "a"))
	small := open(t, path, db.Options{MaxPages: ask(t, path, "PRAGMA page_count;") + 2})
	long := strings.Repeat("x", 60<<10)
	err := small.Update(t.Context(), func(tx *db.Tx) error {
		for _, id := range []string{"b", "c", "d"} {
			tx.Do(insertFeature, ":id", id+long)
		}
		tx.Do(insertFeature, ":id", "small") // after SQLite has rolled back by itself, this would stay
		return nil
	})
	check.That(t, kind(err) == db.Full && strings.Contains(err.Error(), "the disk is full"), "got %v, want a full disk", err)
	check.Equal(t, "afterwards", []string{"a"}, features(t, small))
	check.OK(t, addFeature(t.Context(), small, "something small"))
	check.OK(t, addFeature(t.Context(), d, "with space again"+long))
	check.Equal(t, "sound files", 1, ask(t, path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok';"))
}

func TestADiskThatIsFullFromTheBeginning(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	check.Equal(t, "trouble", db.Full, kind(tryOpen(t, path, db.Options{MaxPages: 5})))
	check.OK(t, addFeature(t.Context(), open(t, path, db.Options{}), "with space again"))
}

// TestMigrationsAreOnlyAppended holds every migration that projects have applied to its
// bytes: an edited one would leave old projects with another schema than new ones.
func TestMigrationsAreOnlyAppended(t *testing.T) {
	t.Parallel()
	applied := map[string]string{
		"001_graph.sql":            "35fe6c3ea59bb5fc102fa6c5e9d500d1dd9fbb21ebcc178473df6b47a96dcb59",
		"002_given_up.sql":         "1892f0484360f0b9d8c9a450b8950d87bc65c0669f7dfad50d3bef7230416125",
		"003_counts.sql":           "a906388ad1db612a1174c891cd546c299004b7e34ee9805f73a5192afb7a3171",
		"004_parallel.sql":         "b70aa48e4cbf959ffc25d891428a5dbbbf1a4a2e66c67377271f5ef914a60205",
		"005_verification.sql":     "06a7af3d01d173f38515d66336f3100366b16da35d2b6a98bf51f143ead7fb43",
		"006_rejected.sql":         "2bfee6792d96b07f471a33c87fec203c75e0fac333357bf6146abaac04a9627e",
		"007_requests.sql":         "75310fe966b19a54684e4d197a320816bc00fbf1495d2487f26c4492b5aebb9a",
		"008_added.sql":            "293e3ae1fdf1b004aa29391d5e1107d84413ee5e7b6ddc12c901aa821d5cdacd",
		"009_knowledge.sql":        "007a2c71a451bfbb7de5a8ac8e7218102491eec576630f1def057ed85f869724",
		"010_plans.sql":            "bcf91d4ec9d4d0db76a847186710b70667ca0d33f6444d1d91839004fc25104a",
		"011_synced.sql":           "8924947601a58275005bf6e9da0daf3ff338f9ed2591ccbc7ebe82959baf1819",
		"012_proofs.sql":           "250bd1ab2a399fc0d7f728de8cd8696626e26e6173c6e083b67c3a4b2204850b",
		"013_travel.sql":           "554b397d17a6764017beccf46d9ec4c6ccd3c13d944ec5c0658d2503118808ce",
		"014_imported_file.sql":    "06742c1f5dfc9b77539040e123042e0d7f396af86a29ce93601a41f5bb88e843",
		"015_risk.sql":             "d38479ec56cf812466898ebfd57ee7938d1c2cfc36f88f1dfd43f920b7e24191",
		"016_pull_requests.sql":    "808c4e8a2160fc68eb3e121e2513d2af40439c9f830f920f6e898465bfa993ea",
		"017_forecasts.sql":        "1f2ee17a48776ec44162437ae283a150d026308ce1b052a47028772e1345db83",
		"018_effort.sql":           "131e8350b5d86a3282a1d5f4a5bb330e9f7af1fa5fe7fd0b1d3fff96ff0faf5b",
		"019_schedules.sql":        "467a810ccae67eb594c63a960d5f42eb07f598d3baaf83ea25f916cbe166597c",
		"020_chat.sql":             "f7b46a5413a44b381fc705bed7d5da857fa3aae465963e4c58200f1ef5098e05",
		"021_remote.sql":           "67e01a3f462cca6490c96c3d505bf59c1ba963d3c2e13d9b1b3f6bf9a83a1a58",
		"022_allowed_failures.sql": "8c80451b1bf589f3f83c42a76d89b3b35de1864e9ad5686dda285500f0e598be",
		"023_replayed.sql":         "0b4ae6c4981d53b7a24b659ff14b6f9ed1fade69f2769b642b4423575dbe9df2",
		"024_may_change.sql":       "68f7bfb41a7e999aa398674ca51e2783f4a9e20ad7ef19b495aa26cd5d50f4c5",
		"025_partial_proofs.sql":   "03da7234ef26ec3ef2603a85dcbfcd6937847bd2486bf58b99c258791ad25ef0",
		"026_ahead.sql":            "3d4e29e0642edf2e97b74fea7f961d90805969eda8da8177914f9a89b1de1514",
		"027_steps.sql":            "9d48a11ba035642c00d30e42b6562b6c4ec2a09d6648eed39310bf0fff26db4b",
		"028_refs.sql":             "8c5a6fb295ca317bbe5aeb187c99a4038860d877025ebd0161c9fd21e1456d89",
		"029_when.sql":             "975a52a62d457077c7d77be32375c078a26f167b71bb72b538e27f7f7cc93760",
	}
	check.Equal(t, "sums of migrations (add one, and its sum here, instead of editing)", applied, fingerprint(t, "migrations"))
}

// TestAnOlderFileIsCounted opens files of the format before counts were stored, and of that before the column was made
// again of which they count.
func TestAnOlderFileIsCounted(t *testing.T) {
	t.Parallel()
	names := []string{"001_graph.sql", "002_given_up.sql", "003_counts.sql", "004_parallel.sql", "005_verification.sql", "006_rejected.sql"}
	for version := 2; version <= len(names); version++ {
		t.Run(fmt.Sprint("format ", version), func(t *testing.T) { t.Parallel(); countsAfter(t, names[:version]) })
	}
}

// fileOf is a file in an older format.
func fileOf(t *testing.T, migrations ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "progress.db")
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	check.OK(t, err)
	for _, name := range migrations {
		script, err := os.ReadFile(filepath.Join("migrations", name))
		check.OK(t, err)
		check.OK(t, sqlitex.ExecuteScript(conn, string(script), nil))
	}
	check.OK(t, conn.Close())
	raw(t, path, fmt.Sprintf(`PRAGMA application_id = 0x524c5048; PRAGMA user_version = %d;`, len(migrations)))
	return path
}

func countsAfter(t *testing.T, migrations []string) {
	t.Helper()
	path := fileOf(t, migrations...)
	raw(t, path, `INSERT INTO features (id, name, created_at, updated_at) VALUES ('f-1', 'f', 0, 0);
INSERT INTO tasks (id, title, status, feature, children, parent, created_at, updated_at) VALUES
    ('t-1', 'group', 'pending', 1, 2, NULL, 0, 0), ('t-2', 'ready', 'pending', 1, 0, 1, 0, 0),
    ('t-3', 'done', 'done', 1, 0, 1, 0, 0), ('t-4', 'done', 'done', NULL, 0, NULL, 0, 0);`)
	var counts []string
	err := open(t, path, db.Options{}).View(t.Context(), func(tx *db.Tx) (err error) {
		counts, err = db.All(tx, `SELECT concat_ws(' ', feature, status, grouped, queue, tasks) FROM counts;`, (*db.Row).Text)
		return err
	})
	check.OK(t, err)
	check.Equal(t, "tasks in the queue", 1, ask(t, path, `SELECT count(*) FROM tasks INDEXED BY queue_locks WHERE queue = 0 AND lockset = char(10) || '[][]';`))
	check.Equal(t, "counts", []string{"0 done 0 -1 2", "0 pending 0 0 1", "0 pending 1 -1 1", "1 done 0 -1 1", "1 pending 0 0 1", "1 pending 1 -1 1"}, counts)
}

// TestAnOlderFileSaysWhyWorkWasRejected: there only the text of the reason did.
func TestAnOlderFileSaysWhyWorkWasRejected(t *testing.T) {
	t.Parallel()
	path := fileOf(t, "001_graph.sql", "002_given_up.sql", "003_counts.sql", "004_parallel.sql")
	want := map[string]string{
		"incomplete: sub is a repository of its own": "incomplete", "conflict: a.go changed on the target": "conflict",
		"tampering: test deleted: a": "tampering", "gate \"make\": exit status 2\nretries: verdict: no": "gate",
		"nothing changed: the task was called done": "unchanged", "verdict: no tests": "verdict",
		"not verified after 2 of 2 retries: tampering: test deleted: a": "tampering", "the agent gave up": "",
	}
	insert := `INSERT INTO runs (id, owner, pid, pid_start, boot_id, pid_ns, started_at, heartbeat_at) VALUES ('r-1', 'o', 1, 1, '', '', 0, 0);`
	for reason := range want {
		insert += fmt.Sprintf(`INSERT INTO attempts (id, run, task_id, iteration, generation, started_at, ended_at, outcome, phase, reason)
VALUES (hex(randomblob(4)), 1, 't-1', 1, 1, 0, 1, 'failed', 'settled', '%s');`, reason)
	}
	raw(t, path, insert)
	got := map[string]string{}
	check.OK(t, open(t, path, db.Options{}).View(t.Context(), func(tx *db.Tx) error {
		for r := range tx.Rows(`SELECT reason, rejected FROM attempts;`) {
			reason := r.Text()
			got[reason] = r.Text()
		}
		return tx.Err()
	}))
	check.Equal(t, "rejections", want, got)
}

// TestARunOfAnOlderRalphGoesOnAfterAMigration gives a migrated file the statements by which ralph claimed and
// counted before it: they name their indexes.
func TestARunOfAnOlderRalphGoesOnAfterAMigration(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	open(t, path, db.Options{})
	raw(t, path, `INSERT INTO features (id, name, created_at, updated_at) VALUES ('f-1', 'f', 0, 0);
INSERT INTO tasks (id, title, feature, created_at, updated_at) VALUES ('t-1', 'ready', 1, 0, 0);
UPDATE tasks INDEXED BY tasks_waiting SET not_before = 0, wait_reason = NULL WHERE not_before > 0 AND not_before <= 1;
UPDATE tasks SET status = 'in_progress', owner = 'o', lease_until = 1 WHERE n = (SELECT n FROM tasks INDEXED BY queue_all WHERE queue = 0 ORDER BY priority, n LIMIT 1);`)
	for _, statement := range []string{
		`SELECT count(*) FROM tasks INDEXED BY tasks_status WHERE feature = 1 GROUP BY status;`,
		`SELECT 1 + count(*) FROM tasks INDEXED BY tasks_groups WHERE children > 0;`,
		`SELECT 1 + count(*) FROM tasks INDEXED BY queue_feature WHERE feature = 1 AND queue <= 0;`,
		`SELECT tasks FROM counts WHERE feature = 1 AND status = 'in_progress';`,
		`SELECT 1 + allow_tampering FROM tasks;`,
	} {
		check.Equal(t, statement, 1, ask(t, path, statement))
	}
	// It knows nothing of what a newer one stores: its reset of a task, and its end of an attempt, undo that all the same.
	raw(t, path, `INSERT INTO runs (id, owner, pid, pid_start, boot_id, pid_ns, started_at, heartbeat_at) VALUES ('r-1', 'o', 1, 1, '', '', 0, 0);
INSERT INTO attempts (id, run, task, task_id, iteration, generation, started_at) VALUES ('a-1', 1, 1, 't-1', 1, 1, 0);
INSERT INTO merges (task, task_id, attempt, target, base, work, patch, at, state) VALUES
    (1, 't-1', 'a-0', 'main', 'b', 'w', 'p', 0, 'held'), (1, 't-1', 'a-1', 'main', 'b', 'w', 'p', 0, 'testing');
INSERT INTO locks VALUES ('gpu', 'a-1', 't-1'), ('slot:1', 'a-1', 't-1');
UPDATE tasks SET status = 'pending', owner = NULL, lease_until = NULL, unverified = 'a-0', review = 1;
UPDATE tasks SET unverified = NULL, updated_at = 1 WHERE n = 1;
UPDATE attempts SET phase = 'settled', ended_at = 1, outcome = 'interrupted' WHERE id = 'a-1';`)
	for statement, want := range map[string]int{
		`SELECT review FROM tasks;`: 0, `SELECT queue FROM tasks;`: 0, `SELECT count(*) FROM locks;`: 0,
		`SELECT count(*) FROM merges WHERE state = 'dropped' AND ended_at = 1;`:            2,
		`SELECT tasks FROM counts WHERE feature = 1 AND status = 'pending' AND queue = 0;`: 1,
	} {
		check.Equal(t, statement, want, ask(t, path, statement))
	}
}

// TestAReadOnlyDatabaseIsOnlyRead, whatever its owner tries.
func TestAReadOnlyDatabaseIsOnlyRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "progress.db")
	d, err := db.Open(t.Context(), path, db.Options{ReadOnly: true})
	check.OK(t, err)
	defer d.Close()
	err = d.Update(t.Context(), func(tx *db.Tx) error { return tx.Exec("DELETE FROM tasks") })
	check.That(t, err != nil && strings.Contains(err.Error(), "cannot be written"), "an update: %v", err)
	check.OK(t, d.View(t.Context(), func(tx *db.Tx) error {
		for range tx.Rows("SELECT n FROM tasks") {
		}
		return tx.Err()
	}))
}

// TestAnOlderFileSaysWhatItsTasksMayChange: there a task could change all that checks it, or nothing.
func TestAnOlderFileSaysWhatItsTasksMayChange(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("migrations/*.sql")
	check.OK(t, err)
	var older []string
	for _, name := range names {
		if strings.HasSuffix(name, "_may_change.sql") {
			break
		}
		older = append(older, filepath.Base(name))
	}
	path := fileOf(t, older...)
	raw(t, path, `INSERT INTO tasks (id, title, allow_tampering, created_at, updated_at) VALUES ('t-1', 'may', 1, 0, 0), ('t-2', 'may not', 0, 0, 0);
DELETE FROM unsaved;`)
	var got []string
	check.OK(t, open(t, path, db.Options{}).View(t.Context(), func(tx *db.Tx) (err error) {
		got, err = db.All(tx, `SELECT may_change || allow_tampering FROM tasks ORDER BY n;`, (*db.Row).Text)
		return err
	}))
	check.Equal(t, "may change", []string{`["**"]1`, `[]0`}, got)
	check.Equal(t, "plans to be written anew", 0, ask(t, path, `SELECT count(*) FROM unsaved;`))
	raw(t, path, `UPDATE tasks SET may_change = '["a"]' WHERE id = 't-2';`)
	check.Equal(t, "plans to be written after a change", 1, ask(t, path, `SELECT count(*) FROM unsaved;`))
}
