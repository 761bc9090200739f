package main

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
)

// npmName is the package that people name; those that carry a binary have the system and the processor behind it.
const npmName = "ralph-runner"

// node's names for systems and processors.
var (
	nodeOS   = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
	nodeArch = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

//go:embed npm/ralph.js
var launcher []byte

// npm packs a package for each archive of the release, with its binary and the names of where it runs, and one that depends on all of
// them. npm installs the one that fits, so nothing is fetched by a script.
func (m *maker) npm(f facts) error {
	common := map[string]any{
		"version": f.version, "license": "MIT", "homepage": m.home,
		"description": "Runs AI coding agents through a dependency graph of tasks",
	}
	license, err := os.ReadFile(filepath.Join(m.root, "LICENSE"))
	if err != nil {
		return err
	}
	all := map[string]string{}
	for _, t := range m.targets() {
		archive, err := f.names(t).fill(m.config.Archive[0].Name)
		if err != nil {
			return err
		}
		program := m.config.Builds[0].Binary
		if t.os == "windows" {
			program += ".exe"
		}
		data, err := unpack(filepath.Join(m.out, archive+"."+m.config.Archive[0].format(t.os)), program)
		if err != nil {
			return err
		}
		name := npmName + "-" + nodeOS[t.os] + "-" + nodeArch[t.arch]
		all[name] = f.version
		own := map[string]any{"name": name, "os": []string{nodeOS[t.os]}, "cpu": []string{nodeArch[t.arch]}, "preferUnplugged": true}
		if err := m.npmPack(f, common, own, entry{name: "package/bin/" + program, program: true, data: data}, entry{name: "package/LICENSE", data: license}); err != nil {
			return err
		}
	}
	own := map[string]any{
		"name": npmName, "bin": map[string]string{"ralph": "bin/ralph.js", npmName: "bin/ralph.js"}, "optionalDependencies": all,
		"engines": map[string]string{"node": ">=18"},
	}
	readme, err := m.readme()
	if err != nil {
		return err
	}
	return m.npmPack(f, common, own, entry{name: "package/bin/ralph.js", program: true, data: launcher},
		entry{name: "package/LICENSE", data: license}, entry{name: "package/README.md", data: readme})
}

// npmPack writes a package as npm pack names it.
func (m *maker) npmPack(f facts, common, own map[string]any, files ...entry) error {
	for key, value := range common {
		own[key] = value
	}
	text, err := json.MarshalIndent(own, "", "  ")
	if err != nil {
		return err
	}
	name := own["name"].(string) + "-" + f.version + ".tgz"
	m.say("%s", name)
	return pack(filepath.Join(m.out, name), append([]entry{{name: "package/package.json", data: append(text, '\n')}}, files...), f.when)
}
