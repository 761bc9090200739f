// Package fakeagent is an ACP agent that plays a script; tests only. It writes
// the wire format itself, not through the SDK, so that it can break every rule
// of it, and it keeps a ledger of what it was asked, which tests check. It
// never calls a model and is never part of the released program's behaviour.
//
// A test binary becomes the agent by calling Main, typically when TestMain sees
// an environment variable. The script is JSON, given in FAKEAGENT_SCRIPT itself
// or as the path of a file; without one every task is done and every
// verification passes. The ledger is a folder named by FAKEAGENT_LEDGER.
//
//	{"conversations": [
//	  {"when": {"verify": true}, "steps": [{"do": "say", "text": "<verify-pass/>\n"}]},
//	  {"when": {"attempt": 1},   "steps": [{"do": "hang"}]},
//	  {"steps": [{"do": "write", "path": "a.txt", "text": "x"},
//	             {"do": "say", "text": "<task-done>{{task}}</task-done>\n", "chunk": 5}]}
//	]}
package fakeagent
