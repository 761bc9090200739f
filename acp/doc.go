// Package acp runs one agent process and one session of the Agent Client
// Protocol with it: the handshake, prompts, and the client's side of files,
// terminals and permissions. It never decides what an answer means for a task,
// never renders, and lets no type of the SDK out.
//
//	stdout ─▶ intake ─┬─ updates ──▶ turn (text, tools, usage), observer, transcript
//	                  └─ requests, answers ──▶ SDK ──▶ handler (files, terminals, permissions)
//	stdin  ◀───────────────────────────────── outlet ◀┘
//
// Updates are taken in by the reader itself, in order, before the SDK sees the
// answer that follows them: the SDK's own queue holds 1,024 and closes the
// connection when it overflows. Requests pass only as fast as they are
// answered. So an agent that floods us waits in its own pipe.
//
// Whatever an agent does, a call ends: by its answer, by a limit of Config, or
// because the context was cancelled. After Close nothing of it runs.
package acp
