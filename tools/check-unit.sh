#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The units expose no more than they must.
#
# 1.5 of 10, as systemd-analyze of systemd 252 counts, is what is left where reaper sees what it needs, and
# tests/system/test_unit.py runs them so. What each line of that is for:
#
#  User=	one state_dir for the service and for root's own commands, which believe no other user's files
#  PrivateUsers=, CAP_KILL	an end to other users' workers
#  CAP_SYS_PTRACE	any look at other users' trees
#  CAP_DAC_READ_SEARCH	signed-off, exact waits
#  CAP_SYS_NICE, @resources	an end in time where no CPU is free; a CPU's clock, without which no wait is
#		dated at the first look
#  ProcSubset=	the boot id: no marker and no history is believed without
#  AF_UNIX	sd_notify
#  UMask=	the audit log and what lies beside it are 0640
#  DeviceAllow=	what ProtectClock= itself brings along
#  RootDirectory=	users and their marker logs may be anywhere
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

most=15 # tenths

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
