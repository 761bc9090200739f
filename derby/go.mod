module ralph/derby

go 1.26
