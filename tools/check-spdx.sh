#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every file says under which licence it is, near its top. Not asked of: the licence itself, empty
# files, and files that hold bytes as they were read or output as it must be.
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

list=$(mktemp)
trap 'rm -f "$list"' EXIT
our_files | grep -Ev '^(LICENSE|tests/(fixtures|golden|fuzz/corpus)/.*)$' | sort >"$list"
[ -s "$list" ] || finding "no files found"
while IFS= read -r file; do
	[ -s "$top/$file" ] || continue
	head -n 5 "$top/$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0' ||
		finding "$file has no SPDX line"
done <"$list"
lint_end
