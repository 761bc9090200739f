// Package prompt owns the words that ralph says to agents: the prompt of a task,
// of its verification, and the follow-ups in a running session.
//
// It never reads a file, a clock or the graph, and it never decides: facts come
// in, text goes out. It cannot fail, but
// for a project's own words, which are refused when they are read.
//
// # Foreign text
//
// Whatever ralph did not write itself (task texts, specifications, notes of
// earlier agents, output of commands) is data. It appears in Markdown quotations
// only, every line behind "> " and under a line that says where it is from, so it
// can form no heading, no fence and no live sigil; control characters, escape
// sequences and bidirectional overrides are removed, and sigils lose their
// brackets for the case that an agent copies them. In prompts for workers the
// words by which a verifier's prompt is known are broken with a non-breaking
// hyphen.
//
// # Sections
//
// Some sections can be said in a project's own words: those in templates/sections, whose
// file is their text. Sigils, quotations and what an agent must not do are in none of them.
//
// # Order
//
// What is the same for all tasks of a feature comes first, what changes from
// iteration to iteration next, and the task last: providers cache prompts by their
// beginning.
//
// # Budget
//
// A prompt never exceeds its budget. Tokens are estimated as bytes divided by
// four; that is cautious for English and code and is not a model's own count. The
// quotations that come first share a part of the budget that depends on no task; what
// they and our own words leave is shared between the others by weight, and what one
// does not need goes to the others in the order of their importance. A quotation that
// is cut says how much is shown and where the rest is.
package prompt
