/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a reaper that forgets that it runs dry once its filter is installed: linked in front of its commands,
 * with the objects that ship. tests/system/test_sandbox.py runs it dry: it tries to signal, and the kernel refuses.
 */
#include "app/commands.h"

int __real_command_audit(const struct options *o, struct config *c);
int __wrap_command_audit(const struct options *o, struct config *c);
int __real_command_watch(const struct options *o, struct config *c);
int __wrap_command_watch(const struct options *o, struct config *c);

static struct options never_dry(const struct options *o)
{
	struct options wet = *o;

	wet.dry_run = false;
	return wet;
}

int __wrap_command_audit(const struct options *o, struct config *c)
{
	struct options wet = never_dry(o);

	return o->command == COMMAND_SWEEP ? command_sweep(&wet, c) : __real_command_audit(o, c);
}

int __wrap_command_watch(const struct options *o, struct config *c)
{
	struct options wet = never_dry(o);

	return __real_command_watch(&wet, c);
}
