/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_reduce/reduce_tally.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/all_reduce/reduce.h"
#include "probes/all_reduce/reduce_part.h"
#include "probes/coll/blame.h"

void reduce_tally_add(struct reduce_session *s, const struct reduce_message *own,
		      struct reduce_tally *t)
{
	int64_t came_ns[COLL_RANKS_MAX], first_ns = INT64_MAX, last_ns = INT64_MIN;
	int64_t ended_ns[COLL_RANKS_MAX];
	unsigned rank;

	for (rank = 0; rank < s->n; rank++) {
		const struct reduce_message *m = rank ? &s->peers[rank].answer : own;

		came_ns[rank] = (int64_t)m->arrived_ns - s->peers[rank].ahead_ns * (rank > 0);
		ended_ns[rank] = (int64_t)m->ended_ns - s->peers[rank].ahead_ns * (rank > 0);
		first_ns = MIN(first_ns, came_ns[rank]);
		last_ns = MAX(last_ns, ended_ns[rank]);
		t->sent_bytes[rank] += m->sent_bytes;
		t->sent_s[rank] += m->sent_s;
		t->resends[rank] = m->resends;
	}
	for (rank = 0; rank < s->n; rank++) {
		t->late[rank][t->n] = (double)(came_ns[rank] - first_ns) / 1e9;
		t->rest[rank][t->n] = (double)(last_ns - ended_ns[rank]) / 1e9;
	}
	t->n++;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static char *blame_words(const struct reduce_session *s, const double *rates)
{
	const struct coll_blame b = coll_blame_slow(rates, s->n);
	CLEANUP(freep) char *rank = reduce_name(s, b.rank);
	CLEANUP(freep) char *next = reduce_name(s, (b.rank + 1) % s->n);

	switch (b.kind) {
	case COLL_BLAME_NOBODY:
		return xstrdup("");
	case COLL_BLAME_RANK:
		return xasprintf("both links of %s are slow: %.2f of the rate of the others", rank,
				 b.share);
	default:
		return xasprintf("the link from %s to %s runs at %.2f of the rate of the others%s",
				 rank, next, b.share,
				 b.kind == COLL_BLAME_MANY ? ", and it is not the only slow one"
							   : "");
	}
}

struct reduce_message reduce_tally_result(const struct reduce_session *s, uint64_t rail,
					  struct reduce_tally *t)
{
	struct reduce_message m = reduce_message_init(REDUCE_RESULT);
	unsigned rank;
	size_t i;

	m.rail = rail;
	m.foreign = xstrdup(t->foreign);
	m.rates = (struct jreals){ xcalloc(s->n, sizeof(double)), s->n };
	m.late = (struct jreals){ xcalloc(s->n, sizeof(double)), s->n };
	m.behind = (struct jreals){ xcalloc(s->n * t->n, sizeof(double)), s->n * t->n };
	for (rank = 0; rank < s->n; rank++) {
		for (i = 0; i < t->n; i++)
			m.behind.v[rank * t->n + i] = t->late[rank][i] + t->rest[rank][i];
		qsort(t->late[rank], t->n, sizeof(double), by_value);
		m.late.v[rank] = t->late[rank][t->n / 2];
		m.rates.v[rank] =
			t->sent_s[rank] > 0 ? (double)t->sent_bytes[rank] / t->sent_s[rank] : 0;
	}
	m.why = s->engine == REDUCE_VERBS ? blame_words(s, m.rates.v) : xstrdup("");
	return m;
}
