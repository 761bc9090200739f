package features

import (
	"ralph/dag"
	"ralph/internal/glob"
	"ralph/internal/project"
)

// mayChange looks at what a task may change of what checks it. Where a task names protected files and may not change them, its work
// would be rejected: paths says that it changes them, a description may name them for another reason.
func (l *linter) mayChange(s *dag.Spec, text string) {
	may := s.MayChange
	if stored, err := dag.CleanMayChange(may); err == nil { // what cannot be stored is a finding of its own
		may = stored
	}
	if glob.Match(may, project.ConfigName) {
		l.add(Fault, "may_change", "%s may change %s, which only a person may allow: name the tests or files in may_change that it has to change", name(s), project.ConfigName)
	}
	asks := func(level Level, paths []string, what string) {
		for _, path := range paths {
			if glob.Match(l.ground.Protect, path) && !glob.Match(may, path) {
				l.add(level, "may_change", "%s %s %s, which is protected: if it is to change that file, it needs \"may_change\":[%q]", name(s), what, path, path)
			}
		}
	}
	asks(Fault, s.Paths, "touches")
	asks(Warning, pathsIn(text), "names")
}
