// Package features owns what a feature is before its tasks run: the documents
// spec.md, plan.md and tasks.jsonl, and the way from an idea to them with the help
// of an agent.
//
// It never lets an agent write a document of the project: the agent works on copies
// in a staging folder of its own, and what it wrote there is read back, checked and
// put in place in one step. It never starts an agent itself, asks a person itself,
// or runs a task.
//
// # Staging
//
// Each step of a feature has a folder below .ralph/staging, which git ignores. It
// holds the state of the step, so that a step that was interrupted goes on where it
// was; what of the document was accepted last; the logs of the sessions; and, in
// work, what the agent sees. When the step is through, the folder is removed.
package features
