package mcp

import "time"

// Impatient closes connections that do not speak at once.
func (l *Listener) Impatient() { l.silence = time.Millisecond }
