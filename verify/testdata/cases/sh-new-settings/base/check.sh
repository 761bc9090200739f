#!/bin/sh
set -eu
skip=
[ ! -f .checkrc ] || . ./.checkrc
for test in tests/*.test.sh; do
	case " $skip " in *" $test "*) continue ;; esac
	sh "$test"
done
