# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the commands below tools/ share. The caller has set -euo pipefail.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say()
{
	printf '%s: %s\n' "$(basename "$0")" "$*"
}

die()
{
	say "$*" >&2
	exit 1
}

# with_progress WHAT LOG COMMAND...: the command's output goes to LOG; a line every ten seconds says
# that it still works, and the end of LOG is shown when it fails.
with_progress()
{
	local what=$1 log=$2 began=$SECONDS told=$SECONDS pid status=0
	shift 2

	mkdir -p "$(dirname "$log")"
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	# A background job ignores Ctrl-C: it is passed on, and what was begun is seen to its end.
	# shellcheck disable=SC2064  # the pid of now is meant
	trap "kill $pid 2>/dev/null; wait $pid; exit 130" INT TERM
	while [ -n "$(jobs -rp)" ]; do
		sleep 0.2
		if [ $((SECONDS - told)) -ge 10 ]; then
			told=$SECONDS
			say "  $what ... $((SECONDS - began)) s"
		fi
	done
	wait "$pid" || status=$?
	trap - INT TERM
	if [ "$status" -ne 0 ]; then
		tail -n 40 "$log" >&2
		say "$what failed; its whole output is in $log" >&2
		return "$status"
	fi
	say "  $what: done in $((SECONDS - began)) s"
}

# Makes configure and Makefile.in where they are missing or older than what they are made of.
generate()
{
	local made=$repo/configure source

	for source in "$repo"/configure.ac "$repo"/Makefile.am "$repo"/m4/flags.m4; do
		if [ ! -e "$made" ] || [ ! -e "$repo/Makefile.in" ] || [ "$source" -nt "$made" ]; then
			with_progress 'autoreconf' "$repo/build/autoreconf.log" \
				autoreconf --force --install "$repo"
			touch "$made"
			return
		fi
	done
}

# build_reaper DIR [CONFIGURE-ARGUMENT...]: configures DIR, when that was not done yet (with these
# arguments, if there are any), and builds the program there.
build_reaper()
{
	local dir=$1 want have
	shift

	generate
	mkdir -p "$dir"
	want=$(printf '%s\n' "$repo" "$@")
	have=$(cat "$dir/.configured" 2>/dev/null) || :
	if [ ! -e "$dir/Makefile" ] || { [ $# -gt 0 ] && [ "$want" != "$have" ]; }; then
		(cd "$dir" && with_progress 'configure' "$dir/configure.out" "$repo/configure" "$@")
		printf '%s\n' "$want" >"$dir/.configured"
	fi
	with_progress 'make' "$dir/make.out" make -C "$dir" -j"$(nproc)"
}
