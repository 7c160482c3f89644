/* SPDX-License-Identifier: Apache-2.0 */
#include "app/output.h"

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "report/json.h"

struct text_style output_style(const struct options *o)
{
	struct text_style style = { .verbose = o->verbose };
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	struct winsize size;

	style.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	if (!isatty(STDOUT_FILENO))
		return style;
	style.color = !(no_color && no_color[0]) && !(term && strcmp(term, "dumb") == 0);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		style.width = size.ws_col;
	return style;
}

int output_text(const struct buf *text)
{
	int err;

	if (text->failed)
		return -ENOMEM;
	if (!text->len)
		return 0;
	err = fs_write_all(STDOUT_FILENO, text->bytes, text->len);
	return err == -EPIPE ? 0 : err;
}

void output_event(const struct options *o, const struct event *e)
{
	_cleanup_(buf_done) struct buf line = { 0 };
	int err = 0;

	if (o->json)
		err = json_event(e, &line);
	else
		text_event(e, &line);
	if (err < 0 || line.failed)
		log_error("an event is not told: no memory");
	else if (output_text(&line) < 0)
		return; /* nothing hangs on it */
}
