// Package prompt owns the words that ralph says to agents: the prompt of a task,
// of its verification, and the follow-ups in a running session.
//
// It never reads a file, a clock or the graph, and it never decides: facts come
// in, text goes out. It cannot fail.
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
// # Budget
//
// A prompt never exceeds its budget. Tokens are estimated as bytes divided by
// four; that is cautious for English and code and is not a model's own count. Our
// own words come first; the rest is shared between the quotations by weight, and
// what one does not need goes to the others in the order of their importance. A
// quotation that is cut says how much is shown and where the rest is.
package prompt
