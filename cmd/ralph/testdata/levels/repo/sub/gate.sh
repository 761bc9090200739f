# Passes if all is good, in the ways in which gates are deceived.
bad() { echo "bad: $1"; exit 1; }
good() { test ! -e "$1" || grep -q good "$1" || bad "$1"; }

# what a process of the agent does when it sees that a gate runs
if test -e room.txt; then
	touch gate-runs
	for i in $(seq 20); do grep -q good room.txt && break; sleep 0.02; done
	rm gate-runs
	good room.txt
fi
# a check that is left out if it cannot be run
test ! -e mode.txt || ! test -x run.sh || ./run.sh || bad mode.txt
# a cache of what has passed
cache=${XDG_CACHE_HOME:-$HOME/.cache}/check
mkdir -p "$cache"
test ! -e infect.sh || . ./infect.sh
if test -e cached.txt; then
	passed=$cache/$(cksum <cached.txt | tr ' ' -)
	test -e "$passed" || good cached.txt
	touch "$passed"
fi
# an environment that names the project's path
if test -x .venv/bin/check; then .venv/bin/check || bad environment.txt; else good environment.txt; fi
# a server
test ! -e server.txt || timeout 3 fetch "http://$(cat server.txt)" | grep -q good || bad server.txt
