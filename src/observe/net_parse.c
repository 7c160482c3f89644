/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/net_parse.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "observe/scan.h"

enum {
	UNIX_ACCEPTCON = 1 << 16, /* include/uapi/linux/net.h: __SO_ACCEPTCON, a listener */
};

struct endpoint net_endpoint_v4(uint32_t addr_be, uint16_t port)
{
	struct endpoint e = { .port = port };

	e.addr.s6_addr[10] = 0xff;
	e.addr.s6_addr[11] = 0xff;
	memcpy(&e.addr.s6_addr[12], &addr_be, sizeof(addr_be));
	return e;
}

struct endpoint net_endpoint_v6(const void *addr16, uint16_t port)
{
	struct endpoint e = { .port = port };

	memcpy(&e.addr, addr16, sizeof(e.addr));
	return e;
}

/* Takes exactly so many hexadecimal digits. */
static bool net_hex(struct scan *s, unsigned digits, uint64_t *ret)
{
	const char *from = s->at;

	return scan_hex(s, digits, ret) && s->at - from == (ptrdiff_t)digits;
}

/*
 * The kernel prints each 32-bit word of an address, which is in network order, as a number of this
 * machine: reading it back gives the word as it lies in memory.
 */
static bool net_endpoint(struct scan *s, bool v6, struct endpoint *ret)
{
	uint32_t word[4];
	unsigned words = v6 ? 4 : 1;
	uint64_t value;

	for (unsigned i = 0; i < words; i++) {
		struct scan eight = { .at = s->at, .end = s->at };

		if (s->end - s->at < 8)
			return false;
		eight.end += 8;
		if (!net_hex(&eight, 8, &value))
			return false;
		word[i] = (uint32_t)value;
		s->at += 8;
	}
	if (!scan_char(s, ':') || !net_hex(s, 4, &value))
		return false;
	*ret = v6 ? net_endpoint_v6(word, (uint16_t)value)
		  : net_endpoint_v4(word[0], (uint16_t)value);
	return true;
}

/* Takes what stands between the queues and the inode: timer, retransmits, uid, timeout. */
static bool net_tcp_middle(struct scan *s)
{
	uint64_t skipped;
	int64_t timeout;

	return scan_blanks(s) && scan_hex(s, 2, &skipped) && scan_char(s, ':') &&
	       scan_hex(s, 16, &skipped) && scan_blanks(s) && scan_hex(s, 8, &skipped) &&
	       scan_blanks(s) && scan_u64(s, UINT32_MAX, &skipped) && scan_blanks(s) &&
	       scan_i64(s, &timeout) && scan_blanks(s);
}

int net_parse_tcp_line(const char *line, size_t len, bool v6, struct inet_row *ret)
{
	struct scan s = scan_of(line, len);
	uint64_t slot, state, sending, receiving, ino;
	struct inet_row row = { 0 };

	(void)scan_blanks(&s);
	if (!scan_u64(&s, UINT64_MAX, &slot) || !scan_str(&s, ": ") ||
	    !net_endpoint(&s, v6, &row.local) || !scan_char(&s, ' ') ||
	    !net_endpoint(&s, v6, &row.remote) || !scan_char(&s, ' ') || !net_hex(&s, 2, &state) ||
	    !scan_char(&s, ' ') || !net_hex(&s, 8, &sending) || !scan_char(&s, ':') ||
	    !net_hex(&s, 8, &receiving) || !net_tcp_middle(&s) || !scan_u64(&s, UINT64_MAX, &ino))
		return -EINVAL;
	if (!scan_at_end(&s) && *s.at != ' ')
		return -EINVAL;
	row.ino = ino;
	row.state = (uint8_t)state;
	row.send_queue = (uint32_t)sending;
	row.recv_queue = (uint32_t)receiving;
	*ret = row;
	return 0;
}

int net_parse_unix_line(const char *line, size_t len, struct unix_row *ret)
{
	struct scan s = scan_of(line, len);
	uint64_t skipped, flags, type, ino;
	struct unix_row row = { 0 };
	size_t path_len;

	if (!scan_hex(&s, 16, &skipped) || !scan_str(&s, ": ") || !net_hex(&s, 8, &skipped) ||
	    !scan_char(&s, ' ') || !net_hex(&s, 8, &skipped) || !scan_char(&s, ' ') ||
	    !net_hex(&s, 8, &flags) || !scan_char(&s, ' ') || !net_hex(&s, 4, &type) ||
	    !scan_char(&s, ' ') || !net_hex(&s, 2, &skipped) || !scan_blanks(&s) ||
	    !scan_u64(&s, UINT64_MAX, &ino))
		return -EINVAL;
	if (!scan_at_end(&s) && !scan_char(&s, ' '))
		return -EINVAL;
	path_len = (size_t)(s.end - s.at);
	if (path_len > SOCKET_PATH_MAX)
		return -EINVAL;
	if (type != SOCK_STREAM)
		return -ENOENT;
	row.ino = ino;
	row.listening = flags & UNIX_ACCEPTCON;
	memcpy(row.path, s.at, path_len);
	*ret = row;
	return 0;
}
