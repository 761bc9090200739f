package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// how says what made a result: another binary, or other flags, would make another.
func (o options) how() string {
	words := []string{"ralph", o.ranSum(), "patch", o.Patch, "gate", o.Gate}
	if o.Verifier != "" {
		words = append(words, "verifier", o.Verifier)
	}
	return strings.Join(append(words, o.Flags...), " ")
}

// sums are those of binaries that were read.
var sums sync.Map

func (o options) ranSum() string {
	if sum, known := sums.Load(o.Ralph); known {
		return sum.(string)
	}
	hash := sha256.New()
	file, err := os.Open(o.Ralph)
	if err != nil {
		return "unknown" // it cannot be run either
	}
	defer func() { _ = file.Close() }()
	if _, err := io.Copy(hash, file); err != nil {
		return "unknown"
	}
	sum := hex.EncodeToString(hash.Sum(nil))[:12]
	sums.Store(o.Ralph, sum)
	return sum
}

// replay replays what is not in --out yet, and prints what is known then.
func replay(ctx context.Context, o options) error {
	if _, err := os.Stat(o.Ralph); err != nil {
		return err
	}
	ids, err := o.chosen()
	if err != nil {
		return err
	}
	if o.Work == "" {
		if o.Work, err = os.MkdirTemp("", "realwork"); err != nil {
			return err
		}
		if !o.Keep {
			defer func() { _ = os.RemoveAll(o.Work) }()
		}
	}
	if o.Work, err = filepath.Abs(o.Work); err != nil {
		return err
	}
	known, others, err := o.known()
	if err != nil {
		return err
	}
	if others > 0 {
		fmt.Fprintf(o.Stderr, "realwork: %s has %d results of another ralph or of other flags, which do not count here\n", o.Out, others)
	}
	out, err := os.OpenFile(o.Out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	todo := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, is := known[id]; return is })
	err = o.playAll(ctx, todo, func(r result) error {
		known[r.ID] = r
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		fmt.Fprintln(o.Stderr, r.line())
		_, err = out.Write(append(line, '\n'))
		return err
	})
	var list []result
	for _, id := range ids {
		if r, is := known[id]; is {
			list = append(list, r)
		}
	}
	fmt.Fprint(o.Stdout, table(list))
	return err
}

func (o options) chosen() ([]string, error) {
	ids, err := instances(o.Corpus)
	if o.Only != "" {
		only := strings.Split(o.Only, ",")
		ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(only, id) })
		if len(ids) != len(only) && err == nil {
			err = fmt.Errorf("%s has %d of the %d instances of --only", o.Corpus, len(ids), len(only))
		}
	}
	if o.Limit > 0 {
		ids = ids[:min(len(ids), o.Limit)]
	}
	return ids, err
}

// known reads the results that count. The last of an instance does; what could not be replayed is tried again.
func (o options) known() (list map[string]result, others int, err error) {
	list = map[string]result{}
	file, err := os.Open(o.Out)
	if errors.Is(err, fs.ErrNotExist) {
		return list, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }()
	in := bufio.NewScanner(file)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var r result
		if json.Unmarshal(in.Bytes(), &r) != nil {
			continue // it was being written when realwork was killed
		}
		switch {
		case r.How != o.how():
			others++
		case r.Error == "":
			list[r.ID] = r
		}
	}
	return list, others, in.Err()
}

// playAll replays instances, some at once, and hands over each result, one after another.
func (o options) playAll(ctx context.Context, ids []string, take func(result) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo, results := make(chan string), make(chan result)
	var players sync.WaitGroup
	for range o.Parallel {
		players.Go(func() {
			for id := range todo {
				results <- o.one(ctx, id)
			}
		})
	}
	go func() {
		defer close(results)
		defer players.Wait()
		defer close(todo)
		for _, id := range ids {
			select {
			case todo <- id:
			case <-ctx.Done():
				return
			}
		}
	}()
	for r := range results {
		if ctx.Err() != nil {
			continue // it was cut short, and says nothing
		}
		if err := take(r); err != nil {
			cancel(err)
		}
	}
	return context.Cause(ctx)
}
