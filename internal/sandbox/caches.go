package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Cache is a folder or file in which build tools keep what they can get again.
type Cache struct {
	Path      string
	Owner     string   // the folder of its tool: where that exists, the cache is made, because in a read-only home the tool cannot
	Marks     []string // files of a project that needs the cache
	Variable  string   // moves the cache, if there is such a variable
	Downloads bool     // useful without being written: tools only add what they fetched

	// Registry says that a daemon listens in these folders, a pattern, or says there where it does. It answers for the project's path
	// with the person's files, so processes that find a slot at that path find the folders empty.
	Registry bool
}

// Wanted says whether the cache is there, or may be made for this project.
func (c Cache) Wanted(project string) bool {
	marked := func(mark string) bool { return exists(filepath.Join(project, mark)) }
	return exists(c.Path) || c.Owner != "" && exists(c.Owner) || slices.ContainsFunc(c.Marks, marked)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Caches lists where build tools keep their caches, without the settings, credentials and
// programs that some keep beside them.
func Caches(home string, getenv func(string) string) []Cache {
	in := func(variable, fallback string) string {
		if dir := getenv(variable); dir != "" || home == "" {
			return dir
		}
		return filepath.Join(home, fallback)
	}
	gopath, _, _ := strings.Cut(in("GOPATH", "go"), string(filepath.ListSeparator))
	var (
		xdg      = in("XDG_CACHE_HOME", ".cache")
		npm      = in("NPM_CONFIG_CACHE", ".npm")
		pnpm     = in("PNPM_HOME", ".local/share/pnpm")
		yarn     = in("YARN_GLOBAL_FOLDER", ".yarn/berry")
		bun      = in("BUN_INSTALL", ".bun")
		cargo    = in("CARGO_HOME", ".cargo")
		maven    = in("", ".m2")
		gradle   = in("GRADLE_USER_HOME", ".gradle")
		nuget    = in("", ".nuget")
		inGo     = []string{"go.mod", "go.work"}
		inRust   = []string{"Cargo.toml"}
		inJS     = []string{"package.json"}
		inGradle = []string{"build.gradle", "build.gradle.kts", "gradlew"}
	)
	list := []Cache{
		{Path: xdg, Marks: append([]string{"pyproject.toml", "requirements.txt"}, inGo...), Variable: "XDG_CACHE_HOME"},
		{Path: getenv("GOCACHE"), Marks: inGo, Variable: "GOCACHE"},
		{Path: cmp.Or(getenv("GOMODCACHE"), filepath.Join(gopath, "pkg", "mod")), Owner: gopath, Marks: inGo, Variable: "GOMODCACHE", Downloads: true},
		{Path: filepath.Join(gopath, "pkg", "sumdb"), Owner: gopath, Marks: inGo},
		{Path: npm, Marks: inJS, Variable: "npm_config_cache"},
		{Path: filepath.Join(pnpm, "store"), Owner: pnpm},
		{Path: filepath.Join(yarn, "cache"), Owner: yarn},
		{Path: filepath.Join(bun, "install", "cache"), Owner: bun},
		{Path: getenv("UV_CACHE_DIR"), Variable: "UV_CACHE_DIR"},
		{Path: getenv("PIP_CACHE_DIR"), Variable: "PIP_CACHE_DIR"},
		{Path: getenv("DENO_DIR"), Variable: "DENO_DIR"},
		{Path: filepath.Join(cargo, "registry"), Owner: cargo, Marks: inRust},
		{Path: filepath.Join(cargo, "git"), Owner: cargo, Marks: inRust},
		{Path: filepath.Join(cargo, ".package-cache")},
		{Path: filepath.Join(cargo, ".package-cache-mutate")},
		{Path: filepath.Join(cargo, ".global-cache")},
		{Path: getenv("CARGO_TARGET_DIR"), Marks: inRust},
		{Path: filepath.Join(maven, "repository"), Owner: maven, Marks: []string{"pom.xml"}},
		{Path: filepath.Join(gradle, "caches"), Owner: gradle, Marks: inGradle},
		{Path: filepath.Join(gradle, "daemon"), Owner: gradle, Marks: inGradle, Registry: true},
		{Path: filepath.Join(gradle, "native"), Owner: gradle, Marks: inGradle},
		{Path: filepath.Join(gradle, "wrapper"), Owner: gradle, Marks: inGradle},
		{Path: filepath.Join(nuget, "packages"), Owner: nuget},
		{Path: in("HEX_HOME", ".hex")},
		{Path: in("PUB_CACHE", ".pub-cache")},
		{Path: filepath.Join(xdg, "bazel", "*", "*", "server"), Registry: true},
		{Path: filepath.Join(maven, "mvnd", "registry"), Registry: true},
		{Path: filepath.Join(in("", ".buck"), "buckd"), Registry: true},
		{Path: filepath.Join(in("", ".sbt"), "*", "server"), Registry: true},
		{Path: filepath.Join(in("XDG_STATE_HOME", ".local/state"), "watchman", "*"), Registry: true},
	}
	return slices.DeleteFunc(list, func(c Cache) bool { return !filepath.IsAbs(c.Path) })
}
