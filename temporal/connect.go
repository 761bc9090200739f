package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"ralph/internal/project"
)

// server is the Temporal server of a project.
type server struct {
	client.Client
	name string // the address and the namespace, for people
	ns   string
	dc   converter.DataConverter
	fc   converter.FailureConverter
	say  func(format string, args ...any)
}

// connect makes a client that dials when it is first used, so that a server that is away is no error yet.
func connect(p project.Project, conf project.Temporal, level slog.Level, say func(string, ...any)) (*server, error) {
	opts, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{})
	if err != nil {
		return nil, fmt.Errorf("read Temporal's environment and profile: %w", err)
	}
	opts.HostPort = cmp.Or(conf.Address, opts.HostPort, "127.0.0.1:7233")
	opts.Namespace = cmp.Or(conf.Namespace, opts.Namespace, client.DefaultNamespace)
	host, _ := os.Hostname()
	opts.Identity = fmt.Sprintf("%d@%s:%s", os.Getpid(), host, p.Root)
	opts.Logger = sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	if err := encrypt(&opts, p, conf.CodecKey); err != nil {
		return nil, err
	}
	c, err := client.NewLazyClient(opts)
	if err != nil {
		return nil, fmt.Errorf("the settings of the Temporal server %s: %w", opts.HostPort, err)
	}
	return &server{
		Client: c, name: opts.HostPort + "/" + opts.Namespace, ns: opts.Namespace,
		dc: opts.DataConverter, fc: opts.FailureConverter, say: say,
	}, nil
}

// encrypt sets the codec if there is a key. Messages of failures pass through it as well.
func encrypt(opts *client.Options, p project.Project, keyFile string) error {
	if keyFile == "" {
		opts.DataConverter, opts.FailureConverter = converter.GetDefaultDataConverter(), temporal.GetDefaultFailureConverter()
		return nil
	}
	if !filepath.IsAbs(keyFile) {
		keyFile = filepath.Join(p.Root, keyFile)
	}
	c, err := readCodec(keyFile)
	if err != nil {
		return err
	}
	opts.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c, converter.NewZlibCodec(converter.ZlibCodecOptions{}))
	opts.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: opts.DataConverter, EncodeCommonAttributes: true,
	})
	return nil
}

// wait returns when the server answers, however long that takes. A server that answers and refuses us is an error.
func (s *server) wait(ctx context.Context) error {
	for away := false; ; {
		err := s.ask(ctx)
		var missing *serviceerror.NamespaceNotFound
		var denied *serviceerror.PermissionDenied
		switch {
		case err == nil:
			if away {
				s.say("the Temporal server %s is reachable", s.name)
			}
			return nil
		case errors.As(err, &missing):
			return fmt.Errorf("the Temporal server %s has no such namespace; make it with: temporal operator namespace create -n %s", s.name, s.ns)
		case errors.As(err, &denied):
			return fmt.Errorf("the Temporal server %s refuses us: %w; check TEMPORAL_API_KEY and the TLS settings", s.name, err)
		case ctx.Err() != nil:
			return ctx.Err()
		case !away:
			away = true
			s.say("cannot reach the Temporal server %s (%v); waiting for it; is temporal.address right?", s.name, err)
		}
		pause(ctx, time.Second)
	}
}

func (s *server) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := s.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.ns})
	return err
}

// watch says when the server is lost and when it is back, until the context ends. Nothing gives up meanwhile.
func (s *server) watch(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, 5*time.Second)
		if err := s.wait(ctx); err != nil && ctx.Err() == nil {
			s.say("%v", err)
			pause(ctx, time.Minute)
		}
	}
}

// retry calls fn until it succeeds, the context ends, or the server says that it never will.
func retry(ctx context.Context, fn func(context.Context) error) error {
	for {
		once, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := fn(once)
		cancel()
		var bad *serviceerror.InvalidArgument
		if err == nil || ctx.Err() != nil || errors.As(err, &bad) || strings.Contains(err.Error(), "message larger than max") {
			return err
		}
		pause(ctx, time.Second)
	}
}

// poll polls a queue until the context ends, and what is under way has ended, too. A worker cannot be started twice, so each
// try has its own. The SDK gives up when the server has no such namespace, as one that lost its data; we do not.
func (s *server) poll(ctx context.Context, queue string, opts worker.Options, register func(worker.Worker), started func()) error {
	for {
		fatal := make(chan error, 1)
		opts.OnFatalError = func(err error) { fatal <- err } // it is stopped already
		var w worker.Worker
		err := retry(ctx, func(context.Context) error {
			w = worker.New(s.Client, queue, opts)
			register(w)
			return w.Start()
		})
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it need not begin any more
		default:
			return fmt.Errorf("poll queue %s on %s: %w", queue, s.name, err)
		}
		started()
		select {
		case <-ctx.Done():
			w.Stop()
			return nil
		case err := <-fatal:
			s.say("cannot poll queue %s on %s (%v); trying again", queue, s.name, err)
			pause(ctx, time.Second)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
