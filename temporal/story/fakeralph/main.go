// Command fakeralph stands in for ralph where only ralph-temporal is looked at: its attempts do nothing, and its run orders
// FAKE_TASKS of them, --jobs at once, and writes the ID of each that is settled as a line to FAKE_SETTLED.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
)

// line is one of package internal/dispatch, which a module whose tests need a whole server does not import: the versions of
// what both need do not go together.
type line map[string]any

func main() {
	switch os.Args[1] {
	case "version":
		fmt.Println(`{"build":"fake"}`)
	case "attempt":
		if _, err := bufio.NewReader(os.Stdin).ReadByte(); err != nil {
			os.Exit(1)
		}
		fmt.Println(`{"delivery":{"body":"done"}}`)
	case "dispatch":
		check(run(os.Args[2:]))
	default:
		check(fmt.Errorf("the fake cannot %q", os.Args[1:]))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	opts := map[string]string{}
	for i := 0; i+1 < len(args); i++ {
		opts[args[i]] = args[i+1]
	}
	tasks, err := strconv.Atoi(os.Getenv("FAKE_TASKS"))
	if err != nil {
		return err
	}
	jobs, err := strconv.Atoi(opts["--jobs"])
	if err != nil {
		return err
	}
	f, err := os.Create(os.Getenv("FAKE_SETTLED"))
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := net.Dial("unix", opts["--socket"])
	if err != nil {
		return err
	}
	in, out := json.NewDecoder(c), json.NewEncoder(c)
	send := func(m line) {
		if err == nil {
			err = out.Encode(m)
		}
	}
	open, ordered := map[string]bool{}, 0
	order := func() {
		for ; ordered < tasks && len(open) < jobs; ordered++ {
			id := fmt.Sprintf("a-%05d", ordered+1)
			open[id] = true
			send(line{"order": line{
				"attempt": id, "task": fmt.Sprintf("t-%05d", ordered+1), "title": "nothing", "run": "r-fake", "agent": "shell", "build": "fake", "body": "nothing",
			}})
		}
		send(line{"idle": true})
	}
	send(line{"run": line{"id": "r-fake", "joined": false}})
	for order(); len(open) > 0 && err == nil; {
		var m struct {
			Delivery *struct{ Attempt, Error string }
		}
		if err = in.Decode(&m); err != nil || m.Delivery == nil {
			continue
		}
		id := m.Delivery.Attempt
		if open[id] {
			delete(open, id)
			fmt.Fprintln(f, id, m.Delivery.Error)
		}
		send(line{"settled": id})
		order()
	}
	send(line{"ended": line{"outcome": "complete"}})
	return err
}
