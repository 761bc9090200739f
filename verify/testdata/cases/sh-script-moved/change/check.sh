#!/bin/sh
exec scripts/check.sh "$@"
