package project

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check.OK(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// load reads a configuration of these words.
func load(t *testing.T, text string) (l Loaded, path string, err error) {
	t.Helper()
	path = write(t, filepath.Join(t.TempDir(), "c.toml"), text)
	l, err = Load("", path, environ(nil))
	return l, path, err
}

// environ is an environment of these variables.
func environ(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

func TestFindTakesTheNearestProjectAbove(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, ConfigName), "")
	write(t, filepath.Join(root, "a", ConfigName), "")
	deep := filepath.Join(root, "a", "b", "c")
	check.OK(t, os.MkdirAll(deep, 0o755))
	p, err := Find(deep)
	check.That(t, err == nil && p.Root == filepath.Join(root, "a"), "got %v, %v", p, err)
	_, err = At(deep)
	check.That(t, errors.Is(err, ErrNone), "got %v, want ErrNone", err)
	_, err = Find(t.TempDir())
	check.That(t, errors.Is(err, ErrNone), "got %v, want ErrNone", err)
}

func TestACopyInASlotIsTheProjectItself(t *testing.T) {
	t.Parallel()
	project, slots := t.TempDir(), t.TempDir()
	slot := filepath.Join(slots, "1")
	inner := filepath.Join(project, "inner")
	for _, dir := range []string{project, inner, slot, filepath.Join(slot, "inner"), filepath.Join(slot, "other")} {
		write(t, filepath.Join(dir, ConfigName), "")
	}
	for _, tc := range []struct{ from, dir, want string }{
		{project, slot, project},
		{inner, filepath.Join(slot, "inner"), inner},
		{project, filepath.Join(slot, "other"), filepath.Join(slot, "other")}, // somebody made it there
		{filepath.Join(project, "gone"), slot, slot},
	} {
		write(t, filepath.Join(slots, "ralph-project"), tc.from+"\n")
		found, err1 := Find(tc.dir)
		at, err2 := At(tc.dir)
		check.OK(t, errors.Join(err1, err2))
		check.Equal(t, "found in "+tc.dir, tc.want, found.Root)
		check.Equal(t, "at "+tc.dir, tc.want, at.Root)
	}
	write(t, filepath.Join(slots, "ralph-project"), project)
	bare := filepath.Join(slots, "2")
	check.OK(t, os.Mkdir(bare, 0o700))
	p, err := Find(bare)
	check.That(t, err == nil && p.Root == project, "a slot without a configuration: got %v, %v", p, err)
}

func TestWhatIsNoFileIsNotPassedOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		put  func(path string) error
		want string
	}{
		"a folder":           {func(path string) error { return os.Mkdir(path, 0o755) }, "is a folder, not a file"},
		"a link to nowhere":  {func(path string) error { return os.Symlink("nowhere", path) }, "is a broken link"},
		"a link to a folder": {func(path string) error { return os.Symlink(".", path) }, "is a folder, not a file"},
	} {
		above := t.TempDir()
		write(t, filepath.Join(above, ConfigName), "")
		dir := filepath.Join(above, "inner")
		check.OK(t, os.Mkdir(dir, 0o755))
		if err := tc.put(filepath.Join(dir, ConfigName)); err != nil {
			t.Skip(err) // no links without a right to them, on Windows
		}
		_, found := Find(dir)
		_, at := At(dir)
		_, written, created := Create(dir, Found{})
		for _, err := range []error{found, at, created} {
			check.That(t, errors.Is(err, ErrConfig) && strings.Contains(err.Error(), tc.want), "%s: got %v, want %s", name, err, tc.want)
		}
		_, err := os.Stat(filepath.Join(dir, ".ralph"))
		check.That(t, err != nil && len(written) == 0, "%s: a project was made all the same: %v, %v", name, written, err)
	}
}

func TestAByteOrderMarkIsNoKey(t *testing.T) {
	t.Parallel()
	l, _, err := load(t, "\ufeff[run]\r\nlimit = 7\r\n")
	check.That(t, err == nil && l.Run.Limit == 7, "got %d, %v", l.Run.Limit, err)
}

func TestLayersOverrideOneAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user := write(t, filepath.Join(dir, "user.toml"), "[run]\nlimit = 1\nbreaker = 2\nidle_timeout = '90s'\n[agents.mine]\ncommand = 'x'\n")
	proj := write(t, filepath.Join(dir, "project.toml"), "[run]\nlimit = 3\n[verify]\nenabled = false\ncommands = ['make']\n")
	l, err := Load(user, proj, environ(map[string]string{"RALPH_RUN_LIMIT": "9", "RALPH_SANDBOX_MODE": "off", "RALPH_BUDGET_MAX_COST_USD": "1.5"}))
	check.OK(t, err)
	want := Default()
	want.Run.Limit, want.Run.Breaker, want.Run.IdleTimeout = 9, 2, Duration(90*time.Second)
	want.Verify.Enabled, want.Verify.Commands = false, []string{"make"}
	want.Sandbox.Mode, want.Budget.MaxCostUSD = "off", 1.5
	want.Agents = map[string]CustomAgent{"mine": {Command: "x"}}
	check.Equal(t, "result", want, l.Config)
	for key, origin := range map[string]string{
		"limit": "RALPH_RUN_LIMIT", "run.breaker": user, "verify": proj, "max_retries": "default", "agents.mine": user,
	} {
		check.Equal(t, "origin of "+key, origin, l.Origin(key))
	}
}

func TestALayerThatNamesTheAgentUndoesTheOtherWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command := write(t, filepath.Join(dir, "command.toml"), "[agent]\ncommand = 'x --acp'\n")
	use := write(t, filepath.Join(dir, "use.toml"), "[agent]\nuse = 'shell'\n")
	for name, tc := range map[string]struct {
		user, project, env string
		want               AgentConfig
	}{
		"the project's name over the user's command": {command, use, "", AgentConfig{Use: "shell"}},
		"the project's command over the user's name": {use, command, "", AgentConfig{Use: "x --acp"}},
		"the environment's name over a command":      {"", command, "claude", AgentConfig{Use: "claude"}},
	} {
		l, err := Load(tc.user, tc.project, environ(map[string]string{"RALPH_AGENT_USE": tc.env}))
		check.OK(t, err)
		check.Equal(t, name, tc.want, l.Agent)
	}
}

func TestBadConfigurationNamesFileAndLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"an unknown key":            {"[run]\n\nlimmit = 1", ":3: unknown key run.limmit"},
		"an unknown section":        {"[runs]\nlimit = 1", ":1: unknown key runs"},
		"a wrong type":              {"[run]\nlimit = 'x'", ":2: run.limit: it is a whole number, not a string"},
		"a text without quotes":     {"[agent]\nuse = 5", ":2: agent.use: it is a text in quotes, not an integer"},
		"one where a list is":       {"[verify]\ncommands = 'go test'", ":2: verify.commands: it is a list of texts, like [\"a\", \"b\"], not a string"},
		"a word for a switch":       {"[verify]\nenabled = 'yes'", ":2: verify.enabled: it is true or false, not a string"},
		"a date for a duration":     {"[run]\nidle_timeout = 2026-01-02", ":2: run.idle_timeout: it is a duration, like \"90s\" or \"2d12h\", not a local date"},
		"1.5 for a duration":        {"[run]\nlimit = 1\nidle_timeout = 1.5 # hours", ":3: run.idle_timeout: \"1.5\" is not a duration"},
		"a value for a section":     {"[agents]\nmine = 'x'", ":2: agents.mine: it is a table of its own, not a string"},
		"a number too small":        {"[agent]\nuse = 'x'\n[run]\nmax_attempts = 0", ":4: run.max_attempts: 0 is too small; the least is 1"},
		"an unknown strategy":       {"[run]\nmodel_strategy = 'best'", ":2: run.model_strategy: \"best\" is not one of"},
		"an unknown mode":           {"[sandbox]\nmode = 'on'", ":2: sandbox.mode: \"on\" is not one of"},
		"no duration":               {"[run]\nidle_timeout = 'soon'", ":2: "},
		"a negative duration":       {"[run]\nidle_timeout = '-3s'", ":2: "},
		"a negative budget":         {"[budget]\nmax_cost_usd = -1.0", ":2: budget.max_cost_usd: it must be an amount that is not negative"},
		"a budget below another":    {"[budget]\nmax_tokens = 1\n[budget.task]\nmax_cost_usd = 1\nmax_iterations = -1", ":5: budget.task.max_iterations: -1 is too small; the least is 0"},
		"a sum that is none":        {"[budget.day]\nmax_cost_usd = nan", ":2: budget.day.max_cost_usd: it must be an amount that is not negative"},
		"a risk below 0":            {"[merge]\nrisk = -1", ":2: merge.risk: -1 is not a number from 0 to 1"},
		"a risk that is none":       {"[merge]\nrisk = nan", ":2: merge.risk: NaN is not a number from 0 to 1"},
		"a price below 0":           {"[prices.\"gpt-4.1*\"]\ninput = 1\noutput = -1", ":3: prices.gpt-4.1*.output: it must be an amount that is not negative"},
		"an unknown price":          {"[prices.x]\ninputs = 1", ":2: unknown key prices.x.inputs"},
		"no time of day":            {"[budget]\nuntil = '7am'", ":2: budget.until: \"7am\" is not a time of day; write it like 07:00"},
		"no way to wait":            {"[run]\nwait = 'maybe'", ":2: run.wait: \"maybe\" is neither auto nor never nor a duration like 2h"},
		"a file out of the project": {"[parallel]\ncopy = ['.env', '../../etc']", `:2: parallel.copy: "../../etc" leads out of the project`},
		"a detector below 0":        {"[drift]\nrepeats = -2", ":2: drift.repeats: -2 is too small; the least is 0"},
		"what is no TOML":           {"[run", ":1: "},
		"a rule with a value":       {"[agent]\nenv_allow = ['A', 'B=1']", ":2: agent.env_allow: \"B=1\" is not a variable name"},
		"a rule with stars":         {"[agent]\nenv_allow = ['*_KEY']", ":2: agent.env_allow: \"*_KEY\" is not a variable name"},
		"a server of nothing":       {"[mcp.docs]\nargs = ['x']", ":1: mcp.docs: it has either a command or a url"},
		"a server of two kinds":     {"\n[mcp.docs]\ncommand = 'x'\nurl = 'y'", ":2: mcp.docs: it has either a command or a url"},
		"a server by post":          {"[mcp.docs]\ntype = 'post'\nurl = 'y'", ":1: mcp.docs: type \"post\" is not one of stdio, http, sse"},
		"a wrong type of server":    {"[mcp.docs]\ntype = 'sse'\ncommand = 'y'", ":1: mcp.docs: type sse does not go with what it has"},
		"headers for a command":     {"[mcp.docs]\ncommand = 'x'\nheaders = { A = 'b' }", ":1: mcp.docs: headers go with a url"},
		"env for an address":        {"[mcp.docs]\nurl = 'x'\nenv = { A = 'b' }", ":1: mcp.docs: args and env go with a command"},
		"an unknown key of one":     {"[mcp.docs]\nurll = 'x'", ":2: unknown key mcp.docs.urll"},
		"the same key twice":        {"[run]\nlimit = 1\nlimit = 2", ":3: "},
		"bytes that are no text":    {"[agent]\nuse = \"\xff\"", ":2: "},
		"the bytes of UTF-16":       {"\xff\xfe[\x00r\x00", ":1: it is UTF-16; save it as UTF-8"},
		"no channel at all":         {"[[notify]]\nbell = true\n\n[[notify]]\non = ['run_end']", ":4: notify.2: it has neither command, webhook, desktop, bell nor title"},
		"no such news":              {"[run]\nlimit = 1\n[[notify]]\nbell = true\non = ['lunch']", ":3: notify.1: on: \"lunch\" is not one of run_end, task_failed"},
		"no such chat":              {"[[chat]]\nkind = 'irc'", ":1: chat.1: kind: \"irc\" is not one of telegram, slack"},
		"a token in the file":       {"[[chat]]\nkind = 'telegram'\ntoken_env = '123:s3cr3t'\nchats = ['1']", ":1: chat.1: token_env: it is the name of the variable with the token, never the token itself"},
		"an app without its token":  {"[[chat]]\nkind = 'slack'\ntoken_env = 'A'\nchats = ['C1']", ":1: chat.1: app_token_env: it is the name of the variable"},
		"an app token of Telegram":  {"[[chat]]\nkind = 'telegram'\ntoken_env = 'A'\napp_token_env = 'B'\nchats = ['1']", ":1: chat.1: app_token_env: only Slack has one"},
		"a chat with nobody":        {"[[chat]]\nkind = 'telegram'\ntoken_env = 'A'", ":1: chat.1: chats: it is empty"},
		"a name for a chat":         {"[[chat]]\nkind = 'slack'\ntoken_env = 'A'\napp_token_env = 'B'\nchats = ['#general']", ":1: chat.1: chats: \"#general\" is no ID of a chat in slack"},
		"a bot of two":              {"[[chat]]\nkind = 'telegram'\ntoken_env = 'A'\nchats = ['1']\n[[chat]]\nkind = 'telegram'\ntoken_env = 'A'\nchats = ['2']", ":5: chat.2: token_env: another has the same"},
		"no such news for a chat":   {"[[chat]]\nkind = 'telegram'\ntoken_env = 'A'\nchats = ['1']\nevents = ['lunch']", ":1: chat.1: events: \"lunch\" is not one of run_end, task_failed"},
		"a chat without scheme":     {"[[chat]]\nkind = 'telegram'\ntoken_env = 'A'\nchats = ['1']\nurl = 'x'", ":1: chat.1: url: an address begins with http:// or https://"},
		"a server without a port":   {"[temporal]\nqueue = 'q'\naddress = 'temporal.example.com'", ":3: temporal.address: \"temporal.example.com\" is not an address with a port"},
		"no remote":                 {"[temporal]\nremote = ''", ":2: temporal.remote: \"\" is not the name of a git remote"},
		"an option for a remote":    {"[temporal]\nremote = '--all'", ":2: temporal.remote: \"--all\" is not the name of a git remote"},
		"no queue":                  {"[temporal]\nqueue = ''", ":2: temporal.queue: \"\" is not the name of a task queue"},
		"a need that is no tag":     {"[temporal]\nneeds = ['gpu', 'a,b']", ":2: temporal.needs: \"a,b\" is not a tag of tasks"},
		"a key in the file":         {"[temporal]\ncodec_key = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='", ":2: temporal.codec_key: it is the path of the file with the key"},
		"no heartbeat":              {"[temporal]\nheartbeat = '0s'", ":2: temporal.heartbeat: 0s is too short; the least is 1s"},
		"no attempts at once":       {"[temporal]\njobs = 0", ":2: temporal.jobs: 0 is too small; the least is 1"},
		"a hook without scheme":     {"[[notify]]\nwebhook = 'hooks.example/s3cr3t'", ":1: notify.1: webhook: an address begins with http:// or https://"},
	} {
		_, path, err := load(t, tc.text)
		check.That(t, errors.Is(err, ErrConfig) && strings.Contains(err.Error(), path+tc.want), "%s: got %v, want %s%s", name, err, path, tc.want)
	}
}

func TestCreateTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, written, err := Create(dir, Found{Agent: "claude", Gates: []string{`go test "./..."`, "make lint"}})
	if err != nil || len(written) != 2 {
		t.Fatal(written, err)
	}
	l, err := Load("", p.Config(), environ(nil))
	check.OK(t, err)
	want := Default()
	want.Agent.Use, want.Verify.Commands = "claude", []string{`go test "./..."`, "make lint"}
	check.Equal(t, "result", want, l.Config)
	local, _, err := Create(t.TempDir(), Found{Agent: "local", Model: `a "b" \ c:7b`})
	check.OK(t, err)
	l, err = Load("", local.Config(), environ(nil))
	check.OK(t, err)
	models := map[string]string{"opus": `a "b" \ c:7b`, "sonnet": `a "b" \ c:7b`, "haiku": `a "b" \ c:7b`}
	check.Equal(t, "models", map[string]CustomAgent{"local": {Models: models}}, l.Agents)
	_, written, err = Create(dir, Found{})
	check.That(t, err == nil && len(written) == 0, "got %v, %v", written, err)
	info, err := os.Stat(p.State())
	check.OK(t, err)
	check.Equal(t, "mode", os.FileMode(0o700), info.Mode().Perm())
}

func TestInitWritesAtMostSixLines(t *testing.T) {
	t.Parallel()
	for _, found := range []Found{{}, {Agent: "claude", Gates: []string{"a", "b"}}, {Command: "x --acp"}, {Agent: "local", Model: "m", Gates: []string{"a"}}} {
		text := configText(found)
		check.That(t, strings.Count(text, "\n") <= 6, "too long: %s", text)
		l, _, err := load(t, text)
		check.OK(t, err)
		check.Equal(t, "old names", 0, len(l.OldNames()))
		l, _, err = load(t, strings.NewReplacer("# agent", "agent", "# gates", "gates").Replace(text)) // what is proposed can be taken
		check.OK(t, err)
		check.That(t, l.Agent.Use != "" && len(l.Verify.Commands) > 0, "got %v, %v", l.Agent, l.Verify.Commands)
	}
}

func TestDetectTests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ file, text, want string }{
		"Go":                    {"go.mod", "", "go test ./..."},
		"Rust":                  {"Cargo.toml", "", "cargo test"},
		"Node with a test":      {"package.json", `{"scripts":{"test":"x"}}`, "npm test"},
		"Node without a test":   {"package.json", `{}`, ""},
		"Python":                {"pyproject.toml", "", "pytest"},
		"make with a target":    {"Makefile", "all:\n\ntest: all\n", "make test"},
		"make without one":      {"Makefile", "all:\n", ""},
		"just with a recipe":    {"justfile", "test:\n", "just test"},
		"nothing that is known": {"x", "", ""},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, tc.file), tc.text)
		check.Equal(t, name, tc.want, DetectTests(dir))
	}
}

func TestDurationsHaveDaysAndAreWrittenAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1d": 24 * time.Hour, "2d12h": 60 * time.Hour, "0d": 0, "1d0s": 24 * time.Hour, "106751d": 106751 * 24 * time.Hour,
		"1d1h1m1.5s": 25*time.Hour + 61*time.Second + 500*time.Millisecond,
		"10m":        10 * time.Minute, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "0s": 0,
	} {
		var d, again Duration
		check.OK(t, d.UnmarshalText([]byte(text)))
		check.Equal(t, text, want, d.Std())
		check.OK(t, again.UnmarshalText([]byte(d.String())))
		check.Equal(t, text+", written and read", d, again)
	}
	for _, text := range []string{"d", "-1d", "+1d", "1.5d", "12h1d", "1d1d", "1d-1h", "1d 2h", "106752d", "106751d24h", "99999999999999999999d"} {
		var d Duration
		check.That(t, d.UnmarshalText([]byte(text)) != nil, "%s: got %s, want it refused", text, d.Std())
	}
}

func TestNotificationsAddUpAndTheirAddressesStayHidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user := write(t, filepath.Join(dir, "user.toml"), "[[notify]]\non = ['run_end']\nbell = true\ndesktop = true\n")
	proj := write(t, filepath.Join(dir, "project.toml"),
		"[[notify]]\nwebhook = 'https://hooks.example/services/s3cr3t'\n[[notify]]\nwebhook = '${HOOK}'\n[[notify]]\nwebhook = 'https://${HOST}/s3cr3t'\n")
	l, err := Load(user, proj, environ(nil))
	check.OK(t, err)
	var got []string
	for _, s := range l.Settings() {
		if strings.HasPrefix(s.Key, "notify.") {
			got = append(got, s.Key+": "+s.Value.(string)+": "+filepath.Base(s.Origin))
		}
	}
	want := []string{
		"notify.1: bell, desktop on run_end: user.toml",
		"notify.2: webhook https://hooks.example/... on everything: project.toml",
		"notify.3: webhook ${HOOK} on everything: project.toml",
		"notify.4: webhook ... on everything: project.toml",
	}
	check.Equal(t, "result", want, got)
	bad := write(t, filepath.Join(dir, "bad.toml"), "\n[[notify]]\n")
	_, err = Load(user, bad, environ(nil))
	check.That(t, err != nil && strings.Contains(err.Error(), "bad.toml:2: notify.1: "), "got %v, want the line of the file that is wrong", err)
}

func TestHooksOfAllFilesCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user := write(t, filepath.Join(dir, "user.toml"), "[[hooks]]\non = 'task.done'\nrun = 'true'\n")
	proj := write(t, filepath.Join(dir, "project.toml"), "[[hooks]]\non = 'run.before'\nrun = './check.sh'\ntimeout = '5s'\nmust = true\n")
	l, err := Load(user, proj, environ(nil))
	check.OK(t, err)
	check.Equal(t, "hooks", []HookConfig{{On: "task.done", Run: "true"}, {On: "run.before", Run: "./check.sh", Timeout: Duration(5 * time.Second), Must: true}}, l.Hooks)
	check.Equal(t, "origin", user, l.Origin("hooks.1"))
	check.Equal(t, "origin", proj, l.Origin("hooks.2"))
	for text, want := range map[string]string{
		"[[hooks]]\non = 'task.done'\nrun = 'x'\n[[hooks]]\non = 'task.over'\nrun = 'x'\n": `bad.toml:4: hooks.2: on: "task.over" is not one of run.before`,
		"[[hooks]]\non = 'task.done'\nrun = 'x'\ntimeout = 30\n":                           "bad.toml:4: hooks.1.timeout: 30 has no unit",
		"[[hooks]]\non = 'task.done'\nrun = 'x'\nenv = 'y'\n":                              "bad.toml:4: unknown key hooks.1.env",
	} {
		_, err := Load("", write(t, filepath.Join(dir, "bad.toml"), text), environ(nil))
		check.Err(t, "load", want, err)
	}
}

// Rules of all files count, and those that cannot be used are named with their file and key.
func TestPermissionsOfAllFilesCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user := write(t, filepath.Join(dir, "user.toml"), "[permissions]\ndefault = 'ask'\ndeny = ['execute:git push*']\n")
	proj := write(t, filepath.Join(dir, "project.toml"), "[permissions]\ndeny = ['write:**/.env*']\nallow = ['read:**']\n")
	l, err := Load(user, proj, environ(map[string]string{"RALPH_PERMISSIONS_DEFAULT": "deny"}))
	check.OK(t, err)
	check.Equal(t, "rules", PermissionsConfig{Default: "deny", Deny: []string{"execute:git push*", "write:**/.env*"}, Allow: []string{"read:**"}}, l.Permissions)
	check.Equal(t, "origin", user+", "+proj, l.Origin("permissions.deny"))
	check.Equal(t, "origin", proj, l.Origin("permissions.allow"))
	for text, want := range map[string]string{
		"[permissions]\ndefault = 'yes'":             `bad.toml:2: permissions.default: "yes" is not one of allow, ask, deny`,
		"[permissions]\n\ndeny = []":                 "bad.toml:3: permissions.deny: it is empty",
		"[permissions]\nask = ['read:**', '*']":      `bad.toml:2: permissions.ask: "*" matches every call`,
		"[permissions]\nallow = ['run:make']":        `bad.toml:2: permissions.allow: "run:make": "run" is not one of read`,
		"[permissions]\nallow = 'read:**'":           "bad.toml:2: permissions.allow: it is a list of texts",
		"[permissions]\nallow = [7]":                 "bad.toml:2: ",
		"[permissions]\nnever = ['execute:x']":       "bad.toml:2: unknown key permissions.never",
		"[permissions]\ndeny = ['write:[a']":         "bad.toml:2: permissions.deny: \"write:[a\": a bracket",
		"[permissions]\n# no rule\nask = ['write:']": "bad.toml:3: permissions.ask: \"write:\" has no pattern",
	} {
		_, err := Load("", write(t, filepath.Join(dir, "bad.toml"), text), environ(nil))
		check.Err(t, "load", want, err)
	}
}

func TestSizesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{"0": 0, "512MiB": 512 << 20, "1.5GiB": 3 << 29, "4 GiB": 4 << 30, "2TiB": 2 << 40, "1KiB": 1 << 10} {
		var got Size
		check.OK(t, got.UnmarshalText([]byte(text)))
		check.Equal(t, text, want, got)
		var again Size
		check.OK(t, again.UnmarshalText([]byte(got.String())))
		check.Equal(t, got.String(), got, again)
	}
	for _, bad := range []string{"", "4", "-1GiB", "4GB", "GiB", "4gib", "1e30TiB", "NaNGiB", "infGiB"} {
		check.That(t, new(Size).UnmarshalText([]byte(bad)) != nil, "%q was read", bad)
	}
}
