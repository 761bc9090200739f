package proc

func gaps() []string {
	return []string{
		"a process that kills its helper, leaves its session and clears its environment survives outside a pid namespace",
	}
}
