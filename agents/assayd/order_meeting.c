/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/order_meeting.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"

const char *const order_memory_names[] = { "host", "gpu", NULL };
const char *const order_engine_names[] = { "verbs", "nccl", NULL };

enum { PORT_MAX = 65535, PORT_DIGITS_MAX = 5, DECIMAL = 10 };

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Returns 1 to 65535, written without a sign or leading zeros, else 0. */
static unsigned port_of(const char *text)
{
	const size_t length = strspn(text, DIGITS);
	unsigned long port;

	if (length == 0 || length > PORT_DIGITS_MAX || text[length] || text[0] == '0')
		return 0;
	port = strtoul(text, NULL, DECIMAL);
	return port <= PORT_MAX ? (unsigned)port : 0;
}

static bool is_address6(const char *text, size_t length)
{
	char address[INET6_ADDRSTRLEN];
	struct in6_addr parsed;

	if (length >= sizeof(address))
		return false;
	memcpy(address, text, length);
	address[length] = '\0';
	return inet_pton(AF_INET6, address, &parsed) == 1;
}

/* A name or an IPv4 address. Text with a numeric last label must be an address: not "1.2.3". */
static bool is_host(const char *text, size_t length)
{
	char host[ORDER_HOST_MAX + 1];
	struct in_addr parsed;
	const char *last;

	if (length == 0 || length > ORDER_HOST_MAX)
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	if (!strchr(LETTERS DIGITS, host[0]) || host[strspn(host, LETTERS DIGITS ".-_")] ||
	    strstr(host, ".."))
		return false;
	last = strrchr(host, '.');
	last = last ? last + 1 : host;
	return last[0] && last[strspn(last, DIGITS)] ? true
						     : inet_pton(AF_INET, host, &parsed) == 1;
}

unsigned order_peer_port(const char *peer)
{
	const char *colon = strrchr(peer, ':');
	const size_t length = colon ? (size_t)(colon - peer) : 0;
	bool good;

	if (length == 0)
		return 0;
	if (peer[0] == '[')
		good = length > 2 && peer[length - 1] == ']' && is_address6(peer + 1, length - 2);
	else
		good = is_host(peer, length);
	return good ? port_of(colon + 1) : 0;
}

/* --- decoding -------------------------------------------------------------- */

static bool has(char *const *list, size_t n, const char *text)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (streq(list[i], text))
			return true;
	}
	return false;
}

static int decode_peers(const struct jval *v, void *member, struct err *err)
{
	char **list = NULL;
	size_t i;
	int r = jval_strv(v, ORDER_PEERS_MAX, &list, err);

	for (i = 0; r == 0 && list[i]; i++) {
		const struct jval item = jval_at(v, i);

		if (!order_peer_port(list[i]))
			r = jval_fail(&item, err, "'%.80s': expected HOST:PORT", list[i]);
		else if (has(list, i, list[i]))
			r = jval_fail(&item, err, "'%.80s' appears twice", list[i]);
	}
	if (r < 0) {
		strv_free(list);
		return r;
	}
	strv_free(*(char ***)member);
	*(char ***)member = list;
	return 0;
}

/* The token is written to a file; on the wire, peers only prove that they know it. */
static int decode_token(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);
	const size_t length = text ? strlen(text) : 0;
	char **token = member;

	if (length < ORDER_TOKEN_MIN || length > ORDER_TOKEN_MAX ||
	    strspn(text, LETTERS DIGITS "-_") != length)
		return jval_fail(v, err, "expected %d to %d letters, digits, '-' or '_'",
				 ORDER_TOKEN_MIN, ORDER_TOKEN_MAX);
	free(*token);
	*token = xstrdup(text);
	return 0;
}

#define AT(member) offsetof(struct order_meeting, member)
static const struct jfield fields[] = {
	{ "peers", J_CUSTOM, AT(peers), J_REQUIRED, .decode = decode_peers },
	{ "passed", J_CUSTOM, AT(passed), 0, .decode = decode_peers },
	{ "rank", J_U64, AT(rank), J_REQUIRED, .max = ORDER_PEERS_MAX - 1 },
	{ "token", J_CUSTOM, AT(token), J_REQUIRED, .decode = decode_token },
	{ "memory", J_ENUM, AT(memory), 0, .names = order_memory_names },
	{ "engine", J_ENUM, AT(engine), 0, .names = order_engine_names },
};
#undef AT

static int check_passed(const struct jval *v, const struct order_meeting *m, struct err *err)
{
	const struct jval passed = jval_get(v, "passed");
	size_t i;

	for (i = 0; m->peers[i]; i++) {
		if (!has(m->passed, strv_len(m->passed), m->peers[i]))
			return jval_fail(&passed, err, "without '%.80s', which takes part",
					 m->peers[i]);
	}
	return 0;
}

static int check(const struct jval *v, bool is_pair, const struct order_meeting *m, struct err *err)
{
	const struct jval peers = jval_get(v, "peers"), rank = jval_get(v, "rank"),
			  engine = jval_get(v, "engine");
	const size_t n = strv_len(m->peers);

	if (is_pair && n != 2)
		return jval_fail(&peers, err, "expected two hosts, not %zu", n);
	if (n < 2)
		return jval_fail(&peers, err, "expected 2 to %d hosts, not %zu", ORDER_PEERS_MAX, n);
	if (m->rank >= n)
		return jval_fail(&rank, err, "expected 0 to %zu", n - 1);
	if (m->engine == ORDER_NCCL && (is_pair || m->memory != ORDER_GPU_MEMORY))
		return jval_fail(&engine, err, "nccl: only for an allreduce in memory gpu");
	return is_pair ? 0 : check_passed(v, m, err);
}

int order_meeting_decode(const struct jval *v, bool is_pair, struct order_meeting *ret,
			 struct err *err)
{
	struct order_meeting m = { .peers = NULL };
	int r = jval_decode(v, fields, ARRAY_SIZE(fields), 0, &m, err);

	if (r == 0 && !m.passed)
		m.passed = xcalloc(1, sizeof(*m.passed));
	if (r == 0)
		r = check(v, is_pair, &m, err);
	if (r < 0)
		order_meeting_release(&m);
	else
		*ret = m;
	return r;
}

struct order_meeting order_meeting_copy(const struct order_meeting *m)
{
	return (struct order_meeting){
		.peers = strv_copy(m->peers),
		.passed = strv_copy(m->passed),
		.rank = m->rank,
		.token = xstrdup(m->token),
		.memory = m->memory,
		.engine = m->engine,
	};
}

void order_meeting_release(struct order_meeting *m)
{
	strv_free(m->peers);
	strv_free(m->passed);
	free(m->token);
	*m = (struct order_meeting){ .peers = NULL };
}
