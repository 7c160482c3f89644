#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the objects in tests/torture/pid_reuse call: it can give a number away before a call only if
# that call is wrapped (pid_reuse's line of --wrap in Makefile.am). Every other one stands here, with
# the reason why nothing about a process can change before it that does not change before the next
# one that is wrapped. A call that is in neither list is a finding, whatever it does.
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

# The runtime of a sanitizer or of gcov calls some for itself.
[ -n "${PLAIN_BUILD-}" ] || lint_end

# Only memory: of ours, or of what has been read before.
memory='(mem|str)[a-z]+|bcmp|[mc]alloc|realloc|free|qsort(_r)?|asprintf|v?snprintf|inet_ntop'
memory="$memory|json_[a-z_]+|ini_parse_string|mnl_nlmsg_put_(extra_)?header|mnl_socket_get_(fd|portid)"
memory="$memory|__errno_location|__assert_fail|__stack_chk_fail|dirfd|nl_langinfo|(secure_)?getenv|sysconf"
# Our own process, its threads, limits and CPU: nobody else can have its number.
ours='pthread_[a-z_]+|sigfillset|sched_[a-z]+|[gs]etrlimit|getpid|geteuid|nanosleep|getrandom|getopt_long|opt[a-z]+'
# What is printed, by a command that has not begun to look or has ended.
output='isatty|ioctl|f?put[cs]|putchar|fprintf|fwrite|fflush|ferror|std(out|err)'
# Ends the use of a descriptor, or begins that of one which is open: no process is asked. A socket
# and libproc2's memory are made, or taken and drained, before anything is asked through them.
descriptors='close|closedir|fdopendir|fcntl|socket|[gs]etsockopt|recv|mnl_socket_(open2|fdopen|bind|close)|procps_pids_(new|unref)'
# Files that are of no process: the configuration, the state, the log, marker files (also by a descriptor of
# our own: __open_2), users; and readlink(2) of /proc/self.
files='flock|ftruncate|fchmod|mkdirat|unlink(at)?|lstat|get(pw)(nam|uid)_r|__open_2|readlink'
reasons="$memory|$ours|$output|$descriptors|$files"

objects="tests/torture/give_away.o tests/torture/inside.o tests/torture/people.o tests/torture/pid_reuse.o tests/torture/sweeps.o"
# Prints what the members of the archive that the linker takes for these objects get from elsewhere.
# shellcheck disable=SC2016  # the dollars are awk's
search='
/:$/ { object = substr($0, 1, length($0) - 1); next }
NF < 2 { next }
$(NF - 1) ~ /^[UvVwW]$/ && NF == 2 { needs[object] = needs[object] " " $NF; next }
$(NF - 1) ~ /^[a-z]$/ { next }
{ home[$NF] = object }
END {
	wanted = roots
	while (wanted != "") {
		split(wanted, names, " ")
		wanted = ""
		for (i in names) {
			name = names[i]
			sub(/^__real_/, "", name)
			if (!(name in home) || home[name] in taken) continue
			taken[home[name]] = 1
			wanted = wanted needs[home[name]]
		}
	}
	for (at in taken) {
		split(needs[at], names, " ")
		for (i in names) if (!(names[i] in home)) print names[i], at
	}
}'
for file in libreaper.a $objects; do
	[ -e "$file" ] || finding "$file is not built, so nobody can say what it calls"
done
[ "$findings" -eq 0 ] || lint_end
calls=$(mktemp)
wraps=$(mktemp)
trap 'rm -f "$calls" "$calls.left" "$wraps"' EXIT
# shellcheck disable=SC2086  # a list of files
roots=$("${NM:-nm}" -u $objects | awk 'NF == 2 { print $2 }' | sort -u | tr '\n' ' ')
"${NM:-nm}" libreaper.a | awk -v roots="$roots" "$search" | sort >"$calls"
awk '/^tests_torture_pid_reuse_LDFLAGS/ { here = 1 } here { print } here && !/\\$/ { exit }' \
	"$top/Makefile.am" | grep -o 'wrap=[A-Za-z0-9_]*' | sed 's/wrap=//' | sort >"$wraps"

[ -s "$calls" ] || finding "pid_reuse takes nothing from libreaper.a"
# shellcheck disable=SC2016  # the dollars are awk's
awk -v reasons="^($reasons)\$" '
FILENAME == ARGV[1] { wrapped[$1] = 1; next }
$1 in wrapped { next }
{
	bare = $1
	if (bare ~ /_chk$/) gsub(/^__|_chk$/, "", bare)
	if (bare !~ reasons) print $1, $2
}' "$wraps" "$calls" >"$calls.left"
while read -r name object; do
	finding "pid_reuse does not wrap $name, which ${object#libreaper_a-} calls"
done <"$calls.left"
lint_end
