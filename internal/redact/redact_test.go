package redact_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"html"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "ralph/internal/testing/seeded" // the same values each time

	"ralph/internal/redact"
	"ralph/internal/testing/check"
)

func TestTextHidesSecrets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secrets    []string
		text, want string
	}{
		"no secrets":                             {nil, "all of it", "all of it"},
		"everywhere in a text":                   {[]string{"abc123"}, "abc123 and abc123.", "[redacted] and [redacted]."},
		"five bytes are left alone":              {[]string{"abcde"}, "abcde", "abcde"},
		"six bytes are hidden":                   {[]string{"abcdef"}, "abcdef", "[redacted]"},
		"space around a value is no part of it":  {[]string{" abcdef\n"}, "abcdef", "[redacted]"},
		"a secret that begins with another one":  {[]string{"abcdef", "abcdefghi"}, "abcdefghi", "[redacted]"},
		"secrets that overlap":                   {[]string{"abcdef", "defghi"}, "xabcdefghix", "x[redacted]x"},
		"a secret that overlaps itself":          {[]string{"ababab"}, "abababab.", "[redacted]."},
		"a value that the placeholder says":      {[]string{"redacted"}, "abcdef redacted", "abcdef redacted"},
		"as JSON writes it, not ASCII":           {[]string{"pässwort"}, `p\u00e4sswort`, "[redacted]"},
		"a value of several lines":               {[]string{"one line\nanother"}, "x one line\nanother x", "x [redacted] x"},
		"the beginning of a secret is no secret": {[]string{"abcdefghi"}, "abcdefgh", "abcdefgh"},
		"a secret that was cut for a column":     {[]string{"abcdefghi"}, "key abcdefgh… abcdef…", "key [redacted]… [redacted]…"},
		"five bytes of a secret that was cut":    {[]string{"abcdefghi"}, "abcde…", "abcde…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := redact.New(c.secrets...)
			if got := r.Text(c.text); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := string(r.Bytes([]byte(c.text))); got != c.want {
				t.Errorf("as bytes: got %q, want %q", got, c.want)
			}
		})
	}
}

// key is a text in the form of a private key.
const key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123456789abcdefABCDEF+/\nx0123456789abcdefghijklmno==\n-----END RSA PRIVATE KEY-----"

func TestSecretsAreKnownByTheirForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a ghp_0123456789abcdefghijklmnopqrstuvwxyz.":               "a [redacted].",
		"a github_pat_11AAAAAAA0_0123456789abcdefghij.":             "a [redacted].",
		"key=sk-ant-api03-0123456789_abcdefgh, sk-0123456789ABCDEF": "key=[redacted], [redacted]",
		"\x1b[0msk-0123456789ABCDEF\\nsk-0123456789ABCDEF\\n":       "\x1b[0m[redacted]\\n[redacted]\\n",
		"xoxb-0123456789-abcdef AKIA0123456789ABCDEF ":              "[redacted] [redacted] ",
		"my " + key + "\nends":                                      "my [redacted]\nends",
		strings.ReplaceAll(key, "\n", `\n`) + `\n"`:                 `[redacted]\n"`,
		key[:70] + "\nand so on it goes":                            "[redacted]\nand so on it goes",
		strings.ReplaceAll(key, "RSA", "OPENSSH"):                   "[redacted]",
		"a ghp_012345… b":                                           "a [redacted]… b",
		"sk-proj-aB3_dE6-gH9jK2mN5pQ8sT sk-or-v1-0a1b2c3d4e5f6a7b":  "[redacted] [redacted]",
		"AKIAIOSFODNNZEXAMPLE xoxb-123-456-aBcDeF":                  "[redacted] [redacted]",
		`\u003esk-ant-api03-0123456789_ab\u003c/b`:                  `\u003e[redacted]\u003c/b`,
		"key%3ask-ant-api03-0123456789_ab&x":                        "key%3a[redacted]&x",
		"%0Ask-0123456789ABCDEF/sk-0123456789ABCDEF":                "%0A[redacted]/[redacted]",

		"task-0123456789ABCDEF risk-0123456789ABCDEF": "task-0123456789ABCDEF risk-0123456789ABCDEF",
		"sk-button-primary-large sk-123 ghp_ AKIA":    "sk-button-primary-large sk-123 ghp_ AKIA",
		"src/sk-loader/v2/index.ts ask-0123456789AB":  "src/sk-loader/v2/index.ts ask-0123456789AB",
		"@sk-labs/ui-kit-2024 sk-labs-ui-kit-2024":    "@sk-labs/ui-kit-2024 sk-labs-ui-kit-2024",
		strings.ReplaceAll(key, "PRIVATE", "PUBLIC"):  strings.ReplaceAll(key, "PRIVATE", "PUBLIC"),
		"-----BEGIN CERTIFICATE-----\nMIIE":           "-----BEGIN CERTIFICATE-----\nMIIE",
		"xoxoxoxoxoxoxoxoxoxoxoxo":                    "xoxoxoxoxoxoxoxoxoxoxoxo",
	} {
		if got := redact.New().Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestAValueThatIsNoSecretAnyMore(t *testing.T) {
	t.Parallel()
	r := redact.New("stays&secret", "goes&public")
	r.Remove("goes&public")
	text := "stays&secret goes&public stays&amp;secret goes&amp;public"
	if got, want := r.Text(text), "[redacted] goes&public [redacted] goes&amp;public"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNilRedactorChangesNothing(t *testing.T) {
	t.Parallel()
	var r *redact.Redactor
	if got := r.Text("abc123") + r.Stream().Push("def456"); got != "abc123def456" {
		t.Error(got)
	}
}

func TestSecretsAreHiddenAsOthersWriteThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-z&<>"'+/=% é]{6,12}`).Filter(func(s string) bool { return len(strings.TrimSpace(s)) >= 6 }).Draw(t, "secret")
		secret = strings.TrimSpace(secret)
		r := redact.New(secret)
		quoted, err := json.Marshal("a " + secret + " b")
		check.OK(t, err)
		var x bytes.Buffer
		check.OK(t, xml.EscapeText(&x, []byte("a "+secret+" b")))
		for _, text := range []string{string(quoted), x.String(), "a " + html.EscapeString(secret) + " b", "a " + url.QueryEscape(secret) + " b", "a " + url.PathEscape(secret) + " b", "a " + strings.ReplaceAll(url.PathEscape(secret), "%2F", "/") + " b", "a " + (&url.URL{Path: "/" + secret}).EscapedPath()[1:] + " b"} {
			if got := r.Text(text); strings.Trim(got, `"`) != "a [redacted] b" {
				t.Errorf("%q became %q", text, got)
			}
		}
	})
}

// A text in pieces is redacted as the whole is, whatever the pieces are, and no more
// of it is held back than may begin a secret.
func TestStreamIsTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[ab&]{6,9}`), 0, 4).Draw(t, "secrets")
		parts := rapid.SliceOf(rapid.OneOf(rapid.StringMatching(`[ab&]{0,12}`), rapid.SampledFrom(append(secrets, "x", "…", "\xe2", "\x80", " ", "a", "3", "s", "sk-", "sk-0123456789ABCDEF", "0123456789ABCDEF", "ghp_", "AKIA", key, key[:40], key[40:], "-----", "KEY-----\n", strings.Repeat("A", 700), strings.Repeat("A", 9000))))).Draw(t, "text")
		whole := strings.Join(parts, "")
		r := redact.New(secrets...)
		want := r.Text(whole)
		var got strings.Builder
		var written bytes.Buffer
		stream, writer := r.Stream(), r.Writer(&written)
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			got.WriteString(stream.Push(rest[:n]))
			if _, err := writer.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		got.WriteString(stream.Flush())
		check.OK(t, writer.Close())
		if got.String() != want || written.String() != want {
			t.Errorf("of %q in pieces came %q and %q, want %q", whole, got.String(), written.String(), want)
		}
		for _, secret := range secrets {
			if strings.Contains(want, secret) {
				t.Errorf("%q shows %q", want, secret)
			}
		}
	})
}

func TestStreamHoldsBackOnlyWhatMayBeginASecret(t *testing.T) {
	t.Parallel()
	s := redact.New("sk-abcdef").Stream()
	var got []string
	for _, piece := range []string{"my key is s", "k-abc", "def, and sk", "y", " ends in sk-"} {
		got = append(got, s.Push(piece))
	}
	got = append(got, s.Flush(), s.Push("abcdef"))
	want := []string{"my key is ", "", "[redacted], and ", "sky", " ends in ", "sk-", "abcdef"}
	check.Equal(t, "result", want, got)
}

func TestValuesMayBeAddedMeanwhile(t *testing.T) {
	t.Parallel()
	r := redact.New()
	var done sync.WaitGroup
	for _, secret := range []string{"first secret", "second secret", "third secret"} {
		done.Go(func() {
			r.Add(secret)
			if got := r.Text(secret); got != redact.Placeholder {
				t.Errorf("%q is shown as %q", secret, got)
			}
		})
	}
	done.Wait()
}

func TestDeepRedactsEveryString(t *testing.T) {
	t.Parallel()
	type word string
	type inner struct{ Text string }
	type outer struct {
		Text  string
		Word  word
		In    *inner
		List  []inner
		Map   map[string]inner
		At    time.Time
		Count int
	}
	now := time.Now()
	in := outer{"my abcdef", "abcdef", &inner{"abcdef"}, []inner{{"abcdef"}}, map[string]inner{"abcdef": {"abcdef"}}, now, 3}
	hidden := inner{redact.Placeholder}
	want := outer{"my [redacted]", "abcdef", &hidden, []inner{hidden}, map[string]inner{"abcdef": hidden}, now, 3}
	check.Equal(t, "result", want, redact.Deep(redact.New("abcdef"), in))
	if in.In.Text != "abcdef" || in.List[0].Text != "abcdef" || in.Map["abcdef"].Text != "abcdef" {
		t.Errorf("the original was changed: %+v", in)
	}
}

func TestNamesThatLookSecret(t *testing.T) {
	t.Parallel()
	for _, name := range strings.Fields(`
		AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN NPM_TOKEN GITHUB_TOKEN GH_PAT OPENAI_API_KEY OPENAI_API_KEY_2
		ANTHROPIC_AUTH_TOKEN PGPASSWORD DB_PASSWORD MYSQL_PWD SMTP_PASS SSHPASS KEY_PASSPHRASE GOOGLE_APPLICATION_CREDENTIALS
		SECRET_KEY_BASE SSH_PRIVATE_KEY STRIPE_KEY NPM_CONFIG__AUTHTOKEN apiKey authToken x-api-key CLIENT_SECRET COMPOSER_AUTH
		ACTIONS_ID_TOKEN_REQUEST_TOKEN SECRET VAULT_TOKEN APIKEY token`) {
		if !redact.LooksSecret(name) {
			t.Errorf("%s does not look like a secret", name)
		}
	}
	for _, name := range strings.Fields(`
		PATH HOME PWD OLDPWD MONKEY KEYBOARD HOTKEYS SSH_AUTH_SOCK GIT_ASKPASS SSH_ASKPASS XAUTHORITY GIT_AUTHOR_NAME GPG_TTY
		AWS_SHARED_CREDENTIALS_FILE VAULT_TOKEN_FILE PASSWORD_STORE_DIR TOKENIZERS_PARALLELISM MAX_TOKENS_TIMEOUT KEYTIMEOUT
		GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GOPRIVATE BYPASS COMPASS_HOME CREDENTIALS_DIRECTORY TURKEY _ 1 LS_COLORS DATABASE_URL CI
		PASSENGER_HOME SECRETARY KEY_REPEAT`) {
		if redact.LooksSecret(name) {
			t.Errorf("%s looks like a secret", name)
		}
	}
}

func TestValuesOfFlagsAndAddressesAreKnownByName(t *testing.T) {
	t.Parallel()
	r := redact.New()
	r.AddArgs([]string{"server", "--api-key", "first-value", "--token=second-value", "-e", "MY_SECRET=third-value", "--verbose", "plain-value", "--password", "--colour"})
	r.AddURL("https://somebody:fourth-value@localhost/path-value?api_key=fifth-value&page=plain-page")
	got := r.Text("first-value second-value third-value plain-value --colour somebody fourth-value path-value fifth-value plain-page")
	if want := "[redacted] [redacted] [redacted] plain-value --colour somebody [redacted] path-value [redacted] plain-page"; got != want {
		t.Error(got)
	}
}

func TestPasswordsInAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"https://ci:s3cret-1@host/path":                          {"s3cret-1"},
		"postgres://me:p%40ss%2Fw@db:5432/x":                     {"p%40ss%2Fw", "p@ss/w"},
		"https://a:one@x/simple,direct https://b:t@wo@y:80/z":    {"one", "t@wo"},
		"redis://:s3cret@host:6379":                              {"s3cret"},
		"me:s3cret@proxy:3128":                                   {"s3cret"},
		"jdbc:mysql://me:s3cret@db/x":                            {"s3cret"},
		"https://host:8080/@scope/name":                          nil,
		"https://git@host/x.git":                                 nil,
		"git@host:owner/x.git":                                   nil,
		"mailto:me@example.com":                                  nil,
		"node:20-alpine@sha256:0123456789abcdef0123456789abcdef": nil,
		"http://localhost:8080":                                  nil,
		`{"url":"http://host:80","mail":"a@b.c"}`:                nil,
		"{'url':'http://host:80','mail':'a@b.c'}":                nil,
		"http://localhost:8080,admin@example.com":                nil,
		"jdbc:postgresql://h:5432;user=a@b":                      nil,
		"redis://:s3,c;ret@h1:6379,admin@h2":                     {"s3,c;ret"},
		"smb://GROUP;me:12345@host":                              {"12345"},
	} {
		check.Equal(t, text, want, redact.Passwords(text))
	}
}

func TestValuesOfDotenv(t *testing.T) {
	t.Parallel()
	got := redact.Dotenv("# A=comment\nA=plain-1\nexport B = plain 2 # and why\nC=\"quoted \\\"3\\\" # no comment\"\nD='one\ntwo' # d\nE=short\n\nF=`tick-4`\nG=line\\nbreak\nH=redis://:pass-5@host#x\n" +
		"NODE_ENV=development\nROOT=/srv/app\nAPI_KEY=horses\nI: colon-6\nK='first 7\nsecond 8'\n")
	want := []string{"colon-6", "first 7", "first 7\nsecond 8", "horses", "line\nbreak", `line\nbreak`, "one\ntwo", "pass-5", "plain 2", "plain-1", `quoted \"3\" # no comment`, "redis://:pass-5@host#x", "second 8", "tick-4"}
	check.Equal(t, "values", want, got)
}

func TestEnvironIsKnownByName(t *testing.T) {
	t.Parallel()
	r := redact.New()
	r.AddEnviron([]string{"NPM_TOKEN=npm_123456", "HOME=/home/somebody", "PIN_TOKEN=12345", "odd"})
	if got := r.Text("npm_123456 /home/somebody 12345 odd"); got != "[redacted] /home/somebody 12345 odd" {
		t.Error(got)
	}
}
