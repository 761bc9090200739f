// Package failpoint lets tests kill this program at a named point of its code. In
// an ordinary build Hit does nothing and costs nothing; with the build tag
// failpoint it kills the process, or holds it, when RALPH_FAILPOINT names the point, by its moment:
// README.md lists them. It never decides anything else.
package failpoint
