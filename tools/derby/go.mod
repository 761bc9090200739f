module ralph/tools/derby

go 1.26
