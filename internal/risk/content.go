package risk

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"unicode"

	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

// Content is what the files of a change have in them that is worth a look: their paths.
type Content struct {
	Secrets   []string `json:"secrets,omitempty"`   // something with the form of a token, key or password
	Programs  []string `json:"programs,omitempty"`  // executable, or binary and no picture or font
	Deleted   []string `json:"deleted,omitempty"`   // tests
	Data      []string `json:"data,omitempty"`      // migrations, and statements that drop data
	Access    []string `json:"access,omitempty"`    // by their path about who may do what
	Network   []string `json:"network,omitempty"`   // scripts that call the network
	Libraries []string `json:"libraries,omitempty"` // manifests and lockfiles
}

// File is a changed file.
type File struct {
	Path    string
	Patch   string // a unified diff, or as much of it as was read
	Test    bool
	Deleted bool
	Head    []byte // how it begins, if it is binary
}

// See takes in a file. secret reports whether a text has something with the form of a secret.
func (c *Content) See(f File, secret func(string) bool) {
	note := func(list *[]string, is bool) {
		if is && !slices.Contains(*list, f.Path) {
			*list = append(*list, f.Path)
		}
	}
	note(&c.Libraries, isManifest(f.Path))
	note(&c.Deleted, f.Deleted && f.Test)
	added, mode := read(f.Patch)
	note(&c.Secrets, secret(added) || secretLike.Get().MatchString(added) || !f.Test && isAssigned(added))
	note(&c.Programs, !f.Deleted && (mode || isProgram(f.Head)))
	if f.Test {
		return // it calls and drops what it likes
	}
	note(&c.Data, hasPart(f.Path, migrations) || drops.Get().MatchString(added))
	note(&c.Access, hasWord(f.Path, access))
	note(&c.Network, isScript(f.Path, added) && network.Get().MatchString(added))
}

// read returns the lines that a patch adds, and whether it makes the file executable.
func read(patch string) (added string, executable bool) {
	var b strings.Builder
	head := true
	for line := range strings.Lines(patch) {
		switch {
		case strings.HasPrefix(line, "@@ "):
			head = false
		case head:
			executable = executable || strings.HasPrefix(line, "new file mode 100755") || strings.HasPrefix(line, "new mode 100755")
		case strings.HasPrefix(line, "+"):
			b.WriteString(line[1:])
		}
	}
	return b.String(), executable
}

var (
	// secretLike is tokens and keys of services besides those that package redact knows.
	secretLike = lazyregexp.New(`AIza[\w-]{35}|\bglpat-[\w-]{20}|\bnpm_[A-Za-z0-9]{36}|\bSG\.[\w-]{16,}\.[\w-]{16,}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}|://[^/\s:@"'{}$<]+:[^/\s:@"'{}$<]{6,}@`)
	// assigned is a value in quotes for a name that says secret.
	assigned = lazyregexp.New(`(?i)(?:secret|token|passw(?:or)?d|api_?key|access_?key|private_?key)\w*["']?\s*(?::=|=>|[:=])\s*["']([^"'\s]{12,})["']`)
	drops    = lazyregexp.New(`(?i)\b(?:drop|truncate)\s+(?:table|column|database|schema|collection)\b|\bdelete\s+from\s+[\w."]+\s*(?:;|"|'|$)`)
	network  = lazyregexp.New(`(?m)\b(?:curl|wget|ncat?|socat|telnet|ftp|scp|rsync|ssh|Invoke-WebRequest|Invoke-RestMethod|iwr|irm)[ \t]+[-"'$\w.@/]|/dev/tcp/`)
	shebang  = lazyregexp.New(`^#!.*\b(?:sh|bash|zsh|dash|ksh|fish)\b`)
)

// isAssigned looks at values whose name says secret: one with digits and letters is hardly a placeholder.
func isAssigned(added string) bool {
	return slices.ContainsFunc(assigned.Get().FindAllStringSubmatch(added, -1), func(m []string) bool {
		digits := strings.IndexFunc(m[1], unicode.IsDigit) >= 0
		return digits && strings.IndexFunc(m[1], unicode.IsLetter) >= 0 && !strings.ContainsAny(m[1], "${}<>()")
	})
}

var manifests = []string{
	"go.mod", "go.sum", "go.work", "package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", ".npmrc",
	"Cargo.toml", "Cargo.lock", "pyproject.toml", "setup.py", "setup.cfg", "poetry.lock", "uv.lock", "Pipfile", "Pipfile.lock", "Gemfile", "Gemfile.lock",
	"composer.json", "composer.lock", "pom.xml", "build.gradle", "build.gradle.kts", "gradle.lockfile", "mix.exs", "mix.lock", "Package.swift", "Package.resolved",
	"pubspec.yaml", "pubspec.lock", "packages.lock.json", "flake.lock",
}

func isManifest(name string) bool {
	base := path.Base(name)
	return slices.Contains(manifests, base) || strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt") || strings.HasSuffix(base, ".csproj")
}

var (
	migrations = []string{"migration", "migrations", "migrate", "alembic", "flyway", "liquibase", "schema.sql", "schema.rb", "schema.prisma"}
	access     = []string{
		"auth", "authn", "authz", "authentication", "authorization", "oauth", "oauth2", "oidc", "saml", "sso", "login", "logout", "signin", "signup", "password", "passwords",
		"passwd", "permission", "permissions", "acl", "rbac", "jwt", "credential", "credentials", "csrf", "sudo",
	}
)

func hasPart(name string, parts []string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(name), "/"), func(part string) bool { return slices.Contains(parts, part) })
}

func hasWord(name string, words []string) bool {
	all := strings.FieldsFunc(strings.ToLower(plain.Camel(name)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.ContainsFunc(all, func(word string) bool { return slices.Contains(words, word) })
}

func isScript(name, added string) bool {
	switch base := path.Base(name); path.Ext(base) {
	case ".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".cmd", ".mk", ".yml", ".yaml":
		return true
	default:
		return slices.Contains([]string{"Makefile", "GNUmakefile", "makefile", "justfile", "Justfile", "Dockerfile", "Containerfile", "package.json"}, base) || shebang.Get().MatchString(added)
	}
}

// harmless is how binary files begin that no machine executes: pictures, fonts, sound.
var harmless = [][]byte{
	[]byte("\x89PNG"), []byte("\xff\xd8\xff"), []byte("GIF8"), []byte("RIFF"), []byte("wOFF"), []byte("wOF2"), []byte("OTTO"), {0, 1, 0, 0}, {0, 0, 1, 0}, []byte("BM"), []byte("%PDF"), []byte("OggS"), []byte("ID3"),
}

// isProgram goes by bytes: what is binary and not known to be harmless may be executed, or unpacked.
func isProgram(head []byte) bool {
	return len(head) > 0 && !slices.ContainsFunc(harmless, func(magic []byte) bool { return bytes.HasPrefix(head, magic) })
}
