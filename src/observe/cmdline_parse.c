/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/cmdline_parse.h"

size_t cmdline_parse(char *bytes, size_t len, bool cut)
{
	if (cut) {
		while (len && bytes[len - 1])
			len--;
		bytes[len] = '\0';
	} else if (len && bytes[len - 1]) {
		/* One that wrote over its argv may have left no NUL: that behind it ends it. */
		len++;
	}
	return len;
}
