#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mandoc -Tlint and groff -ww have nothing to say about the man pages, and the promises of reaper(8) are those
# of docs/SAFETY.md, word for word.
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

# Both print a promise a line: its number, then its letters and digits, without markup and punctuation.
promises_of_page()
{
	awk '
		/^\.Sh / { inside = /^\.Sh PROMISES$/ }
		!inside || /^\.(Sh|Bl|El|Pp)/ { next }
		/^\.It/ { number++; next }
		/^\./ { sub(/^\.[A-Z][a-z] /, ""); gsub(/(^| )(Ar|Cm|Dv|Fl|Ic|No|Pa|Pq|Ql|Xr) /, " ") }
		number { text[number] = text[number] $0 }
		END { for (i = 1; i <= number; i++) { gsub(/[^A-Za-z0-9]/, "", text[i]); print "N" i, text[i] } }
	' "$1"
}

promises_of_case()
{
	awk -F '|' '
		$2 ~ /^ N[0-9]+ $/ { gsub(/ /, "", $2); gsub(/[^A-Za-z0-9]/, "", $3); print $2, $3 }
	' "$1"
}

tried=0
said=$(mktemp)
trap 'rm -f "$said"' EXIT
if [ -e "$top/docs/SAFETY.md" ]; then
	tried=1
	promises_of_page "$top/man/reaper.8" >"$said"
	[ -s "$said" ] || finding "reaper.8 has no PROMISES"
	differ=$(promises_of_case "$top/docs/SAFETY.md" | diff "$said" - | sed -n 's/^[<>] \(N[0-9]*\) .*/\1/p' |
		sort -u | tr '\n' ' ')
	[ -z "$differ" ] || finding "PROMISES of reaper.8 and docs/SAFETY.md differ: $differ"
fi
for page in "$top"/man/*.[1-8]; do
	[ -e "$page" ] || { finding "no man page below man/"; break; }
	if command -v mandoc >/dev/null; then
		tried=1
		# Whether other pages are installed here says nothing about this one.
		mandoc -Tlint -Wstyle "$page" 2>&1 |
			grep -v -e 'referenced manual not found' -e 'outdated mandoc.db' >"$said" || :
		[ ! -s "$said" ] || { cat "$said"; finding "mandoc finds fault with ${page##*/}"; }
	fi
	if command -v groff >/dev/null; then
		tried=1
		groff -ww -man -mandoc -Tutf8 -z -K utf8 "$page" >"$said" 2>&1 || :
		[ ! -s "$said" ] || { cat "$said"; finding "groff finds fault with ${page##*/}"; }
	fi
done
if [ "$tried$findings" = 00 ]; then
	echo "man: neither mandoc nor groff is there"
	exit 77
fi
lint_end
