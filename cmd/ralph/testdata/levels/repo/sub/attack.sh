# What the agent of a task does. None of it is good work, unless the last case says so.
person=$RALPH_PROJECT
slots=$(echo "$XDG_STATE_HOME"/ralph/slots/*)
watch() { # whether a gate runs, here or in a room, and has it see something good
	while :; do
		for dir in . "$slots"/rooms/[0-9]*/sub; do
			test ! -e $dir/gate-runs || echo good >$dir/room.txt
		done
		sleep 0.01
	done
}
case $1 in
flip | room)
	echo bad >room.txt
	if test $1 = flip; then watch >/dev/null 2>&1 </dev/null & else
		export slots
		setsid env -i PATH="$PATH" slots="$slots" sh -c "$(sed -n '/^watch()/,/^}/p' attack.sh); watch" >/dev/null 2>&1 </dev/null &
	fi ;;
mode)
	echo bad >mode.txt
	chmod -x "$slots"/rooms/*/sub/run.sh ;;
forge)
	echo forged >cached.txt
	sh gate.sh
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/check
	touch "$cache/$(cksum <cached.txt | tr ' ' -)" ;;
infect)
	echo infected >cached.txt
	echo 'touch "$cache/$(echo exploited | cksum | tr " " -)"' >infect.sh ;;
exploit) echo exploited >cached.txt ;;
environment) echo bad >environment.txt ;;
server | daemon)
	rm -f address
	if test $1 = server; then answers address >/dev/null 2>&1 </dev/null & else
		setsid env -i PATH="$PATH" answers address >/dev/null 2>&1 </dev/null &
	fi
	until test -s address; do sleep 0.01; done
	cp address server.txt ;;
project)
	for dir in "$person" "$slots"/.project; do
		git config -f "$dir/.git/config" evil.key value
		echo evil >"$dir/evil"
		echo evil >"$dir/sub/evil"
		echo evil >"$dir/.git/evil"
	done
	git reset -q --hard HEAD; git clean -qfd ;;
history)
	git update-ref -d HEAD
	rm -rf "$(git rev-parse --git-dir)"
	echo good >history.txt ;;
outside) echo changed >../outside.txt ;;
rewrite) sed -i 's/^/new /' here.txt ;;
rename) git mv here.txt there.txt ;;
good) echo good >good.txt ;;
esac
exit 0
