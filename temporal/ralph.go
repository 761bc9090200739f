package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// ralph is the program that does all the work. It may be replaced while we run.
type ralph struct {
	mu    sync.Mutex
	stamp string // of the file whose build is known
	known string
}

// path finds it: $RALPH, else the one beside this program, else the one in PATH.
func (r *ralph) path() (string, error) {
	if path := os.Getenv("RALPH"); path != "" {
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), "ralph")); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("ralph")
	if err != nil {
		return "", errors.New("ralph was not found beside this program or in PATH; install it, or set RALPH to its path")
	}
	return path, nil
}

// build is what ralph version says of itself. Only the same build makes the attempts of a run.
func (r *ralph) build(ctx context.Context) (string, error) {
	path, err := r.path()
	if err != nil {
		return "", err
	}
	file, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	stamp := fmt.Sprint(path, file.Size(), file.ModTime())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stamp == stamp {
		return r.known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "version", "--json").Output()
	if err != nil {
		return "", fmt.Errorf("%s version: %w", path, err)
	}
	var version struct{ Build string }
	if err := json.Unmarshal(out, &version); err != nil {
		return "", fmt.Errorf("%s version --json makes no sense: %w", path, err)
	}
	r.stamp, r.known = stamp, version.Build
	return r.known, nil
}

// command runs ralph to its end.
func (r *ralph) command(ctx context.Context, dir string, argv []string) (Ran, error) {
	path, err := r.path()
	if err != nil {
		return Ran{}, err
	}
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, path, argv...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return Ran{}, err
	}
	return Ran{Stdout: shorten(stdout.String()), Stderr: shorten(stderr.String()), Status: cmd.ProcessState.ExitCode()}, nil
}

// shorten keeps what the server takes.
func shorten(text string) string {
	const most = 512 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "\n[...]\n"
}
