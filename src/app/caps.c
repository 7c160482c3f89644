/* SPDX-License-Identifier: Apache-2.0 */
#include "app/caps.h"

#include <assert.h>
#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

struct kept {
	cap_value_t value;
	bool to_signal; /* of no use where nothing is signalled */
};

static const struct kept kept[] = {
	{ .value = CAP_KILL, .to_signal = true },
	{ .value = CAP_SYS_PTRACE },
	{ .value = CAP_DAC_READ_SEARCH },
	{ .value = CAP_SYS_NICE, .to_signal = true },
};
static_assert(ARRAY_SIZE(kept) == 4, "as struct caps has them");

static void free_caps(cap_t *caps)
{
	if (*caps)
		(void)cap_free(*caps);
}
#define _cleanup_caps_ _cleanup_(free_caps)

static bool is_set(cap_t caps, cap_value_t value, cap_flag_t flag)
{
	cap_flag_value_t set = CAP_CLEAR;

	return !cap_get_flag(caps, value, flag, &set) && set == CAP_SET;
}

int caps_read(struct caps *ret)
{
	_cleanup_caps_ cap_t now = cap_get_proc();

	if (!now)
		return -errno;
	ret->kill = is_set(now, CAP_KILL, CAP_EFFECTIVE);
	ret->ptrace = is_set(now, CAP_SYS_PTRACE, CAP_EFFECTIVE);
	ret->dac_read_search = is_set(now, CAP_DAC_READ_SEARCH, CAP_EFFECTIVE);
	ret->nice = is_set(now, CAP_SYS_NICE, CAP_EFFECTIVE);
	return 0;
}

/* Needs CAP_SETPCAP; without it there is nothing to be gained, as no_new_privs is set too. */
static int drop_bounding(cap_t now)
{
	if (!is_set(now, CAP_SETPCAP, CAP_EFFECTIVE))
		return 0;
	for (cap_value_t value = 0; value < cap_max_bits(); value++)
		if (cap_drop_bound(value))
			return -errno;
	return 0;
}

/* The ambient set goes with the inheritable one: capabilities(7). */
static int keep_only(cap_t now, bool may_signal)
{
	_cleanup_caps_ cap_t next = cap_init();

	if (!next)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		cap_value_t value = kept[i].value;

		if (!is_set(now, value, CAP_PERMITTED) || (kept[i].to_signal && !may_signal))
			continue;
		if (cap_set_flag(next, CAP_PERMITTED, 1, &value, CAP_SET) ||
		    cap_set_flag(next, CAP_EFFECTIVE, 1, &value, CAP_SET))
			return -errno;
	}
	if (cap_compare(next, now) == 0)
		return 0; /* a service manager that gives no more may refuse capset(2) */
	return cap_set_proc(next) ? -errno : 0;
}

int caps_drop(bool may_signal)
{
	_cleanup_caps_ cap_t now = cap_get_proc();
	int r;

	if (!now)
		return -errno;
	r = drop_bounding(now);
	if (r)
		return r;
	r = keep_only(now, may_signal);
	if (r)
		return r;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}
