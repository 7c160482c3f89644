/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"

size_t fixture_read(const char *name, char ret[FIXTURE_MAX])
{
	const char *tree = getenv("srcdir");
	char path[4096];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/tests/fixtures/%s", tree ? tree : "..", name);
	len = fs_read_at(AT_FDCWD, path, ret, FIXTURE_MAX);
	cr_assert_geq(len, 0, "%s: %s", path, strerror((int)-len));
	return (size_t)len;
}
