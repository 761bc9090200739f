package tamper

import (
	"go/build/constraint"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Names of systems and processors, which the go command also reads out of the name
// of a file. Package go/build knows them, and costs half a megabyte.
var (
	goSystems = strings.Fields(`aix android darwin dragonfly freebsd illumos ios js linux netbsd openbsd plan9 solaris wasip1 windows`)
	goUnix    = strings.Fields(`aix android darwin dragonfly freebsd illumos ios linux netbsd openbsd solaris`)
	goArchs   = strings.Fields(`386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm`)
)

// goBuilds reports whether the go command builds a file here without any tags.
func goBuilds(file, text string) bool {
	name := path.Base(file)
	if strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") || !goName(name) {
		return false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if constraint.IsGoBuild(line) {
			expr, err := constraint.Parse(line)
			return err != nil || expr.Eval(goTag)
		}
		if strings.HasPrefix(line, "package ") {
			break
		}
	}
	return true
}

// goName testCommand the end of a name: x_linux.go, x_arm64.go, x_linux_arm64.go, each
// also before _test.
func goName(name string) bool {
	words := strings.Split(strings.TrimSuffix(strings.TrimSuffix(name, ".go"), "_test"), "_")[1:]
	if len(words) > 2 {
		words = words[len(words)-2:]
	}
	if len(words) == 2 && slices.Contains(goSystems, words[0]) && slices.Contains(goArchs, words[1]) {
		return goTag(words[0]) && goTag(words[1])
	}
	if len(words) == 0 {
		return true
	}
	last := words[len(words)-1]
	known := slices.Contains(goSystems, last) || slices.Contains(goArchs, last)
	return !known || goTag(last)
}

// goTag says whether a tag is set where the gates run.
func goTag(tag string) bool {
	switch tag {
	case runtime.GOOS, runtime.GOARCH, "gc", "cgo":
		return true
	case "unix":
		return slices.Contains(goUnix, runtime.GOOS)
	}
	version, release := strings.CutPrefix(tag, "go1.")
	n, err := strconv.Atoi(version)
	return release && err == nil && n <= goMinor()
}

// goMinor is the N of go1.N, of the program that testCommand.
func goMinor() int {
	_, version, _ := strings.Cut(runtime.Version(), "go1.")
	end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		version = version[:end]
	}
	n, err := strconv.Atoi(version)
	if err != nil {
		return 1 << 10 // a toolchain of the future: take every release for past
	}
	return n
}
