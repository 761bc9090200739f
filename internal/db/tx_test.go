package db_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

var errOnPurpose = errors.New("on purpose")

func TestWhatIsWrittenIsReadBackAlsoAfterReopening(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d, err := db.Open(t.Context(), path, db.Options{})
	check.OK(t, err)
	check.Equal(t, "path", path, d.Path())
	for _, id := range []string{"a", "b"} {
		check.OK(t, addFeature(t.Context(), d, id))
	}
	want := []string{"a", "b"}
	check.Equal(t, "before", want, features(t, d))
	check.OK(t, d.Close())
	check.Equal(t, "after", want, features(t, open(t, path, db.Options{})))
}

func TestViewKeepsNothing(t *testing.T) {
	t.Parallel()
	d := open(t, newPath(t), db.Options{})
	check.OK(t, d.View(t.Context(), func(tx *db.Tx) error { return tx.Exec(insertFeature, ":id", "a") }))
	check.Equal(t, "features", []string(nil), features(t, d))
}

func TestViewIsOneSnapshot(t *testing.T) {
	t.Parallel()
	d := open(t, newPath(t), db.Options{Conns: 2})
	count := func(tx *db.Tx) int {
		n, err := db.One(tx, "SELECT count(*) FROM features;", (*db.Row).Int)
		check.OK(t, err)
		return n
	}
	check.OK(t, d.View(t.Context(), func(tx *db.Tx) error {
		check.Equal(t, "features before", 0, count(tx))
		check.OK(t, addFeature(t.Context(), d, "a"))
		check.Equal(t, "features after another one's write", 0, count(tx))
		return nil
	}))
	check.Equal(t, "later", []string{"a"}, features(t, d))
}

func TestUpdateKeepsNothingWhen(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*db.Tx) error{
		"it returns an error":   func(*db.Tx) error { return errOnPurpose },
		"it panics":             func(*db.Tx) error { panic(errOnPurpose) },
		"a statement fails":     func(tx *db.Tx) error { return tx.Exec(insertFeature, ":id", "a") },
		"its error is ignored":  func(tx *db.Tx) error { tx.Do(insertFeature, ":id", "a"); tx.Do(insertFeature, ":id", "b"); return nil },
		"its error is replaced": func(tx *db.Tx) error { tx.Do(insertFeature, ":id", "a"); return errOnPurpose },
		"a list cannot be read": func(tx *db.Tx) error { _, _ = db.One(tx, "SELECT '{}';", db.List[string]); return nil },
		"a row panics": func(tx *db.Tx) error {
			for range tx.Rows("SELECT id FROM features;") {
				panic(errOnPurpose)
			}
			return nil
		},
		"the SQL is wrong":        func(tx *db.Tx) error { return tx.Exec("SELEKT 1;") },
		"a parameter is misspelt": func(tx *db.Tx) error { return tx.Exec(insertFeature, ":idd", "b") },
	}
	for name, fn := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, newPath(t), db.Options{})
			err := catch(func() error {
				return d.Update(t.Context(), func(tx *db.Tx) error {
					tx.Do(insertFeature, ":id", "a")
					return fn(tx)
				})
			})
			check.That(t, err != nil, "got no error")
			check.Equal(t, "features", []string(nil), features(t, d)) // also shows that the handle still works
			check.OK(t, addFeature(t.Context(), d, "later"))
		})
	}
}

// catch turns the panic that a test made on purpose into an error.
func catch(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if r != errOnPurpose { //nolint:errorlint // the very value
				panic(r)
			}
			err = errOnPurpose
		}
	}()
	return fn()
}

func TestAListThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	err := open(t, newPath(t), db.Options{}).View(t.Context(), func(tx *db.Tx) error {
		_, err := db.One(tx, "SELECT '{}' AS gates;", db.List[string])
		return err
	})
	check.That(t, err != nil && strings.Contains(err.Error(), "gates"), "the error does not name the column: %v", err)
}

func TestUpdateThatIsInterruptedKeepsNothing(t *testing.T) {
	t.Parallel()
	d := open(t, newPath(t), db.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	err := d.Update(ctx, func(tx *db.Tx) error {
		tx.Do(insertFeature, ":id", "a")
		cancel()
		return tx.Exec(insertFeature, ":id", "b")
	})
	check.That(t, err != nil, "got no error")
	check.That(t, addFeature(ctx, d, "c") != nil, "a transaction began although its context was over")
	check.Equal(t, "features", []string(nil), features(t, d))
}

func TestBindingStoresValuesAndRefusesWhatWouldBecomeText(t *testing.T) {
	t.Parallel()
	one, two, three := 1, int64(2), 3.5
	text := "x"
	tests := map[string]struct {
		value any
		want  string // as SQLite sees it; "" if refused
	}{
		"int":          {1, "integer 1"},
		"int64":        {int64(math.MinInt64), "integer -9223372036854775808"},
		"bool":         {true, "integer 1"},
		"string":       {"a'b\n😀", "text a'b\n😀"},
		"float64":      {1.5, "real 1.5"},
		"nil":          {nil, "null "},
		"*int":         {&one, "integer 1"},
		"*int64":       {&two, "integer 2"},
		"*float64":     {&three, "real 3.5"},
		"nil *int":     {(*int)(nil), "null "},
		"nil *int64":   {(*int64)(nil), "null "},
		"nil *float64": {(*float64)(nil), "null "},
		"time.Time":    {time.Unix(0, 0), ""},
		"*time.Time":   {(*time.Time)(nil), ""},
		"*string":      {&text, ""},
		"nil *string":  {(*string)(nil), ""},
		"a duration":   {time.Second, ""},
		"a list":       {[]string{"x"}, ""},
		"an error":     {errOnPurpose, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, newPath(t), db.Options{})
			got := ""
			err := d.View(t.Context(), func(tx *db.Tx) (err error) {
				got, err = db.One(tx, "SELECT typeof(:v) || ' ' || coalesce(:v, '');", (*db.Row).Text, ":v", test.value)
				return err
			})
			check.That(t, got == test.want && (err != nil) == (test.want == ""), "got %q, %v, want %q", got, err, test.want)
		})
	}
	d := open(t, newPath(t), db.Options{})
	for name, args := range map[string][]any{"half a pair": {":v"}, "a name that is none": {1, 2}} {
		err := d.View(t.Context(), func(tx *db.Tx) error { return tx.Exec("SELECT :v;", args...) })
		check.That(t, err != nil, "%s: got no error", name)
	}
}

func TestTwoHandlesOnOneFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	a := open(t, path, db.Options{})
	b := open(t, path, db.Options{BusyTimeout: time.Millisecond})
	check.OK(t, addFeature(t.Context(), a, "a"))
	check.OK(t, a.Update(t.Context(), func(tx *db.Tx) error {
		tx.Do(insertFeature, ":id", "b")
		check.Equal(t, "a reader beside a writer", []string{"a"}, features(t, b))
		check.Equal(t, "a second writer", db.Busy, kind(addFeature(t.Context(), b, "c")))
		return nil
	}))
	check.OK(t, addFeature(t.Context(), b, "c"))
	check.Equal(t, "at the end", []string{"a", "b", "c"}, features(t, a))
}

func TestForeignKeysHold(t *testing.T) {
	t.Parallel()
	d := open(t, newPath(t), db.Options{Conns: 2})
	for range 2 { // on each connection
		err := d.Update(t.Context(), func(tx *db.Tx) error {
			return tx.Exec("INSERT INTO dependencies (blocker, blocked) VALUES (1, 2);")
		})
		check.That(t, err != nil, "a dependency between tasks that do not exist was stored")
	}
}

func TestVersionChangesWhenAnotherHandleWrites(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	mine, other := open(t, path, db.Options{}), open(t, path, db.Options{})
	version := func() int64 {
		t.Helper()
		v, err := mine.Version(t.Context())
		check.OK(t, err)
		return v
	}
	before := version()
	check.Equal(t, "version without a write", before, version())
	check.OK(t, addFeature(t.Context(), other, "f-1"))
	after := version()
	check.That(t, after != before, "a write of another handle is not seen")
	check.OK(t, addFeature(t.Context(), mine, "f-2"))
	check.Equal(t, "version after a write of this handle", after, version())
}
