//go:build !unix

package main

func foreground() bool { return true }
