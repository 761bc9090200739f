package detect

import (
	"slices"
	"strings"
	"sync"

	"ralph/internal/permission"
	"ralph/internal/seq"
	"ralph/internal/toolcall"
)

// inPlace are the commands that destroy only what is in the folder where they run.
var inPlace = sync.OnceValue(func() []permission.Rule { return rules([]string{`git*reset --hard*`}) })

// destructive are the commands that look destructive, in small letters: whole disks, homes and working trees, what others
// have on a branch, tables. Each is a rule for execute, so pipes, sudo and sh -c are seen through.
var destructive = sync.OnceValue(func() []permission.Rule {
	list := []string{
		`rm*--no-preserve-root*`, `mkfs*`, `dd *of=/dev/sd*`, `dd *of=/dev/nvme*`, `dd *of=/dev/disk*`, `dd *of=/dev/vd*`,
		`git*push*--force*`, `git*push* -f`, `git*push* -f *`, `git*push* +*`,
		`terraform destroy*`,
	}
	for _, root := range []string{`/`, `/\*`, `~`, `~/`, `~/\*`, `$home`, `$home/`, `.`, `./`, `..`, `\*`, `/etc`, `/home`, `/usr`, `/var`} {
		list = append(list, "rm -*r* "+root, "rm -*r* "+root+" *")
	}
	for _, client := range []string{"psql", "mysql", "mariadb", "sqlite3"} {
		for _, statement := range []string{"drop table", "drop database", "drop schema", "truncate "} {
			list = append(list, client+"*"+statement+"*")
		}
	}
	return rules(list)
})

func rules(list []string) []permission.Rule {
	return seq.Map(list, func(pattern string) permission.Rule {
		rule, err := permission.ParseRule("execute:" + pattern)
		if err != nil {
			panic(err) // the list is ours
		}
		return rule
	})
}

// LooksDestructive reports whether a command is one of those that are hard to undo, in a slot or in a person's own folder. It is a
// guess by the words of the command; what a script does is not known.
func LooksDestructive(c toolcall.Call, slot bool) bool {
	c.Command = strings.ToLower(c.Command)
	matches := func(r permission.Rule) bool { return r.Matches(c) }
	return slices.ContainsFunc(destructive(), matches) || !slot && slices.ContainsFunc(inPlace(), matches)
}
