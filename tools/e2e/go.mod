module ralph/tools/e2e

go 1.26
