/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internet endpoints as people write them.
 */
#ifndef REAPER_REPORT_ENDPOINT_H
#define REAPER_REPORT_ENDPOINT_H

#include "model/socket.h"

enum {
	ENDPOINT_MAX = INET6_ADDRSTRLEN + 8, /* with brackets, a colon and a port */
};

/** Writes "127.0.0.1:45873" or "[::1]:45873"; a v4-mapped address is written as IPv4. @return ret. */
const char *endpoint_name(const struct endpoint *e, char ret[ENDPOINT_MAX]);

#endif
