// Package modelagent is the coding agent that ralph ships: an ACP agent that calls a language model itself, so that an
// API key or a local model is enough to run tasks. It is a process like every other agent, in the same sandbox and
// with the same verification.
//
// A turn is a loop: ask the model, run the tools that it calls, tell it the results, until it calls none.
//
//	agent.go, turn.go         sessions over ACP, and the loop
//	conversation.go           what was said, in a file that survives kill -9
//	context.go                what of it the model is sent, within its window
//	model.go                  the words that all of these share
//	provider.go, retry.go     asking a model, and asking again
//	anthropic.go, openai.go   two providers, and wire.go, models.go what they share
//	toolbox.go                the tools, one file for each kind
package modelagent
