/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "app/commands.h"
#include "app/history_file.h"
#include "app/lock.h"
#include "app/memory_file.h"
#include "app/output.h"
#include "base/clock.h"
#include "base/log.h"
#include "report/json.h"

int command_open_look(const struct options *o, const struct config *c, struct look *ret)
{
	int err = look_open(c, o->hosts, o->host_count, ret);

	if (err == 0)
		return 0;
	if (err == -ENOENT)
		log_error("/proc is not there: mount procfs to see processes");
	else
		log_error("cannot look at processes: %s", strerror(-err));
	return EXIT_BLIND;
}

int command_take_lock(const struct config *c, int *ret_status)
{
	int fd = lock_take(c->state_dir, c->marker_dir);

	if (fd >= 0)
		return fd;
	*ret_status = fd == -EWOULDBLOCK ? EXIT_LOCKED : EXIT_BLIND;
	if (fd == -EWOULDBLOCK)
		log_error("another reaper holds %s/lock", c->state_dir);
	else
		log_error("%s/lock: %s", c->state_dir, strerror(-fd));
	return -1;
}

int command_look_failed(const struct look *l, int err)
{
	if (err == -ESRCH)
		log_error("--host %d: there is no such process", l->missing);
	else if (err == -EACCES)
		log_error("--host %d: its tree may not be read from here; "
			  "`reaper doctor` says which privilege is missing",
			  l->missing);
	else
		log_error("cannot look at processes: %s", strerror(-err));
	return EXIT_BLIND;
}

int command_remember(const struct config *c, bool ends, struct look *l)
{
	uint64_t now_ms = clock_boot_ms();
	int err = history_file_load(c->state_dir, l->self.boot_id, now_ms, &l->history);

	if (err < 0 && err != -ENOMEM) {
		if (ends) {
			log_error("history in %s: %s; without it nothing is ended", c->state_dir,
				  strerror(-err));
			return EXIT_BLIND;
		}
		log_notice("history in %s: %s; how long proofs were seen is not known",
			   c->state_dir, strerror(-err));
		err = 0;
	}
	if (err == 0)
		err = memory_file_load(c->state_dir, l->self.boot_id, now_ms, &l->growth);
	return err < 0 ? command_look_failed(l, err) : 0;
}

static int print_audit(const struct options *o, const struct audit *a)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct text_style style = output_style(o);
	int err = 0;

	if (o->json)
		err = json_audit(a, NULL, 0, &text);
	else if (!o->quiet)
		text_audit(a, &style, &text);
	if (err == 0)
		err = output_text(&text);
	if (err < 0)
		log_error("cannot write the audit: %s", strerror(-err));
	return err < 0 ? EXIT_BLIND : EXIT_CLEAN;
}

int command_audit(const struct options *o, const struct config *c)
{
	_cleanup_(audit_done) struct audit a = { 0 };
	_cleanup_(look_close) struct look l = { 0 };
	int status = command_open_look(o, c, &l), err;

	if (status)
		return status;
	/* How long a proof was seen by earlier sweeps; an audit itself writes nothing. */
	status = command_remember(c, false, &l);
	if (status)
		return status;
	err = look_twice(&l, c->sample_ms, &a);
	if (err < 0)
		return command_look_failed(&l, err);
	a.dry_run = true;
	status = print_audit(o, &a);
	return cli_worse(status, audit_summarise(&a).reap ? EXIT_LEAK : EXIT_CLEAN);
}
