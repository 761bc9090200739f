package wiring

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/cli"
	"ralph/internal/proc"
)

// CheckOutput refuses files that can never be written, before anything is opened; one
// file for two things, because the later one would replace the other; and files that
// ralph itself needs.
func CheckOutput(a *cli.App, output OutputOptions) error {
	if err := cli.CheckChoice("log-format", cmp.Or(a.LogFormat, "text"), "text", "json"); err != nil {
		return err
	}
	taken := map[string]string{}
	for _, f := range output.Files() {
		path := cli.Absolute(a, f.name)
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			continue // a device, such as /dev/null, takes everything
		}
		settled := atomicfile.Settle(path)
		why := Reserved(a, path)
		switch parent, perr := os.Stat(filepath.Dir(path)); {
		case taken[settled] != "":
			return cli.Usagef("--%s and --%s cannot be the same file: %s", taken[settled], f.flag, f.name)
		case why != "":
			return cli.Usagef("--%s: %s %s", f.flag, f.name, why)
		case f.flag == "junit" || f.flag == "summary": // prepareReports checks more
		case err == nil && info.IsDir():
			return cli.Usagef("--%s: %s is a folder", f.flag, f.name)
		case perr != nil || !parent.IsDir():
			return cli.Usagef("--%s: %s: there is no such folder", f.flag, filepath.Dir(f.name))
		}
		taken[settled] = f.flag
	}
	return nil
}

// Reserved says why no output may go to a file, or nothing: ralph or git needs it, or a link
// leads there from inside the project, where an agent can put one.
func Reserved(a *cli.App, path string) string {
	p, err := a.FindProject()
	if err != nil {
		return ""
	}
	root, err := filepath.EvalSymlinks(p.Root)
	if err != nil {
		return ""
	}
	settled := atomicfile.Settle(path)
	link, err := os.Lstat(path)
	isLink := err == nil && link.Mode()&os.ModeSymlink != 0
	own := func(file string) bool { return settled == atomicfile.Settle(file) || sameFile(path, file) }
	switch {
	case slices.ContainsFunc([]string{p.Config(), p.DB(), p.DB() + "-wal", p.DB() + "-shm"}, own):
		return "is ralph's own"
	case slices.Contains(strings.Split(filepath.ToSlash(settled), "/"), ".git"):
		return "is git's own"
	case (below(p.Root, path) || below(root, path)) && (isLink || !below(root, settled)):
		return "is behind a link, which an agent may have made: name the file that it leads to"
	}
	return ""
}

func below(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, oerr := os.Stat(b)
	return err == nil && oerr == nil && os.SameFile(one, other)
}

// OutputKey is where the settings of a run name the files that it writes. It is no flag,
// so that a run that continues another one does not inherit it.
const OutputKey = "output files"

// OwnFiles lists, as names below the project, the files that ralph itself writes there
// while it runs: they are no evidence of work. Those are what this process has open, what this
// command writes now and then or at its end, and what other runs recorded.
func OwnFiles(a *cli.App, s *cli.Session, output OutputOptions) func([]dag.Run) []string {
	var named []string
	for _, f := range output.Files() {
		if f.flag != "metrics" && f.name != "-" {
			named = append(named, cli.Absolute(a, f.name))
		}
	}
	if path, _ := MetricsFile(a, s, output); path != "" {
		named = append(named, path)
	}
	return func(runs []dag.Run) []string {
		paths := proc.OpenForWriting()
		for _, path := range named {
			paths = append(paths, atomicfile.Settle(path))
		}
		names := s.Project.Names(paths)
		for _, run := range runs {
			names = append(names, outputOf(run)...)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
}

// outputOf lists the files below the project that a run recorded as its output.
func outputOf(run dag.Run) []string {
	var given map[string]string
	if json.Unmarshal([]byte(run.Settings), &given) != nil || given[OutputKey] == "" {
		return nil
	}
	return strings.Split(given[OutputKey], "\x00")
}

// MetricsFile is where metrics are kept, and what named it; empty is nowhere.
func MetricsFile(a *cli.App, s *cli.Session, output OutputOptions) (path, named string) {
	path, named = s.Config.Telemetry.Prometheus, "telemetry.prometheus"
	switch {
	case output.Metrics != nil:
		path, named = cli.Absolute(a, *output.Metrics), "--metrics"
	case path != "" && !filepath.IsAbs(path):
		path = filepath.Join(s.Project.Root, path)
	}
	return path, named
}

// OutputOptions names the files that a run writes besides its own.
type OutputOptions struct {
	Events, LogFile         string
	Metrics, JUnit, Summary *string
}

// OutputFile is a flag that names a file, and the name.
type OutputFile struct{ flag, name string }

// Files lists the files that were named, in the order of the help.
func (o OutputOptions) Files() []OutputFile {
	list := []OutputFile{
		{"events", o.Events}, {"log-file", o.LogFile}, {"metrics", cli.Or(o.Metrics, "")}, {"junit", cli.Or(o.JUnit, "")}, {"summary", cli.Or(o.Summary, "")},
	}
	return slices.DeleteFunc(list, func(f OutputFile) bool { return f.name == "" || f.name == "-" && f.flag == "events" })
}
