/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
	MANY = 5000 /* more than it begins with */
};

Test(snapshot, finds_by_number_after_sorting)
{
	struct snapshot s = { 0 };

	for (int i = 0; i < MANY; i++) {
		struct proc *p = snapshot_add(&s);

		cr_assert_not_null(p);
		p->id.pid = 1 + (i * 7919) % MANY;
		p->id.start = (uint64_t)i;
	}
	snapshot_sort(&s);
	cr_expect_eq(s.count, MANY);
	for (pid_t pid = 1; pid <= MANY; pid++) {
		const struct proc *p = snapshot_find(&s, pid);

		cr_assert_not_null(p, "%d", pid);
		cr_expect_eq(p->id.pid, pid);
	}
	cr_expect_null(snapshot_find(&s, 0));
	cr_expect_null(snapshot_find(&s, MANY + 1));
	snapshot_done(&s);
}

Test(snapshot, a_new_record_is_empty)
{
	struct snapshot s = { 0 };
	static const struct proc empty = { 0 };

	for (int i = 0; i < MANY; i++) {
		struct proc *p = snapshot_add(&s);

		cr_assert_not_null(p);
		cr_expect_eq(memcmp(p, &empty, sizeof(empty)), 0);
		memset(p->comm, 'x', sizeof(p->comm));
	}
	snapshot_done(&s);
}

Test(snapshot, empty)
{
	struct snapshot s = { 0 };

	snapshot_sort(&s);
	cr_expect_null(snapshot_find(&s, 1));
	snapshot_done(&s);
	cr_expect_null(s.procs);
}

Test(snapshot, done_frees_and_empties)
{
	struct snapshot s = { 0 };
	struct proc *p = snapshot_add(&s);

	cr_assert_not_null(p);
	p->argv = strdup("python");
	p->argv_len = sizeof("python");
	snapshot_done(&s);
	cr_expect_null(s.procs);
	cr_expect_eq(s.count, 0);
	cr_expect_eq(s.room, 0);
	snapshot_done(&s);
}

Test(snapshot, there_is_an_end)
{
	struct snapshot s = { .count = PROC_COUNT_MAX, .room = PROC_COUNT_MAX };

	cr_expect_null(snapshot_add(&s), "the kernel has no more numbers");
}
