// Package modelagent is the coding agent that ralph ships: an ACP agent that calls a language model itself, so that an
// API key or a local model is enough to run tasks. It is a process like every other agent, in the same sandbox and
// with the same verification.
//
// A turn is a loop: ask the model, run the tools that it calls, tell it the results, until it calls none.
//
//	agent.go, session.go      sessions over ACP
//	turn.go, calls.go         the loop, and the calls of one answer
//	conversation.go           what was said, in a file that survives kill -9
//	context.go                what of it the model is sent, within its window
//	instructions.go           what the model is told before everything else
//	model.go                  the words that all of these share
//	provider.go, retry.go     asking a model, and asking again; unconnected.go if there is none yet
//	anthropic.go, openai.go   two providers, and wire.go, events.go, place.go, models.go what they share
//	toolbox.go                the tools, one file for each kind
package modelagent
