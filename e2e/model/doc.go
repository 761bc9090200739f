// Package model is a language model that plays a script: a server on loopback
// that speaks what coding agents speak to their providers (Anthropic Messages,
// OpenAI Chat Completions, OpenAI Responses, Google's generateContent), streaming or not, and that can
// fail as providers do. It never calls anybody.
package model
