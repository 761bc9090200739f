// Package e2e takes real coding agents through whole runs of ralph. The agents
// are unmodified and come from npm at pinned versions, or are a part of ralph; only
// the language model is replaced, by a server on loopback. It is a module of its own,
// so that the ordinary tests need neither npm nor a network.
package e2e
