module ralph/e2e

go 1.26
