#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The units expose no more than they must.
#
# 2.2 of 10, as systemd-analyze of systemd 252 counts, is what is left where reaper sees what it needs: the
# host's sockets (PrivateNetwork=), other users (User=, PrivateUsers=, four capabilities), sysctls
# (ProcSubset=), a CPU to read its clock on (@resources), and to drop capabilities (@privileged).
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

most=22 # tenths

if ! command -v systemd-analyze >/dev/null; then
	echo "unit: systemd-analyze is not there"
	exit 77
fi
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for unit in "$top"/etc/*.service; do
	systemd-analyze security --offline=yes --no-pager --threshold="$most" "$unit" >"$said" 2>&1 ||
		finding "${unit##*/} is more exposed than $most tenths: $(tail -n 1 "$said")"
done
lint_end
