package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

type target struct{ os, arch string }

func (m *maker) targets() []target {
	var list []target
	for _, goos := range m.config.Builds[0].Goos {
		for _, arch := range m.config.Builds[0].Goarch {
			if m.only == "" || m.only == goos+"/"+arch {
				list = append(list, target{goos, arch})
			}
		}
	}
	return list
}

// facts are what a release is made of beside its files.
type facts struct {
	version, revision string
	when              time.Time // of the commit, or SOURCE_DATE_EPOCH
}

func (f facts) names(t target) names {
	return names{Version: f.version, FullCommit: f.revision, CommitDate: f.when.Format(time.RFC3339), Os: t.os, Arch: t.arch}
}

// versions are those that npm, deb and rpm understand.
var versions = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// facts are refused if they are not those of a release that others can install, and make again from its commit.
func (m *maker) facts(ctx context.Context) (facts, error) {
	f := facts{version: m.version}
	if (m.home == "" || m.home == placeholder) && !m.snapshot {
		return f, errors.New("where will this release be published? Say -home https://github.com/YOU/ralph, which goes into the installer, the formula and the packages; or make a -snapshot")
	}
	m.home = cmp.Or(m.home, placeholder)
	log, err := m.output(ctx, nil, "git", "log", "-1", "--no-show-signature", "--format=%H %ct")
	if err != nil {
		return f, err
	}
	changed, err := m.output(ctx, nil, "git", "status", "--porcelain")
	if err != nil {
		return f, err
	}
	if changed != "" && !m.snapshot {
		return f, fmt.Errorf("files differ from the commit whose name this release has: commit them, or make a -snapshot\n%s", strings.TrimRight(changed, "\n"))
	}
	revision, seconds, _ := strings.Cut(strings.TrimSpace(log), " ")
	if f.revision = revision; f.version == "" {
		tag, err := m.output(ctx, nil, "git", "describe", "--exact-match", "--tags", "--match", "v*")
		if err != nil {
			return f, errors.New("this commit has no tag such as v0.1.0: tag it, or say which version it is with -version")
		}
		f.version = strings.TrimSpace(tag)
	}
	if f.version = strings.TrimPrefix(f.version, "v"); !versions.MatchString(f.version) {
		return f, fmt.Errorf("%q is no version: it has three numbers, such as 0.1.0 or 0.1.0-rc.1", f.version)
	}
	if changed != "" {
		f.revision += "+"
	}
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds = epoch
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return f, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	f.when = time.Unix(n, 0).UTC()
	return f, nil
}

// share writes what packages install beside the program. It is made by the program itself.
func (m *maker) share(ctx context.Context) error {
	dir := filepath.Join(m.root, "release", "share")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b := m.config.Builds[0]
	for shell, name := range map[string]string{"bash": "ralph.bash", "zsh": "_ralph", "fish": "ralph.fish"} {
		// Go keeps what it runs, so it is linked once for all shells and for the next time.
		script, err := m.output(ctx, slices.Concat(b.Env, []string{"GOOS=", "GOARCH="}), "go", slices.Concat([]string{"run"}, b.Flags, []string{b.Main, "completion", shell})...)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o644); err != nil {
			return err
		}
	}
	readme, err := m.readme()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), readme, 0o644); err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(m.root, "docs", "ralph.1"))
	if err != nil {
		return err
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(page); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "ralph.1.gz"), zipped.Bytes(), 0o644)
}

// target makes what there is for a system: its archive, the list of its modules, and on Linux its packages. It returns their names.
func (m *maker) target(ctx context.Context, f facts, t target) ([]string, error) {
	binary, err := m.compile(ctx, f, t)
	if err != nil {
		return nil, err
	}
	document, err := f.names(t).fill(m.config.SBOM[0].Documents[0])
	if err != nil {
		return nil, err
	}
	if err := writeSBOM(f.version, binary, filepath.Join(m.out, document)); err != nil {
		return nil, err
	}
	archive, err := m.archive(f, t, binary)
	if err != nil {
		return nil, err
	}
	m.say("%s\n%s", archive, document)
	made := []string{archive, document}
	if t.os == "linux" {
		packages, err := m.packages(ctx, f, t, binary)
		if err != nil {
			return nil, err
		}
		made = append(made, packages...)
	}
	return made, nil
}

// compile builds the program, at OS/ARCH/ralph in the folder of the release, which is where Dockerfile looks for it.
func (m *maker) compile(ctx context.Context, f facts, t target) (string, error) {
	b := m.config.Builds[0]
	ldflags, err := f.names(t).fill(strings.Join(b.Ldflags, " "))
	if err != nil {
		return "", err
	}
	binary := filepath.Join(m.out, t.os, t.arch, b.Binary)
	if t.os == "windows" {
		binary += ".exe"
	}
	args := slices.Concat([]string{"build"}, b.Flags, []string{"-ldflags", ldflags, "-o", binary, b.Main})
	_, err = m.output(ctx, slices.Concat(b.Env, []string{"GOOS=" + t.os, "GOARCH=" + t.arch}), "go", args...)
	return binary, err
}

func (m *maker) archive(f facts, t target, binary string) (string, error) {
	a := m.config.Archive[0]
	name, err := f.names(t).fill(a.Name)
	if err != nil {
		return "", err
	}
	var entries []entry
	for _, file := range a.Files {
		data, err := os.ReadFile(filepath.Join(m.root, file.Src))
		if err != nil {
			return "", err
		}
		to := file.Dst
		if to == "" {
			to = file.Src
		}
		entries = append(entries, entry{name: to, data: data})
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return "", err
	}
	entries = append(entries, entry{name: filepath.Base(binary), program: true, data: program})
	name += "." + a.format(t.os)
	return name, pack(filepath.Join(m.out, name), entries, f.when)
}

// checksums writes the sums of files, as sha256sum prints and checks them.
func (m *maker) checksums(files []string) error {
	slices.Sort(files)
	var b strings.Builder
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(m.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name)
	}
	return m.write(m.config.Checksum.Name, b.String(), 0o644)
}

// sums are the checksums of the release, by name.
func (m *maker) sums() (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(m.out, m.config.Checksum.Name))
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			sums[name] = sum
		}
	}
	return sums, nil
}
