#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every fuzzer takes every file of its corpus (tests/fuzz/corpus/<parser>/) without a crash. An empty
# corpus is a fault: nothing would be tested.
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

ran=0
for source in "$top"/tests/fuzz/fuzz_*.c; do
	[ -e "$source" ] || { echo "corpus: there is no fuzzer"; exit 77; }
	name=$(basename "$source" .c)
	set -- "$top/tests/fuzz/corpus/${name#fuzz_}"/*
	if [ ! -e "$1" ]; then
		finding "$name has no corpus"
	elif [ ! -x "tests/fuzz/$name" ]; then
		finding "$name is not built"
	elif ! timeout 60 "tests/fuzz/$name" "$@"; then
		finding "$name fails on its corpus"
	else
		echo "corpus: $name took $# files"
		ran=$((ran + $#))
	fi
done
echo "corpus: $ran files"
lint_end
