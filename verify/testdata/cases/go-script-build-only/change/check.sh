#!/bin/sh
set -eu
go test -c -o /dev/null . && echo ok
