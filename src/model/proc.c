/* SPDX-License-Identifier: Apache-2.0 */
#include "model/proc.h"

#include <string.h>

const char *proc_argv_next(const struct proc *p, const char *at)
{
	if (!p->argv || !p->argv_len)
		return NULL;
	if (!at)
		return p->argv;
	at += strlen(at) + 1;
	return at < p->argv + p->argv_len ? at : NULL;
}
