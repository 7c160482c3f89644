#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mandoc -Tlint and groff -ww have nothing to say about the man pages.
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

tried=0
said=$(mktemp)
trap 'rm -f "$said"' EXIT
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
