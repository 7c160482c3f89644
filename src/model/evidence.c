/* SPDX-License-Identifier: Apache-2.0 */
#include "model/evidence.h"

#include <stdlib.h>
#include <string.h>

void evidence_done(struct evidence *e)
{
	free(e->sockets);
	free(e->cgroup);
	memset(e, 0, sizeof(*e));
}
