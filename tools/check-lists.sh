#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makefile.am lists every source, unit test and fuzzer that is there, and none that is not: what is
# not listed would be left out of the program, of the tests or of a release without a word.
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

there=$(mktemp)
listed=$(mktemp)
trap 'rm -f "$there" "$listed"' EXIT

(
	cd "$top"
	find src -name '*.[ch]'
	find tests/unit -name '*.[ch]' 2>/dev/null | sed '/\/test_/s/\.c$//'
	find tests/fuzz -name 'fuzz_*.c' 2>/dev/null | sed 's/\.c$//'
) | sort >"$there"
grep -Eo '(src|tests/unit|tests/fuzz)/[a-z_/]+(\.[ch])?' "$top/Makefile.am" |
	grep -E '^(src/.*\.[ch]|tests/unit/test_[a-z_]*[a-z]|tests/unit/[a-z_]+\.[ch]|tests/fuzz/fuzz_[a-z_]*[a-z])$' |
	grep -Ev '^tests/unit/test_.*\.c$' | sort -u >"$listed"
for file in $(comm -23 "$there" "$listed"); do
	finding "$file is not in Makefile.am"
done
for file in $(comm -13 "$there" "$listed"); do
	finding "$file is in Makefile.am, but not there"
done
lint_end
