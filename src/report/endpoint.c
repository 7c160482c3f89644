/* SPDX-License-Identifier: Apache-2.0 */
#include "report/endpoint.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>

enum {
	V4_OFFSET = 12
}; /* of the IPv4 address in a v4-mapped one */

const char *endpoint_name(const struct endpoint *e, char ret[ENDPOINT_MAX])
{
	char addr[INET6_ADDRSTRLEN] = "?";
	bool v4 = IN6_IS_ADDR_V4MAPPED(&e->addr);

	if (v4)
		(void)inet_ntop(AF_INET, &e->addr.s6_addr[V4_OFFSET], addr, sizeof(addr));
	else
		(void)inet_ntop(AF_INET6, &e->addr, addr, sizeof(addr));
	snprintf(ret, ENDPOINT_MAX, v4 ? "%s:%" PRIu16 : "[%s]:%" PRIu16, addr, e->port);
	return ret;
}
