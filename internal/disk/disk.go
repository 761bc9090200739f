// Package disk says how much space a file system has. It writes nothing.
package disk
