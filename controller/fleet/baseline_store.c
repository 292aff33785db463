/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/baseline_store.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "controller/fleet/baseline.h"
#include "controller/fleet/self_baseline.h"
#include "controller/fleet/self_baseline_bytes.h"
#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/report/node_name.h"
#include "lib/report/report.h"

/* Interval at which a full table is logged. */
#define FULL_AGAIN_US USEC_PER_HOUR

enum {
	FORMAT = 1,
	PARTS = 6, /* of a key */
	NUMBERS_SIZE = 2 * sizeof(uint64_t),
	ROW_MAX = 64 << 20,
};

/* --- row keys --- */

static char *key_of(const struct baseline *baseline)
{
	const struct baseline_about a = baseline_about(baseline);

	return xasprintf("%s\n%s\n%s\n%s\n%d\n%s", a.sku, a.check, a.locality, a.unit, a.better,
			 a.params);
}

/* Splits `text` in place; the last part may contain newlines. */
static bool parse_key(char *text, struct baseline_about *ret)
{
	char *parts[PARTS], *next = text;
	size_t i;

	for (i = 0; i < PARTS; i++) {
		parts[i] = next;
		next = i + 1 < PARTS ? strchr(next, '\n') : NULL;
		if (!next && i + 1 < PARTS)
			return false;
		if (next)
			*next++ = '\0';
	}
	*ret = (struct baseline_about){ .sku = parts[0],
					.check = parts[1],
					.locality = parts[2],
					.unit = parts[3],
					.better = parts[4][0] - '0',
					.params = parts[5] };
	return *parts[0] && *parts[1] && strlen(parts[4]) == 1 && ret->better >= 0 &&
	       ret->better <= BETTER_NONE;
}

/* --- row bytes --- */

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return htole64(bits);
}

static double real_of(const char *bytes)
{
	uint64_t bits;
	double value;

	memcpy(&bits, bytes, sizeof(bits));
	bits = le64toh(bits);
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int encode(const struct baseline *baseline, struct strbuf *out)
{
	struct baseline_host host;
	size_t i;

	(void)strbuf_add(out, (const char[]){ FORMAT }, 1);
	for (i = 0; baseline_host(baseline, i, &host); i++) {
		const uint64_t numbers[] = { bits_of(host.value), bits_of(host.spread) };

		(void)strbuf_add(out, host.node, strlen(host.node) + 1);
		(void)strbuf_add(out, numbers, sizeof(numbers));
	}
	return strbuf_ok(out) ? 0 : -out->error;
}

/* Decodes a host. Returns its length, or 0 if it is broken. */
static size_t decode_host(const char *bytes, size_t length, struct baseline_host *ret)
{
	size_t name = strnlen(bytes, length);

	if (length - name < 1 + NUMBERS_SIZE || !node_name_ok(bytes))
		return 0;
	*ret = (struct baseline_host){ bytes, real_of(bytes + name + 1),
				       real_of(bytes + name + 1 + sizeof(uint64_t)) };
	return isfinite(ret->value) && isfinite(ret->spread) ? name + 1 + NUMBERS_SIZE : 0;
}

/* --- reading --- */

struct load {
	struct baselines *baselines;
	uint64_t hosts;
};

static void load_row(void *context, const char *key, const struct store_body *row, uint64_t saved_us)
{
	struct load *load = context;
	CLEANUP(freep) char *text = xstrdup(key);
	const char *bytes = row->bytes;
	struct baseline_about about;
	struct baseline *baseline;
	struct baseline_host host;
	size_t at = 1, used;

	if (row->length < 1 || bytes[0] != FORMAT || !parse_key(text, &about))
		return;
	baseline = baselines_need(load->baselines, &about);
	while (at < row->length) {
		used = decode_host(bytes + at, row->length - at, &host);
		if (used == 0)
			break;
		baseline_put(baseline, &host);
		load->hosts++;
		at += used;
	}
	baseline_set_saved(baseline, saved_us);
	if (baseline_host(baseline, 0, &host))
		baselines_settle(load->baselines, baseline);
}

static void load_usuals(void *context, const char *key, const struct store_body *row)
{
	struct load *load = context;
	CLEANUP(freep) char *text = xstrdup(key);
	struct baseline_about about;
	struct baseline *baseline =
		parse_key(text, &about) ? baselines_need(load->baselines, &about) : NULL;

	if (!baseline)
		return;
	if (baseline_usuals(baseline)->n == 0)
		self_baselines_decode(baseline_usuals(baseline), row->bytes, row->length);
	baselines_settle(load->baselines, baseline);
}

int baselines_load(struct baselines *b, struct store *store, uint64_t since_us, uint64_t *ret_hosts,
		   struct err *err)
{
	struct load load = { b, 0 };
	int r = store_baselines(store, since_us, load_row, &load, err);

	if (r == 0)
		r = store_usuals(store, since_us, load_usuals, &load, err);
	if (r < 0)
		return r;
	baselines_drop_empty(b);
	*ret_hosts = load.hosts;
	return 0;
}

/* --- writing --- */

struct gather {
	struct baseline **list;
	size_t n;
	uint64_t since_us;
	bool usuals;
};

static bool usuals_due(struct baseline *baseline, bool all)
{
	const struct self_baselines *u = baseline_usuals(baseline);

	return u->changed && (all || u->forgotten);
}

static void gather_one(struct baseline *baseline, void *context)
{
	struct gather *g = context;

	if (baseline_changed(baseline) || baseline_saved_us(baseline) < g->since_us ||
	    usuals_due(baseline, g->usuals))
		g->list[g->n++] = baseline;
}

/* Delete the row of the first dropped baseline; a newer one with its key is saved afterwards. */
static int drop(struct baseline_saver *v, struct store *store, struct err *err)
{
	struct baseline *baseline = v->dropped;
	CLEANUP(freep) char *key = key_of(baseline);
	int r = store_drop_usuals(store, key, err);

	v->dropped = baseline_next_dropped(baseline);
	v->removed++;
	baseline_free(baseline);
	return r == 0 ? store_drop_baseline(store, key, err) : r;
}

void baseline_saver_begin(struct baseline_saver *v, struct baselines *b, uint64_t since_us)
{
	struct gather g = { xcalloc(b->n + 1, sizeof(struct baseline *)), 0, since_us, false };
	size_t i;

	baseline_saver_release(v);
	v->usuals = g.usuals = v->closing || v->rounds++ % USUAL_ROUNDS == 0;
	baselines_visit(b, gather_one, &g);
	v->list = g.list;
	for (i = 0; i < g.n; i++) {
		if (baseline_changed(g.list[i]) || baseline_saved_us(g.list[i]) >= since_us) {
			baseline_set_listed(g.list[i], true);
			v->list[v->n++] = g.list[i];
		} else {
			baselines_drop(b, g.list[i]);
		}
	}
	v->dropped = TAKE(b->dropped);
}

static int save_usuals(struct store *store, struct baseline *baseline, const char *key,
		       struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(ROW_MAX);
	struct self_baselines *u = baseline_usuals(baseline);
	int r = self_baselines_encode(u, &bytes);

	if (r == 0)
		r = store_put_usuals(store, key, bytes.data, bytes.len, err);
	else /* not fatal: relearned after a restart */
		log_warning("the baselines take more than %d bytes and are not kept: %s", ROW_MAX,
			    baseline_about(baseline).check);
	if (r == 0 || !strbuf_ok(&bytes))
		u->changed = u->forgotten = false;
	return strbuf_ok(&bytes) ? r : 0;
}

static int save_line(struct store *store, struct baseline *baseline, const char *key,
		     uint64_t now_us, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(ROW_MAX);
	int r = encode(baseline, &bytes);

	if (r < 0)
		return err_errno(err, -r, "a baseline");
	r = store_put_baseline(store, key, bytes.data, bytes.len, now_us, err);
	if (r == 0)
		baseline_set_saved(baseline, now_us);
	return r;
}

static int save(struct baseline_saver *v, struct store *store, struct baseline *baseline,
		uint64_t now_us, struct err *err)
{
	CLEANUP(freep) char *key = key_of(baseline);
	int r = 0;

	if (baseline_gone(baseline))
		return 0; /* its row is deleted in the next round */
	baseline_set_listed(baseline, false);
	if (baseline_changed(baseline))
		r = save_line(store, baseline, key, now_us, err);
	return r == 0 && usuals_due(baseline, v->usuals) ? save_usuals(store, baseline, key, err)
							 : r;
}

int baseline_saver_step(struct baseline_saver *v, struct store *store, uint64_t now_us,
			uint64_t deadline_us, struct err *err)
{
	int r = 0;

	while (r == 0 && (v->dropped || v->at < v->n)) {
		if (v->dropped) {
			r = drop(v, store, err);
		} else {
			r = save(v, store, v->list[v->at], now_us, err);
			v->at++;
			v->saved += r == 0;
		}
		if (clock_mono_us() >= deadline_us)
			break;
	}
	if (r < 0)
		return r;
	if (v->dropped || v->at < v->n)
		return 1;
	baseline_saver_release(v);
	return 0;
}

static void mark(struct baseline *baseline, void *context)
{
	(void)context;
	baseline_set_changed(baseline);
	baseline_usuals(baseline)->changed = true;
}

void baseline_saver_failed(struct baseline_saver *v, struct baselines *b)
{
	baseline_saver_release(v);
	baselines_visit(b, mark, NULL);
}

void baseline_saver_release(struct baseline_saver *v)
{
	for (; v->at < v->n; v->at++)
		baseline_set_listed(v->list[v->at], false);
	while (v->dropped) {
		struct baseline *next = baseline_next_dropped(v->dropped);

		baseline_free(v->dropped);
		v->dropped = next;
	}
	free(v->list);
	v->list = NULL;
	v->n = v->at = 0;
}

/* --- full tables --- */

/* Log a host that has used up its share of a table, or a full table. */
static void tell_table(struct shares *shares, const char *what, size_t own, struct log_limit *limit,
		       struct baselines_full *told, uint64_t now_us)
{
	CLEANUP(freep) char *node = TAKE(shares->crowded);

	if (node && log_limit_take(limit, now_us))
		log_warning("a host has more than %zu %s of its own: dropping its oldest; does a "
			    "probe put a varying value into its checks or params? node=%s",
			    own, what, node);
	if (shares->filled > told->filled &&
	    (told->at_us == 0 || now_us - told->at_us >= FULL_AGAIN_US)) {
		log_warning(
			"the table of %s is full: dropping those with the fewest hosts, %" PRIu64
			" so far",
			what, shares->dropped);
		*told = (struct baselines_full){ now_us, shares->filled };
	}
}

void baselines_tell(struct baselines *b, struct baselines_told *told, uint64_t now_us)
{
	uint64_t missed = log_limit_end(&told->crowded, now_us);

	if (missed > 0)
		log_warning("%" PRIu64 " more hosts exceed the limit as well", missed);
	tell_table(&b->shares, "baselines", BASELINES_OWN_MAX, &told->crowded, &told->baselines,
		   now_us);
	tell_table(&b->anomalies.shares, "checks that fail", ANOMALIES_OWN_MAX, &told->crowded,
		   &told->anomalies, now_us);
}
