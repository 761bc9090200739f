package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"strings"
)

// component is a part of a CycloneDX document.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

// writeSBOM lists the modules of a binary, as the toolchain wrote them into it, in CycloneDX. It has no serial number and
// no time, so that the same binary has the same list.
func writeSBOM(version, binary, document string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	module := func(kind, path, version string) component {
		purl := "pkg:golang/" + path + "@" + version
		return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
	}
	main := module("application", info.Main.Path, "v"+version)
	list := []component{module("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		list = append(list, module("library", d.Path, d.Version))
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{"component": main}, "components": list,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(document, append(text, '\n'), 0o644)
}
