/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>

#include "observe/proc_parse.h"
#include "observe/scan.h"

enum status_key {
	STATUS_TGID,
	STATUS_TRACER,
	STATUS_UIDS,
	STATUS_NSPID,
	STATUS_VM,
	STATUS_RSS,
	STATUS_ANON,
	STATUS_DUMPING,
	STATUS_BLOCKED,
	STATUS_IGNORED,
	STATUS_CAUGHT,
	STATUS_VOLUNTARY,
	STATUS_INVOLUNTARY,
	STATUS_KEYS,
};

static const char *const status_names[] = {
	[STATUS_TGID] = "Tgid:",
	[STATUS_TRACER] = "TracerPid:",
	[STATUS_UIDS] = "Uid:",
	[STATUS_NSPID] = "NSpid:",
	[STATUS_VM] = "VmSize:",
	[STATUS_RSS] = "VmRSS:",
	[STATUS_ANON] = "RssAnon:",
	[STATUS_DUMPING] = "CoreDumping:",
	[STATUS_BLOCKED] = "SigBlk:",
	[STATUS_IGNORED] = "SigIgn:",
	[STATUS_CAUGHT] = "SigCgt:",
	[STATUS_VOLUNTARY] = "voluntary_ctxt_switches:",
	[STATUS_INVOLUNTARY] = "nonvoluntary_ctxt_switches:",
};
static_assert(ARRAY_SIZE(status_names) == STATUS_KEYS, "every key has a name");

/* A zombie and a kernel thread have no memory; kernels without pid namespaces have no NSpid. */
static const unsigned status_needed = 1u << STATUS_TGID | 1u << STATUS_TRACER | 1u << STATUS_UIDS |
				      1u << STATUS_BLOCKED | 1u << STATUS_IGNORED |
				      1u << STATUS_CAUGHT | 1u << STATUS_VOLUNTARY |
				      1u << STATUS_INVOLUNTARY;

static bool status_pid(struct scan *s, pid_t *ret)
{
	uint64_t value;

	if (!scan_u64(s, INT32_MAX, &value))
		return false;
	*ret = (pid_t)value;
	return true;
}

static bool status_uids(struct scan *s, uid_t uids[4])
{
	for (int i = 0; i < 4; i++) {
		uint64_t value;

		if (i && !scan_char(s, '\t'))
			return false;
		if (!scan_u64(s, UINT32_MAX, &value))
			return false;
		uids[i] = (uid_t)value;
	}
	return true;
}

static bool status_ns_pids(struct scan *s, struct proc_status *ret)
{
	do {
		if (!status_pid(s, &ret->ns_pid))
			return false;
		ret->ns_depth++;
	} while (scan_char(s, '\t'));
	return true;
}

static bool status_kib(struct scan *s, uint64_t *ret)
{
	uint64_t kib;

	if (!scan_u64(s, UINT64_MAX / 1024 - 1, &kib) || !scan_str(s, " kB"))
		return false;
	*ret = kib * 1024;
	return true;
}

static bool status_switches(struct scan *s, struct proc_status *ret)
{
	uint64_t count;

	if (!scan_u64(s, UINT64_MAX / 4, &count))
		return false;
	ret->switches += count;
	return true;
}

static bool status_dumping(struct scan *s, struct proc_status *ret)
{
	uint64_t value;

	if (!scan_u64(s, 1, &value))
		return false;
	ret->dumping = tri_of(value);
	return true;
}

/* Takes the value of a line, all of it. */
static bool status_value(struct scan s, enum status_key key, struct proc_status *ret)
{
	bool good = false;

	(void)scan_blanks(&s);
	switch (key) {
	case STATUS_TGID:
		good = status_pid(&s, &ret->tgid);
		break;
	case STATUS_TRACER:
		good = status_pid(&s, &ret->tracer);
		break;
	case STATUS_UIDS:
		good = status_uids(&s, ret->uids);
		break;
	case STATUS_NSPID:
		good = status_ns_pids(&s, ret);
		break;
	case STATUS_VM:
		good = status_kib(&s, &ret->vm_bytes);
		break;
	case STATUS_RSS:
		good = status_kib(&s, &ret->rss_bytes);
		break;
	case STATUS_ANON:
		good = status_kib(&s, &ret->anon_bytes);
		break;
	case STATUS_DUMPING:
		good = status_dumping(&s, ret);
		break;
	case STATUS_BLOCKED:
		good = scan_hex(&s, 16, &ret->sig_blocked);
		break;
	case STATUS_IGNORED:
		good = scan_hex(&s, 16, &ret->sig_ignored);
		break;
	case STATUS_CAUGHT:
		good = scan_hex(&s, 16, &ret->sig_caught);
		break;
	case STATUS_VOLUNTARY:
	case STATUS_INVOLUNTARY:
		good = status_switches(&s, ret);
		break;
	case STATUS_KEYS:
		break;
	}
	return good && scan_at_end(&s);
}

/* The name stands in the first line with its newlines escaped, so it cannot make a line. */
int proc_parse_status(const char *bytes, size_t len, struct proc_status *ret)
{
	struct proc_status status = { .vm_bytes = UNKNOWN_U64,
				      .rss_bytes = UNKNOWN_U64,
				      .anon_bytes = UNKNOWN_U64 };
	struct scan s = scan_of(bytes, len), line;
	unsigned seen = 0;

	while (scan_line(&s, &line)) {
		for (enum status_key key = 0; key < STATUS_KEYS; key++) {
			if (!scan_str(&line, status_names[key]))
				continue;
			if (seen & 1u << key || !status_value(line, key, &status))
				return -EINVAL;
			seen |= 1u << key;
			break;
		}
	}
	if (!scan_at_end(&s) || (seen & status_needed) != status_needed)
		return -EINVAL;
	*ret = status;
	return 0;
}
