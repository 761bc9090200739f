package proc

// Gaps says, in sentences for a person, which processes may outlive us on this
// system. It is empty where none can.
func Gaps() []string { return gaps() }
