package modelagent

import (
	"context"
	"errors"
)

// Unconnected is a provider that could not be connected to. It says why whenever it is asked, so that a client learns
// of it by the protocol and not from a process that is gone: to the client it is a missing login, which trying again
// does not mend.
func Unconnected(err error) Provider { return unconnected{missing(err)} }

type unconnected struct{ why error }

func (u unconnected) Send(context.Context, Request, func(string)) (Reply, error) {
	return Reply{}, u.why
}

func (u unconnected) Models(context.Context) ([]Model, error) { return nil, u.why }

// Nearby is a provider on this machine. If it cannot even be reached when a session begins, nobody has started it.
func Nearby(p Provider) Provider { return nearby{p} }

type nearby struct{ Provider }

func (n nearby) Models(ctx context.Context) ([]Model, error) {
	models, err := n.Provider.Models(ctx)
	if f := (*Failure)(nil); errors.As(err, &f) && f.Kind == Broken && f.Status == 0 {
		err = missing(err)
	}
	return models, err
}

// missing says that a person has to do something first.
func missing(err error) error {
	if f := (*Failure)(nil); errors.As(err, &f) && f.Kind == NoKey {
		return f
	}
	return &Failure{Kind: NoKey, Text: err.Error()}
}
