/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/self_baseline_bytes.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>

#include "controller/fleet/self_baseline.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/report/node_name.h"

enum { FORMAT = 1 };

_Static_assert(SELF_BASELINE_PARTS_MAX <= UINT8_MAX && TREND_MAX <= UINT8_MAX, "counts are bytes");

/* --- encode --- */

static void put_byte(struct strbuf *out, unsigned value)
{
	const unsigned char byte = (unsigned char)value;

	(void)strbuf_add(out, &byte, 1);
}

static void put_real(struct strbuf *out, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	bits = htole64(bits);
	(void)strbuf_add(out, &bits, sizeof(bits));
}

static void put_trend(struct strbuf *out, const struct trend *t)
{
	const size_t first = t->n == TREND_MAX ? t->next : 0;
	size_t i;

	put_byte(out, t->n);
	for (i = 0; i < t->n; i++) {
		const uint16_t bits = htole16((uint16_t)t->logs[(first + i) % TREND_MAX]);

		(void)strbuf_add(out, &bits, sizeof(bits));
	}
}

static void put_host(struct strbuf *out, const struct self_baseline *host)
{
	size_t i;

	(void)strbuf_add(out, host->node, strlen(host->node) + 1);
	put_trend(out, &host->whole);
	put_byte(out, (unsigned)host->n);
	for (i = 0; i < host->n; i++) {
		const uint32_t name = htole32(host->parts[i].name);

		(void)strbuf_add(out, &name, sizeof(name));
		put_trend(out, &host->parts[i].trend);
	}
}

int self_baselines_encode(const struct self_baselines *u, struct strbuf *out)
{
	size_t i;

	put_byte(out, FORMAT);
	put_real(out, u->drift);
	put_real(out, u->slow);
	put_byte(out, u->moved);
	for (i = 0; i < u->n; i++)
		put_host(out, &u->hosts[i]);
	return strbuf_ok(out) ? 0 : -out->error;
}

/* --- decode --- */

struct reader {
	const unsigned char *at;
	size_t left;
	bool broken;
};

/* Read the next `n` bytes; zeroes if there are not enough. */
static void take(struct reader *r, void *ret, size_t n)
{
	r->broken |= n > r->left;
	if (r->broken) {
		memset(ret, 0, n);
		return;
	}
	memcpy(ret, r->at, n);
	r->at += n;
	r->left -= n;
}

static unsigned take_byte(struct reader *r)
{
	unsigned char byte;

	take(r, &byte, 1);
	return byte;
}

static double take_real(struct reader *r)
{
	uint64_t bits;
	double value;

	take(r, &bits, sizeof(bits));
	bits = le64toh(bits);
	memcpy(&value, &bits, sizeof(value));
	r->broken |= !isfinite(value);
	return value;
}

static struct trend take_trend(struct reader *r)
{
	struct trend t = { 0 };
	unsigned n = take_byte(r), i;

	r->broken |= n > TREND_MAX;
	for (i = 0; i < n && !r->broken; i++) {
		uint16_t bits;

		take(r, &bits, sizeof(bits));
		t.logs[i] = (int16_t)le16toh(bits);
	}
	t.n = (uint8_t)i;
	t.next = (uint8_t)(i % TREND_MAX);
	return t;
}

/* Borrowed from the bytes; NULL if invalid. */
static const char *take_name(struct reader *r)
{
	const char *name = (const char *)r->at;
	const size_t length = strnlen(name, r->left);

	r->broken |= length == r->left || !node_name_ok(name);
	if (r->broken)
		return NULL;
	r->at += length + 1;
	r->left -= length + 1;
	return name;
}

static void take_parts(struct reader *r, struct self_baseline *host)
{
	unsigned n = take_byte(r), i;

	r->broken |= n > SELF_BASELINE_PARTS_MAX;
	if (n == 0 || r->broken)
		return;
	host->parts = xcalloc(n, sizeof(*host->parts));
	for (i = 0; i < n; i++) {
		uint32_t name;

		take(r, &name, sizeof(name));
		host->parts[i].name = le32toh(name);
		host->parts[i].trend = take_trend(r);
	}
	host->n = n;
}

static void add(struct self_baselines *u, const char *node, const struct self_baseline *host)
{
	if (u->n == u->room) {
		u->room = MAX(u->room * 2, (size_t)16);
		u->hosts = xrealloc(u->hosts, u->room, sizeof(*u->hosts));
	}
	u->hosts[u->n] = *host;
	u->hosts[u->n++].node = xstrdup(node);
}

void self_baselines_decode(struct self_baselines *u, const void *bytes, size_t length)
{
	struct reader r = { bytes, length, false };
	const char *node, *before = "";

	if (take_byte(&r) != FORMAT)
		return;
	u->drift = take_real(&r);
	u->slow = take_real(&r);
	u->moved = take_byte(&r) != 0;
	if (r.broken)
		u->drift = u->slow = 0;
	while (!r.broken && r.left > 0) {
		struct self_baseline host = { 0 };

		node = take_name(&r);
		host.whole = take_trend(&r);
		take_parts(&r, &host);
		/* Hosts must be sorted, as they are searched by name. */
		if (r.broken || strcmp(before, node) >= 0) {
			free(host.parts);
			return;
		}
		add(u, node, &host);
		before = node;
	}
}
