package suite

import (
	"path"
	"slices"
	"strings"
	"sync"

	"ralph/internal/lazyregexp"
)

// words are quick to look up, once that was done.
type words struct {
	text string
	once sync.Once
	all  map[string]bool
}

// set is so short that the compiler writes into the program what it returns to a variable of a package.
func set(text string) *words { return &words{text: text} }

func (w *words) has(word string) bool {
	w.once.Do(func() {
		w.all = map[string]bool{}
		for each := range strings.FieldsSeq(w.text) {
			w.all[each] = true
		}
	})
	return w.all[word]
}

// What runners of tests, checkers of code and what starts them read by themselves, or before every test.
var (
	settingsNames = set(`
		conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini tox.toml noxfile.py .coveragerc sitecustomize.py
		usercustomize.py mypy.ini .mypy.ini pyrightconfig.json .flake8 .pylintrc pylintrc ruff.toml .ruff.toml .bandit behave.ini hatch.toml
		.npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnp.cjs bunfig.toml cypress.json mocha.opts .taprc testem.js .swcrc .eslintignore
		biome.json biome.jsonc .oxlintrc.json nx.json turbo.json lerna.json .nvmrc .node-version .python-version .ruby-version
		.tool-versions mise.toml .mise.toml .envrc jasmine.json wallaby.js
		go.work nextest.toml clippy.toml .clippy.toml rustfmt.toml rust-toolchain rust-toolchain.toml staticcheck.conf tarpaulin.toml
		.rspec .simplecov .rubocop.yml .rubocop_todo.yml spec_helper.rb rails_helper.rb test_helper.rb test_helper.exs cucumber.yml
		phpunit.xml phpunit.xml.dist phpunit.dist.xml phpstan.neon phpstan.neon.dist psalm.xml phpcs.xml phpcs.xml.dist infection.json
		codeception.yml behat.yml Pest.php junit-platform.properties testng.xml global.json xunit.runner.json .credo.exs dart_test.yaml
		analysis_options.yaml CTestCustom.cmake .clang-tidy .proverc .busted .luacheckrc .hspec .bazelrc .shellcheckrc .editorconfig
		.pre-commit-config.yaml lefthook.yml .lefthook.yml checkstyle.xml detekt.yml .swiftlint.yml`)
	// settingsStems are those that may be written in one of several languages.
	settingsStems = set(`
		jest.config jest.setup jest-setup jest-preset setupTests setup-tests setup-jest vitest.config vitest.workspace vitest.setup
		.mocharc ava.config karma.conf playwright.config playwright-ct.config cypress.config wdio.conf nightwatch.conf .nycrc nyc.config
		.c8rc babel.config .babelrc .eslintrc eslint.config .prettierrc prettier.config .stylelintrc stylelint.config .golangci
		stryker.conf stryker.config .testcaferc .lintstagedrc .php-cs-fixer`)
	settingsFolders = set(`.cargo .husky .githooks .mvn __mocks__`)
	settingsExts    = set(`.pth .runsettings .xctestplan .rspec`)
	// builders say how the work is built, and how it is tested.
	builders = set(`
		pom.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties build.sbt CMakeLists.txt
		meson.build mix.exs rebar.config Package.swift Directory.Build.props Directory.Build.targets BUILD BUILD.bazel angular.json
		vite.config.js vite.config.ts vite.config.mjs vite.config.mts stack.yaml package.yaml pants.toml setup.py`)
)

var (
	codeExts = set(`
		.go .js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte .coffee .py .rs .java .kt .kts .scala .groovy .rb .php .cs .fs .vb .swift
		.c .cc .cpp .cxx .h .hpp .m .mm .ex .exs .erl .clj .cljs .hs .ml .lua .pl .pm .t .r .R .jl .dart .sh .bash .zsh .ps1 .bats .nim
		.zig .d .feature .robot .sql`)
	scriptExts  = set(`.js .jsx .ts .tsx .mjs .cjs .mts .cts .coffee .jl .t .bats .feature .robot`) // all in a folder of tests are run
	testFolders = set(`
		test tests __tests__ spec specs e2e cypress playwright unittests unittest integration_tests integration-tests integrationtest
		functional_tests functional-tests acceptance androidTest testFixtures testutil testutils testhelper testhelpers test_helpers
		test-helpers test_utils test-utils testsupport testkit testcases regress`)
	dataFolders = set(`
		testdata test-data test_data __snapshots__ __fixtures__ fixtures golden goldens snapshots cassettes __image_snapshots__ baselines baseline
		expected expectations approved`)
	elsewhere = set(`vendor node_modules third_party site-packages .venv venv`)
	lockNames = set(`modules.txt package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock go.sum Cargo.lock composer.lock
		Gemfile.lock poetry.lock uv.lock Pipfile.lock vendor.json .gitmodules`)

	testStem  = lazyregexp.New(`^(?:test[_-].+|tests?|.+[_.-](?:tests?|spec|specs|unittest|cy|e2e|SUITE))$`)
	camelStem = lazyregexp.New(`[a-z0-9](?:Tests?|TestCase|IT)$|^Tests?[A-Z]`)
	specStem  = lazyregexp.New(`[a-z0-9](?:Specs?|Suite)$`)
	dataName  = lazyregexp.New(`(?i)^(?:expected|golden|test(?:ing)?[_-]?(?:utils?|helpers?|support|lib|kit))\b|[._-](?:expected|golden|approved|snap|want)(?:\.\w+)?$`)
	helper    = lazyregexp.New(`(?i)helper|setup|util|common|support|mock|stub|fixture|config|^index$|^mod$|^lib$`)
	// asserting is how packages of Go are called that tests use.
	asserting = lazyregexp.New(`(?:^|/)(?:\w*(?:check|assert|expect|must|require|verify|equal|compare|fake|stub|mock|harness)\w*)(?:/\w+)?\.go$`)
	projectOf = lazyregexp.New(`[._-](?:Unit|Integration|Functional)?[Tt]ests?$`) // a folder

	// library is a package that tests are written with, or run by.
	library = lazyregexp.New(`^(?:@jest|@vitest|@playwright|@testing-library|@types|jest|ts-jest|babel-jest|vitest|mocha|chai|ava|sinon|jasmine|` +
		`karma|tap|tape|c8|nyc|istanbul|cypress|playwright|supertest|eslint|typescript|ts-node|tsx|expect|uvu|qunit|testify|gomega|ginkgo|` +
		`gotest\.tools|gocheck|go-cmp|asserts?|require|rapid|proptest|quickcheck|rstest|insta|phpunit|pest|rspec|minitest|pytest|junit)(?:[-_.].*)?$`)
	// shadow is a module of Python or Perl that is found before the one of the same name that runs tests.
	shadow = lazyregexp.New(`^(?:src/|lib/|tests?/)?(?:_?pytest|pytest_\w+|unittest2?|doctest|nose2?|hypothesis|pluggy|xdist|tox|nox|coverage)(?:\.py$|/.*\.py$)|(?:^|/)Test/\w+\.pm$`)
)

// byName is how a file checks the work, as far as its name shows it.
func byName(file string) Kind {
	folders := strings.Split(file, "/")
	base := folders[len(folders)-1]
	folders = folders[:len(folders)-1]
	in := func(names *words) bool { return slices.ContainsFunc(folders, names.has) }
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	switch {
	case in(elsewhere):
		if slices.ContainsFunc(folders, library.Get().MatchString) && !slices.ContainsFunc(folders, isCache) {
			return Settings
		}
		return ""
	case isSettings(folders, base, stem, ext), in(settingsFolders):
		return Settings
	case in(dataFolders):
		return Fixture
	case codeExts.has(ext) && isTest(folders, stem, ext):
		return Test
	case ext == ".md":
		return ""
	case dataName.Get().MatchString(base), inTests(folders, ext):
		return Fixture
	}
	return ""
}

// isCache reports whether what is in a folder of libraries is left there by tools.
func isCache(folder string) bool {
	return folder[:1] == "." && !slices.Contains([]string{".bin", ".venv", ".pnpm"}, folder)
}

func isSettings(folders []string, base, stem, ext string) bool {
	last := ""
	if len(folders) > 0 {
		last = folders[len(folders)-1]
	}
	switch {
	case settingsNames.has(base), settingsStems.has(stem), settingsStems.has(base), settingsExts.has(ext), builders.has(base), mixed(base) != nil:
		return true
	case base == ".env" || strings.HasPrefix(base, ".env."):
		return !slices.Contains([]string{".example", ".sample", ".template", ".dist"}, ext)
	case base == "__init__.py" || base == "bootstrap.php":
		return testFolders.has(last)
	}
	return last == "support" && slices.Contains(folders, "cypress")
}

// isTest reports whether a runner takes a file of code for one with tests.
func isTest(folders []string, stem, ext string) bool {
	last := ""
	if len(folders) > 0 {
		last = folders[len(folders)-1]
	}
	named := testStem.Get().MatchString(stem)
	switch ext {
	case ".go":
		hidden := func(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }
		return strings.HasSuffix(stem, "_test") && !hidden(stem) && !slices.ContainsFunc(folders, hidden)
	case ".rs":
		return named || last == "tests"
	case ".java", ".cs", ".vb", ".php", ".m", ".mm", ".cpp", ".cc":
		return named || camelStem.Get().MatchString(stem) && !slices.Contains(folders, "main")
	case ".kt", ".kts", ".scala", ".groovy", ".swift", ".hs", ".fs":
		return named || (camelStem.Get().MatchString(stem) || specStem.Get().MatchString(stem)) && !slices.Contains(folders, "main")
	}
	return named || ext == ".bats" || scriptExts.has(ext) && inTests(folders, ext) && !helper.Get().MatchString(stem)
}

// inTests reports whether a file lies next to tests. A folder of specifications may hold those of the product.
func inTests(folders []string, ext string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		if f == "spec" || f == "specs" {
			return codeExts.has(ext)
		}
		return testFolders.has(f) || projectOf.Get().MatchString(f) || f == "t" && (ext == ".t" || folders[0] == f)
	})
}
