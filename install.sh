#!/bin/sh
# Installs ralph: fetches the archive for this system, compares it with the checksums of the release, and copies the program.
#
#   RALPH_VERSION       a version, such as 0.1.0; empty means the newest
#   RALPH_INSTALL_DIR   where the program goes (default: ~/.local/bin)
#   RALPH_RELEASES      where releases are fetched from
set -eu

releases=${RALPH_RELEASES:-https://github.com/OWNER/ralph/releases}
dir=${RALPH_INSTALL_DIR:-${HOME:+$HOME/.local/bin}}

fail() {
	echo "install ralph: $1" >&2
	[ -z "${2:-}" ] || echo "hint: $2" >&2
	exit 1
}

fetch() { # URL FILE
	if command -v curl >/dev/null 2>&1; then
		curl -fsSL --proto-redir "=${1%%:*},https" -o "$2" "$1" # a redirect does not leave https
	elif command -v wget >/dev/null 2>&1; then
		wget -q -O "$2" "$1"
	else
		fail "there is neither curl nor wget" "install one of them, or download $1 yourself"
	fi
}

sum() { # FILE; prints its name, too
	if command -v sha256sum >/dev/null 2>&1; then
		sha256sum "$1"
	elif command -v shasum >/dev/null 2>&1; then
		shasum -a 256 "$1"
	else
		fail "nothing here computes SHA-256" "install sha256sum (coreutils) or shasum (Perl)"
	fi
}

# Everything is a function, called by the last line: a script that was cut off while it came does nothing.
main() {
	system=$(uname -s) machine=$(uname -m)
	case $system in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there is no archive of this kind for $system" "on Windows take the .zip from $releases; elsewhere build ralph with Go" ;;
	esac
	case $machine in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no archive for $machine" "build ralph with Go" ;;
	esac
	from=$releases/latest/download
	[ -z "${RALPH_VERSION:-}" ] || from=$releases/download/v${RALPH_VERSION#v}

	[ -n "$dir" ] || fail "HOME is not set, so there is no ~/.local/bin" "say where the program goes: RALPH_INSTALL_DIR=FOLDER"
	mkdir -p "$dir" 2>/dev/null || fail "cannot create $dir" "choose another folder: RALPH_INSTALL_DIR=FOLDER"
	dir=$(CDPATH='' cd -- "$dir" && pwd) # as PATH has it: absolute, and no slash at its end
	[ ! -d "$dir/ralph" ] || fail "$dir/ralph is a folder" "move it away, or choose another folder: RALPH_INSTALL_DIR=FOLDER"
	temp='' new=''
	trap 'rm -rf ${temp:+"$temp"} ${new:+"$new"}' EXIT
	# Not every shell runs that when a signal ends it.
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	temp=$(mktemp -d 2>/dev/null) || fail "cannot create a temporary folder in ${TMPDIR:-/tmp}" "choose another: TMPDIR=FOLDER"
	# In the same folder as the program, so that it is replaced at once, also while it runs.
	new=$(mktemp "$dir/.ralph-new.XXXXXX" 2>/dev/null) || fail "cannot write to $dir" "choose another folder: RALPH_INSTALL_DIR=FOLDER"

	fetch "$from/checksums.txt" "$temp/checksums.txt" || fail "cannot fetch $from/checksums.txt" "is there a network, and such a version?"
	line=$(grep "  ralph_[^ ]*_${os}_${arch}\.tar\.gz\$" "$temp/checksums.txt") || fail "this release has no archive for $os/$arch" "build ralph with Go"
	archive=${line##*  } want=${line%%  *}
	fetch "$from/$archive" "$temp/$archive" || fail "cannot fetch $from/$archive"
	got=$(sum "$temp/$archive") || exit 1
	got=${got%% *}
	[ "$got" = "$want" ] || fail "$archive is not what its release says: its SHA-256 is $got, not $want" "try again; if it stays like this, do not use the file, and tell the project: ${releases%/releases}/issues"

	tar -xzf "$temp/$archive" -C "$temp" ralph
	cp "$temp/ralph" "$new"
	chmod 755 "$new"
	version=$("$new" version) || fail "the program of $archive does not run here"
	mv -f "$new" "$dir/ralph"
	echo "installed $version in $dir"
	case :$PATH: in
	*:"$dir":*) echo "next: ralph demo" ;;
	*) echo "next: put $dir on your PATH, then: ralph demo" ;;
	esac
	command -v git >/dev/null 2>&1 || echo "ralph needs git, and there is none here"
}

main "$@"
