package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/goccy/go-yaml"
)

// packages makes deb and rpm with nfpm, which goreleaser calls a library and which is a program here. What .goreleaser.yaml says of them
// is nfpm's own configuration, but for what goreleaser fills in.
func (m *maker) packages(ctx context.Context, f facts, t target, binary string) ([]string, error) {
	nfpm, err := exec.LookPath("nfpm")
	if errors.Is(err, exec.ErrNotFound) {
		m.say("SKIPPED: deb and rpm for %s, because nfpm is not on PATH", t.arch)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	again, err := readConfig(filepath.Join(m.root, ".goreleaser.yaml")) // filling changes it
	if err != nil {
		return nil, err
	}
	settings := again.Package[0]
	if _, err := f.names(t).fillAll(settings); err != nil {
		return nil, err
	}
	name, _ := settings["file_name_template"].(string)
	formats, _ := settings["formats"].([]any)
	bindir, _ := settings["bindir"].(string)
	contents, _ := settings["contents"].([]any)
	for _, key := range []string{"file_name_template", "formats", "bindir", "dependencies"} {
		delete(settings, key)
	}
	settings["depends"] = m.config.Package[0]["dependencies"]
	settings["name"], settings["arch"], settings["platform"], settings["version"] = m.config.Project, t.arch, t.os, f.version
	settings["contents"] = append(contents, yamlMap{"src": binary, "dst": bindir + "/" + m.config.Builds[0].Binary, "file_info": yamlMap{"mode": 0o755}})
	text, err := yaml.Marshal(settings)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(m.out, t.os, t.arch, "nfpm.yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return nil, err
	}
	var made []string
	for _, format := range formats {
		made = append(made, name+"."+format.(string))
		m.say("%s", made[len(made)-1])
		if _, err := m.output(ctx, []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(f.when.Unix(), 10)}, nfpm, "package", "--config", file, "--packager", format.(string), "--target", filepath.Join(m.out, made[len(made)-1])); err != nil {
			return nil, err
		}
	}
	return made, nil
}
