package sandbox

import (
	"os"
	"strings"
	"testing"

	"ralph/internal/seen"
	"ralph/internal/testing/check"
)

// placed is a profile whose process finds the project in the place of another one.
func (w *world) placed(t testing.TB, mode Mode) Profile {
	fill(t, w.Base, map[string]string{
		"person/file": "the person's", "person/own": "the person's", "person/secret": "secret", "person/.git/HEAD": "the person's",
		"person/.ralph/db": "db", "person/.ralph/state": "state", "person/.ralph/plans/a": "the person's", "project/.ralph/plans/a": "project", "project/.ralph/new": "", "view/.keep": "",
	})
	p := w.profile(Namespaces, mode)
	p.Place = seen.Folder{Real: w.Project, Seen: w.Base + "/person", View: w.Base + "/view"}
	p.Ours, p.Hide = p.Place.Seen+"/.ralph", append(p.Hide, p.Place.Seen+"/secret")
	return p
}

// TestAProjectInThePlaceOfAnother is all that its processes find there: they read the other one where it is shown, and write it nowhere.
func TestAProjectInThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	need(t, Namespaces)
	upper := func(w *world, p *Profile) {
		p.Upper = w.Base + "/upper"
		must(os.Mkdir(p.Upper, 0o700))
	}
	for name, tt := range map[string]struct {
		mode   Mode
		adjust func(*world, *Profile)
		really bool // the project is written
	}{
		"work":     {mode: Work, adjust: func(*world, *Profile) {}, really: true},
		"upper":    {mode: Work, adjust: upper},
		"verifier": {mode: Verify, adjust: func(*world, *Profile) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.placed(t, tt.mode)
			tt.adjust(w, &p)
			before := look(p.Place.Seen)
			out, exit := run(t, p, []string{"P=" + p.Place.Seen, "V=" + p.Place.View, "R=" + w.Project}, "sh", "-c", `
				fails() { "$@" 2>/dev/null && echo "done: $*"; }
				puts() { echo x > "$1"; }
				echo $(pwd | sed "s|.*/||") $(cat $P/file) $(cat $P/.ralph/db $P/.ralph/plans/a) $(cat $V/file)
				echo new > $P/file; cat file
				fails ls $P/own; fails grep secret $V/secret
				for f in $P/.ralph/db $P/.ralph/x $P/.ralph/plans/a $P/.ralph.toml $P/.git/config $V/file $V/.git/HEAD $P/../x $R/file; do fails puts $f; done
				fails umount $P; fails mount --bind $V $P; :`)
			check.That(t, exit.Ok(), "%v: %s", exit, out)
			check.Equal(t, "what it finds", "person project dbproject the person's\nnew", out)
			check.Equal(t, "the other one", before, look(p.Place.Seen))
			text, err := os.ReadFile(w.Project + "/file")
			check.OK(t, err)
			check.Equal(t, "the project is written", tt.really, strings.TrimSpace(string(text)) == "new")
		})
	}
}
