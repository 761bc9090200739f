#!/bin/sh
go test -v ./... | grep -q "^--- PASS"
