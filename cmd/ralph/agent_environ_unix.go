//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"ralph/internal/agents"
)

// credentialsEnv says on which descriptor a process that started itself again finds its credentials.
const credentialsEnv = "RALPH_CREDENTIALS_FD"

// startWithoutCredentials starts this program again in the same process, with an environment that has no credentials: the
// kernel shows the environment that a program was started with to other processes, as it was, whatever the program
// does to it later. The credentials go through a pipe. It returns nil if there is nothing to hide, and else only with an error.
func startWithoutCredentials() error {
	environ := os.Environ()
	clean := agents.WithoutCredentials(environ)
	secret := slices.DeleteFunc(environ, func(entry string) bool { return slices.Contains(clean, entry) })
	if len(secret) == 0 {
		return nil
	}
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer func() { _ = syscall.Close(pipe[0]) }()
	if err := fill(pipe[1], []byte(strings.Join(secret, "\x00"))); err != nil {
		return err
	}
	env := slices.Concat(clean, []string{credentialsEnv + "=" + strconv.Itoa(pipe[0])})
	file, err := os.Executable()
	if err == nil {
		err = syscall.Exec(file, os.Args, env)
	}
	return errors.Join(err, syscall.Exec("/proc/self/exe", os.Args, env)) // the file may have been replaced while we run
}

// fill writes into a pipe all that its reader will find, and closes it. Nobody reads yet, so it must not wait.
func fill(fd int, data []byte) error {
	defer func() { _ = syscall.Close(fd) }()
	if err := syscall.SetNonblock(fd, true); err != nil {
		return err
	}
	n, err := syscall.Write(fd, data)
	if err == nil && n < len(data) {
		err = fmt.Errorf("%d bytes of credentials do not fit into a pipe", len(data))
	}
	return err
}

// receiveCredentials reports whether this process was started by startWithoutCredentials, and then takes the credentials
// into its environment, of which nobody else sees this part.
func receiveCredentials() bool {
	number, err := strconv.Atoi(os.Getenv(credentialsEnv))
	if err != nil || number <= syscall.Stderr {
		return false
	}
	_ = os.Unsetenv(credentialsEnv) // what we start has no such descriptor
	pipe := os.NewFile(uintptr(number), "credentials")
	data, err := io.ReadAll(pipe)
	pipe.Close()
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		name, value, _ := strings.Cut(string(entry), "=")
		_ = os.Setenv(name, value) // it was set before
	}
	return true
}
