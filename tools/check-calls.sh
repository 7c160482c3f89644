#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calls that the program must not make: those that signal by a bare number, that start a program,
# that write without a bound, that cannot report an error. The sources are searched, and so is what
# the linked program imports (what a macro or a library header hides shows there).
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

signals='kill|killpg|tkill|tgkill|sigqueue|pthread_kill|pthread_sigqueue|rt_sigqueueinfo'
programs='system|popen|wordexp|exec[lv]p?e?|execvpe|fexecve|posix_spawnp?|v?fork'
unbounded='strcpy|strcat|stpcpy|sprintf|vsprintf|gets|getwd'
unsure='atoi|atol|atoll|atof|tmpnam|tempnam|mktemp'
calls="$signals|$programs|$unbounded|$unsure"
numbers='(SYS|__NR)_(kill|tkill|tgkill|rt_sigqueueinfo|rt_tgsigqueueinfo|execve|execveat)'

# Prints the lines of C files that hold a match for `pattern`, comments and strings left out.
# shellcheck disable=SC2016  # the dollars are awk's
search='
FNR == 1 { inside = 0 }
{
	text = $0
	gsub(/\\./, "", text)
	gsub(/"[^"]*"/, "\"\"", text)
	code = ""
	while (text != "") {
		mark = inside ? "*/" : "/*"
		at = index(text, mark)
		if (!inside) code = code (at ? substr(text, 1, at - 1) : text) " "
		if (!at) break
		text = substr(text, at + 2)
		inside = !inside
	}
	sub(/\/\/.*/, "", code)
	if ((" " code) ~ pattern) print FILENAME ":" FNR ": " $0
}'
hits=$(mktemp)
trap 'rm -f "$hits"' EXIT
find "$top/src" -name '*.[ch]' -exec awk \
	-v pattern="[^A-Za-z0-9_.>]((${calls})[ \t]*[(]|${numbers}[^A-Za-z0-9_])" \
	"$search" '{}' + | sort >"$hits"
while IFS= read -r line; do
	finding "forbidden call: ${line#"$top"/}"
done <"$hits"

# The runtime of a sanitizer or of gcov imports some of these for itself.
if [ -n "${PLAIN_BUILD-}" ]; then
	if [ -e reaper ]; then
		${NM:-nm} -D --undefined-only reaper | awk '{ print $2 }' | sed 's/@.*//' |
			grep -Ex "(__)?($calls)(_chk)?" >"$hits" || :
		while read -r symbol; do
			finding "the program imports $symbol"
		done <"$hits"
	else
		finding "the program is not built, so nobody can say what it imports"
	fi
fi
lint_end
