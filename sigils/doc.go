// Package sigils owns the markers an agent puts into its message text: it turns
// that text into a [Set], and it makes markers in quoted text inert.
//
// It never sees thoughts or tool output (the caller feeds message text only), it
// never decides what a marker leads to, and it never fails: a malformed sigil is
// plain text.
//
// # Grammar
//
// Names are lower case and written exactly as here. Space around an ID or value
// is allowed; attributes are quoted with " or '.
//
//	<task-done>ID</task-done>
//	<task-failed>ID</task-failed>
//	<task-failed>ID: reason</task-failed>        block; the colon may be missing
//	<task-failed id="ID">reason</task-failed>    block
//	<next-model>NAME</next-model>
//	<promise>COMPLETE</promise>   <promise>FAILURE</promise>
//	<journal>notes</journal>                     block
//	<knowledge title="T" tags="a,b">body</knowledge>   block; other attributes are ignored
//	<verify-pass/>   <verify-pass></verify-pass>
//	<verify-fail>reason</verify-fail>            block; the reason may be missing
//
// # Where a sigil counts
//
// A sigil counts on a line of its own, indented by at most three spaces. A block
// may span lines: its opening tag begins its line and its closing tag ends its
// line. Text that Markdown would show as quoted or as code does not count: code
// fences, indented code, block quotes, list items, code spans (also those that
// span lines), HTML comments, and elements such as pre and code. Blocks do not
// nest: what stands inside a closed block is its body.
//
// What is opened and never closed hides nothing, with three exceptions that
// Markdown makes too: a code fence, an HTML comment and a pre-like element that
// begin a line hide what follows until they are closed or a tool call comes.
//
// # Bounds
//
// Scanning is linear and looks at no byte twice for being split into chunks. A
// body is cut at 64 KiB, all journal notes together too; the first 20 knowledge
// entries are kept; a line of any length costs at most 70 KiB.
package sigils
