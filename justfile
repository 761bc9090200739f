# Everything here is a convenience; README and .ci/run need only Go.

# tests under the race detector (needs gcc), which looks at our code and not at SQLite, for which it takes ages
raced := "CGO_ENABLED=1 go test -race -gcflags=modernc.org/...=-race=false"

# list the recipes
default:
    @just --list --unsorted

# build the stripped binary into bin/
build:
    CGO_ENABLED=0 go build -tags urfave_cli_no_docs -trimpath -ldflags '-s -w' -o bin/ralph ./cmd/ralph

# build, vet and test after an edit, in less than four minutes
quick:
    .ci/quick

# run shards of CI, or all: static, lint, tests, crash, scripts, soak, browser, race, modules, agents (.ci/shards names them)
ci *SHARDS:
    .ci/run {{SHARDS}}

# run the tests, but for the long ones of cmd/ralph
test:
    go test ./...

# run the long tests of cmd/ralph on a subject, or all: crash, landed, lies, live, load, pipeline, run, sandbox, slots, soak, sync, verify (.ci/long names them)
long SUBJECT=".*":
    grep -E '^{{SUBJECT}} ' .ci/long | while read -r subject pattern; do go test ./cmd/ralph -count=1 -timeout 15m -run "$pattern" || exit 1; done

# run all tests under the race detector (needs gcc)
race:
    {{raced}} -timeout 60m -run . ./...

# run the part of cmd/ralph under the race detector that CI runs (.ci/raced names it)
race-ci:
    {{raced}} -count=1 -timeout 15m -run "$(paste -sd '|' .ci/raced)" ./cmd/ralph

# run the linters
lint:
    golangci-lint run
    cd temporal && golangci-lint run

# format everything (go install mvdan.cc/gofumpt@latest)
fmt:
    gofumpt -w $(git ls-files '*.go')

# see a whole run, without a key
demo:
    go run ./cmd/ralph demo

# measure, and print ratios (minutes)
bench *ARGS:
    cd tools/bench && go test -bench . -benchtime 1x -timeout 1h {{ARGS}}

# replay real work through bin/ralph (tools/bench/realwork/README.md has the flags)
realwork *ARGS: build
    go -C tools/bench build -o ../../bin/realwork ./realwork
    bin/realwork {{ARGS}}

# rewrite golden files and scripts from what the program does now
golden:
    go test ./cmd/ralph ./internal/render ./internal/taskfile ./internal/render/transcript ./internal/watch ./prompt ./report ./telemetry -update

# record docs/demo.cast anew (play it with: asciinema play docs/demo.cast)
record:
    go test ./cmd/ralph -count=1 -run TestTheRecordingShowsTheDemo -record

# draw the pictures of README and docs again: the live view, the report and the pages of ralph serve (needs Chromium)
pictures:
    go test ./internal/watch -count=1 -run TestThePictureIsCurrent -update
    RALPH_CHROMIUM=1 go test ./report -count=1 -run TestTheScreenshotIsCurrent -update
    RALPH_CHROMIUM=1 go test ./cmd/ralph -count=1 -run TestThePicturesOfPagesAreThere -update

# nearly everything CI checks; .ci/run is the rest
check: build test lint race
    test -z "$(gofmt -l $(git ls-files '*.go'))"
    go vet ./...

# look for new counterexamples: property tests with values nobody has seen
explore CHECKS="2000":
    for d in dag internal/proc internal/render internal/term journal knowledge loop prompt sigils strategy; do RALPH_TEST_EXPLORE=1 go test -count=1 "./$d" -rapid.checks={{CHECKS}} || exit 1; done

# kill runs at random times, N of them, and count what must never happen (about 4 a second)
soak N="1000":
    RALPH_SOAK={{N}} go test ./cmd/ralph -run '^TestSoak$' -count=1 -v -timeout 0 | grep -v '^=== '

# kill runs in slots, their helpers and git processes, N in all, while a person works there (about 1 a second)
soak-parallel N="500":
    RALPH_SOAK_SLOTS={{N}} go test ./cmd/ralph -run '^TestSoakInSlots$' -count=1 -v -timeout 0 | grep -v '^=== '

# kill runs at random times while agents ask and a person answers, N in all (about one in two seconds)
soak-questions N="500":
    RALPH_SOAK_QUESTIONS={{N}} go test ./cmd/ralph -run '^TestSoakQuestions$' -count=1 -v -timeout 0 | grep -v '^=== '

# two runs side by side, and a person who works during verification, at each sandbox level: nothing is lost (minutes)
trust:
    RALPH_TRUST=1 go test ./cmd/ralph -run 'SideBySideKeep|PersonWorksDuringVerification' -count=1 -v -timeout 30m

# try to break out of the sandbox, in every way we know, and say how often
sandbox:
    go test -count=1 -v -run Escapes ./internal/sandbox

# build ralph-temporal, which runs agents on many machines, into bin/, and the ralph that belongs to it
temporal-build: build
    cd temporal && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o ../bin/ralph-temporal .

# check the module temporal/ without a server, and note in temporal/passed.txt that it passed
temporal-ci:
    .ci/temporal always

# check the examples in docs/examples/temporal with the validators of each that are installed here
temporal-examples:
    docs/examples/temporal/check

# run hundreds of tasks on a real Temporal server and kill workers, server and home while they do (needs the program temporal; minutes)
temporal *ARGS:
    cd temporal/story && go test -count=1 -timeout 60m -v {{ARGS}} ./...

# take real agents from npm through whole runs (minutes): the three of CI, noting that they passed, or those named
e2e-agents *NAMES:
    cd tools/e2e && RALPH_E2E=always RALPH_E2E_AGENTS="{{NAMES}}" go test -count=1 -timeout 60m -run '^TestAgents$' -v ./...

# take ralph's own agents through everything that real agents pass, and every fault of a provider, without a network (minutes)
e2e-own *NAMES:
    cd tools/e2e && RALPH_E2E_AGENTS="{{NAMES}}" go test -count=1 -timeout 15m -parallel 4 -skip '^TestAgents$' -v ./...

# what ralph's own agent costs beside its model: time of a call, memory, requests longer than the window
bench-agent *ARGS:
    cd tools/bench && go test -run xxx -bench 'Agent$' -benchtime 1x {{ARGS}}

# what 200 open pages cost a run of 100 updates a second, and what pages of 10,000 tasks cost (two minutes)
bench-serve *ARGS:
    cd tools/bench && go test -run xxx -bench 'Serve$' -benchtime 1x {{ARGS}}

# take the same plans through ralph, a bare loop and peers from npm, with kills, limits and lies, and count (ten minutes)
[positional-arguments]
derby *ARGS:
    cd tools/derby && go run . "$@"

# look at reports and at the pages of ralph serve in Chromium, on a phone and on a desk, by day and by night; it says where the pictures are
look CHROMIUM="1":
    RALPH_CHROMIUM={{CHROMIUM}} go test ./report -run InChromium -count=1 -v -pages "$(mktemp -d)"
    RALPH_CHROMIUM={{CHROMIUM}} go test ./internal/web -run InChromium -count=1 -v -pages "$(mktemp -d)"

# play a story in the pages of ralph serve, attack them and look at each, in Chromium; it says where the pictures are
look-serve CHROMIUM="1":
    RALPH_CHROMIUM={{CHROMIUM}} go test ./cmd/ralph -run InChromium -count=1 -v -shots "$(mktemp -d)"

# kill servers while 50 people answer, N in all: each answer counts once or not at all
soak-serve N="100":
    RALPH_SERVE_KILLS={{N}} go test ./cmd/ralph -run '^TestAnAnswerCountsOnceOrNotAtAll$' -count=1 -v -timeout 0 | grep -v '^=== '

# run the collection of lies and honest changes, or the cases whose names match, and print both rates (minutes)
lies NAMES="":
    RALPH_LIES='{{NAMES}}' go test ./cmd/ralph -run '^TestLies$' -count=1 -v -timeout 0 | grep -v '^ *=== '

# make the files of a release of the tagged commit in dist/ (needs nfpm): just release -home https://github.com/YOU/ralph; to try it: just release -snapshot -version 0.1.0
release *FLAGS:
    go run -C release . {{FLAGS}} all

# install each file of a release in a fresh folder or root and run the demo there: of the folder DIST (absolute), or of one that it makes (minutes; CONTRIBUTING.md lists what it needs)
release-check DIST="1":
    cd release && RALPH_RELEASE='{{DIST}}' go test -count=1 -v -timeout 60m -run TestTheWholeRelease . | grep -v '^ *=== '
