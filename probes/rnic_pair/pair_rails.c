/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_rails.h"

#include "lib/base/xalloc.h"

/* Copies of both lists, and which entries are already in the new ones. */
struct matching {
	struct pair_side own[PAIR_PORTS_MAX];
	struct pair_rail theirs[PAIR_PORTS_MAX];
	bool own_taken[PAIR_PORTS_MAX], theirs_taken[PAIR_PORTS_MAX];
	size_t n_own, n_theirs;
};

static bool is_same(const struct pair_side *own, const struct pair_rail *theirs)
{
	return own->port->number == theirs->port && streq(own->port->device, theirs->device);
}

static size_t match_by_name(struct matching *m, bool leads, size_t *own, size_t *theirs)
{
	const size_t n_first = leads ? m->n_own : m->n_theirs;
	const size_t n_second = leads ? m->n_theirs : m->n_own;
	size_t n = 0, i, k;

	for (i = 0; i < n_first; i++) {
		for (k = 0; k < n_second; k++) {
			size_t a = leads ? i : k, b = leads ? k : i;

			if (m->own_taken[a] || m->theirs_taken[b] ||
			    !is_same(&m->own[a], &m->theirs[b]))
				continue;
			m->own_taken[a] = m->theirs_taken[b] = true;
			own[n] = a;
			theirs[n++] = b;
		}
	}
	return n;
}

size_t pair_rails_match(struct pair_side *own, size_t n_own, struct pair_rail *theirs,
			size_t n_theirs, bool leads, unsigned ret_rails[static PAIR_PORTS_MAX])
{
	CLEANUP(freep) struct matching *m = xcalloc(1, sizeof(*m));
	size_t mine[PAIR_PORTS_MAX], yours[PAIR_PORTS_MAX], n, i, at;

	m->n_own = n_own;
	m->n_theirs = n_theirs;
	memcpy(m->own, own, n_own * sizeof(*own));
	memcpy(m->theirs, theirs, n_theirs * sizeof(*theirs));
	n = match_by_name(m, leads, mine, yours);
	for (i = 0; i < n; i++) {
		own[i] = m->own[mine[i]];
		theirs[i] = m->theirs[yours[i]];
		ret_rails[i] = (unsigned)MAX(mine[i], yours[i]);
	}
	if (n == 0) {
		n = MIN(n_own, n_theirs);
		for (i = 0; i < n; i++)
			ret_rails[i] = (unsigned)i;
		return n;
	}
	for (i = 0, at = n; i < n_own; i++) {
		if (!m->own_taken[i])
			own[at++] = m->own[i];
	}
	for (i = 0, at = n; i < n_theirs; i++) {
		if (!m->theirs_taken[i])
			theirs[at++] = m->theirs[i];
	}
	return n;
}
