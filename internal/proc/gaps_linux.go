package proc

func gaps() []string {
	return []string{
		"below namespaces, a process that clears its environment and leaves its session survives if it kills its helper, or if its helper is killed together with ralph within a second after it began",
	}
}
