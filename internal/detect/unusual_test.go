package detect

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/internal/seq"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded"
	"ralph/internal/toolcall"
)

func anomalies(a Anomaly) Limits { return Limits{Anomaly: a} }

func kinds(found []Signal) []Kind { return seq.Map(found, func(f Signal) Kind { return f.Kind }) }

func TestTooMuchInAMinute(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind  string
		every time.Duration
		calls int
		want  []Kind
	}{
		"writes":                        {"edit", time.Second, 4, []Kind{Writes}},
		"writes at the limit":           {"edit", time.Second, 3, nil},
		"writes that ralph does for it": {"write", time.Second, 4, []Kind{Writes}},
		"slow writes":                   {"edit", 20 * time.Second, 100, nil},
		"deletions":                     {"delete", time.Second, 3, []Kind{Deletions}},
		"reading":                       {"read", 0, 100, nil},
		"it starts over after it fired": {"delete", time.Second, 6, []Kind{Deletions, Deletions}},
	} {
		d := Detector{Limits: anomalies(Anomaly{WritesPerMinute: 3, DeletionsPerMinute: 2})}
		var got []Kind
		for i := range tc.calls {
			got = append(got, kinds(d.See(toolcall.Call{Kind: tc.kind, Paths: []string{"a"}}, began.Add(time.Duration(i)*tc.every)))...)
		}
		check.Equal(t, name, tc.want, got)
	}
	d := Detector{Limits: anomalies(Anomaly{DeletionsPerMinute: 2})}
	check.Equal(t, "many files in one call", []Kind{Deletions}, kinds(d.See(toolcall.Call{Kind: "delete", Paths: []string{"a", "b", "c"}}, began)))
	check.Equal(t, "no limit", []Kind{}, kinds((&Detector{}).See(toolcall.Call{Kind: "delete", Paths: make([]string, 1000)}, began)))
}

// TestTheWindowIsAMinute compares the detector with counting all that came before.
func TestTheWindowIsAMinute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		d, now, since := Detector{Limits: anomalies(Anomaly{WritesPerMinute: limit})}, began, []time.Time(nil)
		for _, gap := range rapid.SliceOfN(rapid.IntRange(0, 70), 1, 40).Draw(t, "gaps") {
			now = now.Add(time.Duration(gap) * time.Second)
			since = append(since, now)
			last := 0
			for _, at := range since {
				if now.Sub(at) < time.Minute {
					last++
				}
			}
			fired := len(d.See(toolcall.Call{Kind: "edit", Paths: []string{"a"}}, now)) > 0
			check.Equal(t, "fired", last > limit, fired)
			if fired {
				since = nil
			}
		}
	})
}

func TestFilesOutsideOfTheTask(t *testing.T) {
	t.Parallel()
	d := Detector{Limits: Default(), Paths: []string{"parser/**", "go.mod"}}
	see := func(kind string, paths ...string) []Signal {
		return d.See(toolcall.Call{Kind: kind, Paths: paths}, began)
	}
	check.Equal(t, "inside", 0, len(see("edit", "parser/a.go", "go.mod")))
	check.Equal(t, "reading", 0, len(see("read", "cmd/main.go")))
	check.Equal(t, "outside", []Signal{{Outside, "changes outside the paths of the task (parser/**, go.mod): cmd/main.go, /etc/x"}}, see("edit", "parser/a.go", "cmd/main.go", "/etc/x"))
	check.Equal(t, "it is said once", 0, len(see("delete", "cmd/main.go")))
	d = Detector{Limits: Default()}
	check.Equal(t, "a task without paths", 0, len(see("edit", "cmd/main.go")))
}

func TestCommandsThatLookDestructive(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"rm -rf /", "rm -fr ~", "rm -r -f $HOME", "sudo rm -Rf /*", "cd x && rm -rf .", "rm -rf .. build", "sh -c 'rm -rf /'", "rm -rf *", "/bin/rm -rf /home",
		"git push --force", "git push -f origin main", "git -C sub push origin --force-with-lease", "git push origin +main", "git reset --hard HEAD~3", "true; git reset --hard",
		`psql -c "DROP TABLE users"`, "sqlite3 app.db 'drop table users;'", "mysql shop -e 'TRUNCATE orders'",
		"mkfs.ext4 /dev/sda1", "dd if=/dev/zero of=/dev/sda bs=1M", "terraform destroy -auto-approve",
	} {
		check.That(t, LooksDestructive(toolcall.Call{Kind: "execute", Command: command}, false), "%s does not", command)
		check.That(t, LooksDestructive(toolcall.Call{Kind: toolcall.Terminal, Command: command}, false), "%s does not in a terminal", command)
	}
	for _, command := range []string{
		"rm -rf build", "rm -rf ./node_modules", "rm -rf /tmp/x", "rm a b", "git push origin main", "git reset --soft HEAD~1", "git push --follow-tags",
		"dd if=a of=b", "dd if=/dev/zero of=/dev/null", "grep -r 'DROP TABLE' .", "go test ./...", "terraform plan", "", "psql -c 'select 1'", "git push -q -u origin feature",
	} {
		check.That(t, !LooksDestructive(toolcall.Call{Kind: "execute", Command: command}, false), "%s does", command)
	}
	check.That(t, !LooksDestructive(toolcall.Call{Kind: "execute", Command: "git reset --hard"}, true), "git reset --hard does in a slot")
	check.That(t, LooksDestructive(toolcall.Call{Kind: "execute", Command: "git push --force"}, true), "git push --force does not in a slot")
	d := Detector{Limits: Default()}
	check.Equal(t, "found", []Kind{Destructive}, kinds(d.See(toolcall.Call{Kind: "execute", Command: "rm -rf /"}, began)))
	d.Limits.Anomaly.Destructive = false
	check.That(t, slices.Equal(nil, d.See(toolcall.Call{Kind: "execute", Command: "rm -rf /"}, began)), "it is turned off")
}
