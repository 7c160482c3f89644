/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look.h"

#include <criterion/criterion.h>

#include "app/look_judge.h"
#include "base/clock.h"

enum {
	CENSUS_MS = 5000,
	TOGETHER_MS = 1000,
};

Test(look, a_census_that_takes_long_is_no_step_of_the_clock)
{
	struct config *config;
	struct problem problem;
	struct look l;
	struct audit a = { .wall_ms = clock_wall_ms(), .boot_ms = clock_boot_ms() };
	int64_t before;

	cr_assert_eq(config_load_text("none", NULL, 0, NULL, 0, &config, &problem), 0);
	cr_assert_eq(look_open(config, NULL, 0, &l), 0);
	before = (int64_t)l.self.wall_minus_boot_ms;
	a.wall_ms -= CENSUS_MS;
	a.boot_ms -= CENSUS_MS;
	cr_assert_eq(look_markers(&l, &a), 0);
	cr_expect_lt(llabs((int64_t)l.self.wall_minus_boot_ms - before), TOGETHER_MS);
	look_close(&l);
	config_free(config);
}
