package sigils

// Parse returns the sigils in one piece of message text without tool calls.
func Parse(text, taskID string) Set {
	s := NewScanner(taskID)
	s.Write(text)
	return s.Set()
}
