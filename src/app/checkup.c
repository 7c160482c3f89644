/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/commands.h"
#include "app/doctor.h"
#include "app/output.h"
#include "base/log.h"
#include "report/json.h"

#ifndef PKGDATADIR
#define PKGDATADIR "/usr/share/reaper"
#endif

int command_check_config(const struct options *o, const struct config *c)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	int err = 0;

	if (o->json)
		err = json_settings(c->settings, c->setting_count, &text);
	else if (!o->quiet)
		text_settings(c->settings, c->setting_count, &text);
	if (err == 0)
		err = output_text(&text);
	if (err < 0)
		log_error("cannot write the settings: %s", strerror(-err));
	return err < 0 ? EXIT_BLIND : EXIT_CLEAN;
}

/* What doctor saw; borrowed by doctor_input. */
static int examine(const struct config *c, const struct look *l, const struct caps *caps,
		   const struct audit *a, struct checks *ret)
{
	const struct doctor_input in = {
		.self = &l->self,
		.caps = caps,
		.config = c,
		.audit = a,
		.markers = &l->marker_counts,
		.ledger = l->ledger,
		.share = PKGDATADIR,
	};

	return doctor_examine(&in, ret);
}

static int print_checks(const struct options *o, const struct checks *checks)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct text_style style = output_style(o);
	int status = EXIT_CLEAN, err = 0;

	for (size_t i = 0; i < checks->count; i++)
		if (checks->check[i].status != CHECK_OK)
			status = EXIT_LEAK; /* advice: exit status 1 */
	if (o->json)
		err = json_checks(checks, &text);
	else if (!o->quiet)
		text_checks(checks, &style, &text);
	if (err == 0)
		err = output_text(&text);
	if (err < 0)
		log_error("cannot write what was found: %s", strerror(-err));
	return err < 0 ? EXIT_BLIND : status;
}

int command_doctor(const struct options *o, const struct config *c, const struct caps *caps)
{
	_cleanup_(audit_done) struct audit a = { 0 };
	_cleanup_(look_close) struct look l = { 0 };
	_cleanup_free_ struct checks *checks = calloc(1, sizeof(*checks));
	int status = command_open_look(o, c, &l);
	int err = status ? 0 : look_take(&l, &a);

	if (status)
		return status;
	if (err < 0)
		return command_look_failed(&l, err);
	err = checks ? examine(c, &l, caps, &a, checks) : -ENOMEM;
	if (err < 0) {
		log_error("cannot examine this machine: %s", strerror(-err));
		return EXIT_BLIND;
	}
	return print_checks(o, checks);
}
