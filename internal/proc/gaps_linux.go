package proc

// Gaps says, in sentences for a person, which processes may outlive us on this
// system. It is empty where none can.
func Gaps() []string {
	return []string{
		"below namespaces, a process that clears its environment and leaves its session survives if it kills its helper, or if its helper is killed together with ralph within a second after it began",
	}
}
