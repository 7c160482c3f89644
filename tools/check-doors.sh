#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each library has one door: the one file that may include its headers.
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

# door HEADER-PATTERN FILE-PATTERN: the header only in files below src/ that match.
door()
{
	grep -rEl --include='*.[ch]' "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($1)" "$top/src" |
		sed "s|^$top/||" | grep -Ev "^src/($2)$" | sort >"$hits" || :
	while read -r file; do
		finding "$file may not include $1: its door is src/$2"
	done <"$hits"
}

hits=$(mktemp)
trap 'rm -f "$hits"' EXIT
door 'libproc2/|proc/' 'observe/processes\.c'
door 'sys/capability\.h' 'app/caps\.c'
door 'ini\.h' 'app/config\.c'
door 'jansson\.h' 'report/[a-z_]*json[a-z_]*\.[ch]'
door 'libmnl/' 'observe/sockets\.c'
door 'seccomp\.h' 'app/sandbox\.c'
door 'criterion/' 'none'
lint_end
