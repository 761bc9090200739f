package agents

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"ralph/internal/proc"
	"ralph/internal/redact"
	"ralph/internal/seq"
)

// Environ returns the environment of an agent: the common variables and those that the
// preset passes, unless the user says otherwise, then those that it sets. All else is
// withheld, other agents' keys included.
func Environ(p Preset, environ []string, root bool) []string {
	out := choose(environ, func(name, _ string) bool {
		return allowed(p.Allow, name, listed(common(), name) || listed(p.Pass, name))
	})
	for _, v := range p.Set {
		if v.OnlyRoot && !root {
			continue
		}
		out = slices.DeleteFunc(out, func(entry string) bool {
			name, _, _ := strings.Cut(entry, "=")
			return name == v.Name
		})
		out = append(out, v.Name+"="+v.Value)
	}
	return out
}

// TerminalEnviron returns the environment of the commands that ralph runs for an
// agent: what every process may see, and what the user lets through, but nothing
// that only agents are given.
func TerminalEnviron(p Preset, environ []string) []string {
	return WithoutCredentials(choose(environ, func(name, _ string) bool {
		return allowed(p.Allow, name, listed(common(), name))
	}))
}

func choose(environ []string, passes func(name, value string) bool) []string {
	var out []string
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" && passes(name, value) {
			out = append(out, entry)
		}
	}
	return out
}

// allowed is what the last rule that fits a name says, or otherwise.
func allowed(rules []string, name string, otherwise bool) bool {
	for _, rule := range slices.Backward(rules) {
		entry, deny := strings.CutPrefix(rule, "!")
		if listed([]string{entry}, name) {
			return !deny
		}
	}
	return otherwise
}

// Credentials returns the names of the credentials that an agent will find in
// its environment, in the order in which it looks at them. None means that it
// uses the login that it keeps itself.
func Credentials(p Preset, environ []string) []string {
	var found []string
	for _, name := range p.Credentials {
		if strings.TrimSpace(proc.Getenv(environ, name)) != "" { // one of blanks opens nothing
			found = append(found, name)
		}
	}
	return found
}

// WithoutCredentials returns the environment for the user's own commands, such as
// notifiers: all of it, but for what only agents are given.
func WithoutCredentials(environ []string) []string {
	private := slices.Concat(seq.Map(builtin(), func(p Preset) []string { return p.Pass })...)
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return listed(private, name) && !listed(common(), name)
	})
}

// GateEnviron returns the environment of gates and setup, which run code that an agent
// wrote, and a sentence about what is withheld, or "": what looks like a secret, by its
// name or a password in an address, as far as the user does not say otherwise.
func GateEnviron(allow, environ []string) (env []string, withheld string) {
	var names, addresses []string
	env = choose(environ, func(name, value string) bool {
		pass := allowed(allow, name, !redact.LooksSecret(name) && len(redact.Passwords(value)) == 0)
		if !pass {
			names = append(names, name)
			if !redact.LooksSecret(name) && allowed(allow, name, true) {
				addresses = append(addresses, name)
			}
		}
		return pass
	})
	if len(names) == 0 {
		return env, ""
	}
	slices.Sort(names)
	slices.Sort(addresses)
	withheld = "gates and setup run without " + strings.Join(slices.Compact(names), ", ") +
		", which look like secrets; add a name to env_allow below [verify] in .ralph.toml only if a gate or setup needs it"
	if len(addresses) > 0 { // they lead to a registry or a proxy more often than not
		line := seq.Map(slices.Concat(allow, slices.Compact(addresses)), strconv.Quote)
		withheld += ", such as those of addresses: env_allow = [" + strings.Join(line, ", ") + "]"
	}
	return env, withheld
}

// AuthMethod returns the method of authenticate that the agent's environment
// allows without a person, and "" when there is none.
func AuthMethod(p Preset, env []string) string {
	for _, a := range p.Auth {
		if proc.Getenv(env, a.Variable) != "" {
			return a.Method
		}
	}
	return ""
}

// listed reports whether a list holds a variable's name. Case is ignored:
// Windows does, and proxies are spelled both ways.
func listed(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		if prefix, ok := strings.CutSuffix(entry, "*"); ok {
			return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
		}
		return strings.EqualFold(name, entry)
	})
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// common lists what every process may see: where things are, how to reach the
// network, which language to speak. A variable that often holds a secret has no
// place here, nor has a prefix under which one may hide.
func common() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "COLORTERM", "NO_COLOR", "CI",
		"LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TMP", "TEMP", "XDG_*",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
		"GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
		"GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOSUMDB", "GOTOOLCHAIN", "GOMAXPROCS",
		"CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "GRADLE_USER_HOME", "MAVEN_OPTS",
		"NVM_DIR", "VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "NODE_PATH", "NODE_OPTIONS", "NPM_CONFIG_CACHE", "NPM_CONFIG_PREFIX",
		"VIRTUAL_ENV", "PYENV_ROOT", "PYTHONPATH", "CONDA_PREFIX", "UV_CACHE_DIR", "RBENV_ROOT", "GEM_HOME", "GEM_PATH",
		"DOTNET_ROOT", "ANDROID_HOME", "SDKMAN_DIR", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "NIX_PATH", "NIX_PROFILES", "DOCKER_HOST",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
		"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
	}
}
