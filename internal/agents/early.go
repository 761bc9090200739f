package agents

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ralph/acp"
	"ralph/internal/proc"
	"ralph/internal/sandbox"
)

// spare is an agent that was started before anybody knew its task.
type spare struct {
	key     string
	folder  string // of its transcript, until it is taken
	cancel  context.CancelFunc
	ready   chan struct{}
	session *Session // valid after ready; nil if the agent could not be started
}

// Warm starts the agent of a task that is likely to come, up to the answer in which it says who it is. It waits only where the
// verifier has an overlay to itself, so that nothing is written into what is being verified. Once one was of no use, the run goes on
// without.
func (o *Opener) Warm(r SessionSpec) {
	ag, err := o.agentFor(&r)
	if err != nil || !o.Prestart || !ag.Prestart || o.Sandbox.Verification.Level != sandbox.Namespaces || o.unfit.Load() {
		return
	}
	folder, err := os.MkdirTemp(r.Folder, "early-")
	if err != nil {
		return // whoever needs the agent will be told
	}
	r.early, r.Folder, r.Observe, r.Started = true, folder, nil, nil
	ctx, cancel := context.WithCancel(context.Background()) // of a request that is over; the handshake has its limit
	waits := &spare{key: o.key(r, ag), folder: folder, cancel: cancel, ready: make(chan struct{})}
	go func() {
		defer close(waits.ready)
		s, err := o.launch(ctx, r, ag)
		if err != nil {
			o.unfit.CompareAndSwap(false, ctx.Err() == nil) // or nobody needs it any more
			o.Log.Debug().Str("agent", ag.Name).Err(err).Msg("agent not started early")
		}
		waits.session = s
	}()
	o.discard(o.replace(waits))
}

// launch starts an agent that has no task yet.
func (o *Opener) launch(ctx context.Context, r SessionSpec, ag Agent) (*Session, error) {
	s, err := o.confine(r, ag)
	if err != nil {
		return nil, err
	}
	if s.Session, err = acp.Launch(ctx, o.config(s, r)); err != nil {
		_ = s.Close()
		return nil, withLogin(err, s.preset, nil)
	}
	return s, nil
}

// take hands out the agent that waits if one that is started now would be the same.
func (o *Opener) take(ctx context.Context, r SessionSpec, ag Agent) *Session {
	waits := o.replace(nil)
	if waits == nil {
		return nil
	}
	if waits.key == o.key(r, ag) {
		select {
		case <-waits.ready:
			if waits.session != nil && waits.session.move(r.Folder) == nil {
				waits.cancel()
				_ = os.Remove(waits.folder)
				return waits.session
			}
		case <-ctx.Done():
		}
	}
	o.discard(waits)
	return nil
}

// move takes what was said so far to where the session's files belong.
func (s *Session) move(folder string) error {
	for _, f := range s.files {
		if err := os.Rename(f.Name(), filepath.Join(folder, filepath.Base(f.Name()))); err != nil {
			return err
		}
	}
	return nil
}

// discard ends an agent that nobody needs; Close waits for its end.
func (o *Opener) discard(waits *spare) {
	if waits == nil {
		return
	}
	o.going.Go(func() {
		waits.cancel()
		<-waits.ready
		if waits.session != nil {
			if err := waits.session.Close(); err != nil {
				o.Log.Warn().Err(err).Msg("agent started early not ended")
			}
		}
		_ = os.RemoveAll(waits.folder)
	})
}

// Close ends the agent that waits. Sessions that are open are not touched.
func (o *Opener) Close() {
	o.discard(o.replace(nil))
	o.going.Wait()
}

func (o *Opener) replace(next *spare) (last *spare) {
	o.mu.Lock()
	defer o.mu.Unlock()
	last, o.spare = o.spare, next
	return last
}

// key is all that an agent is started with and that may change during a run.
func (o *Opener) key(r SessionSpec, ag Agent) string {
	env, _ := o.environment(ag.Preset)
	process := ag.process(env)
	program, _ := proc.Lookup(ag.Argv[0], o.Dir, env)
	places := slices.Concat(process.State, process.Write, []string{program, o.Dir})
	dots, _ := filepath.Glob(filepath.Join(o.Dir, ".[a-z]*"))
	return fmt.Sprintf("%t %q %q %q %q %q", r.Verifier, r.Env, ag.Argv, env, o.Sandbox.Outline(process, r.Verifier), settings(append(places, dots...)))
}

// settings tells the versions of the files that agents keep credentials and settings in.
// Those are files that people can edit; an agent's own data changes all the time.
func settings(places []string) (versions []string) {
	kinds := []string{".json", ".jsonc", ".toml", ".yaml", ".yml", ".env"}
	for _, place := range places {
		files := []string{place}
		if entries, err := os.ReadDir(place); err == nil {
			files = nil
			for _, entry := range entries {
				if slices.Contains(kinds, filepath.Ext(entry.Name())) {
					files = append(files, filepath.Join(place, entry.Name()))
				}
			}
		}
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				versions = append(versions, fmt.Sprint(file, info.Size(), info.ModTime().UnixNano()))
			}
		}
	}
	return versions
}
