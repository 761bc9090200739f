package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/goccy/go-yaml"
)

// config is what .goreleaser.yaml says, as far as this program follows it. Keys that it does not know belong to goreleaser alone.
type config struct {
	Project string    `yaml:"project_name"`
	Builds  []build   `yaml:"builds"`
	Archive []archive `yaml:"archives"`
	Package []yamlMap `yaml:"nfpms"`
	SBOM    []struct {
		Documents []string
	} `yaml:"sboms"`
	Checksum struct {
		Name string `yaml:"name_template"`
	} `yaml:"checksum"`
}

type yamlMap = map[string]any

type build struct {
	Main, Binary                      string
	Env, Goos, Goarch, Flags, Ldflags []string
}

type archive struct {
	Name      string `yaml:"name_template"`
	Formats   []string
	Overrides []struct {
		Goos    string
		Formats []string
	} `yaml:"format_overrides"`
	Files []struct{ Src, Dst string }
}

func readConfig(path string) (config, error) {
	var c config
	text, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if len(c.Builds) != 1 || len(c.Archive) != 1 || len(c.Package) != 1 || len(c.SBOM) != 1 || len(c.SBOM[0].Documents) != 1 {
		return c, fmt.Errorf("%s: this program follows one build, one archive, one nfpm and one SBOM", path)
	}
	return c, nil
}

// format is how a system's archive is packed.
func (a archive) format(goos string) string {
	for _, o := range a.Overrides {
		if o.Goos == goos {
			return o.Formats[0]
		}
	}
	return a.Formats[0]
}

// names is what the templates of .goreleaser.yaml may name.
type names struct{ Version, FullCommit, CommitDate, Os, Arch string }

func (n names) fill(text string) (string, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = t.Execute(&b, n)
	return b.String(), err
}

// fillAll fills every text in a tree of YAML.
func (n names) fillAll(v any) (any, error) {
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, "{{") {
			return v, nil
		}
		return n.fill(v)
	case yamlMap:
		for key, inner := range v {
			filled, err := n.fillAll(inner)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			v[key] = filled
		}
	case []any:
		for i, inner := range v {
			filled, err := n.fillAll(inner)
			if err != nil {
				return nil, err
			}
			v[i] = filled
		}
	}
	return v, nil
}
