/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pairing/pairing.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/pairing/blame.h"
#include "lib/pairing/parts.h"
#include "lib/pairing/rounds.h"
#include "lib/pairing/view.h"

size_t pairing_rounds_max(size_t n)
{
	size_t log2 = 0;

	while (((size_t)1 << log2) < n)
		log2++;
	return n < 2 ? 0 : log2 + 2;
}

size_t pairing_rounds_of(enum pairing_plan plan, size_t n)
{
	if (plan != PAIRING_EVERY_TWO || n < 2)
		return pairing_rounds_max(n);
	return n % 2 == 0 ? n - 1 : n;
}

static int check(const struct pairing_problem *p, struct err *err)
{
	size_t i;

	if (p->n_nodes > PAIRING_NODES_MAX)
		return err_set(err, EINVAL, "%zu nodes in one test, at most %d: test group by group",
			       p->n_nodes, PAIRING_NODES_MAX);
	if (p->n_rails < 1 || p->n_rails > PAIRING_RAILS_MAX)
		return err_set(err, EINVAL, "%zu rails, there are 1 to %d", p->n_rails,
			       PAIRING_RAILS_MAX);
	for (i = 0; i < p->n_nodes; i++) {
		if (!p->nodes[i].name)
			return err_set(err, EINVAL, "node number %zu has no name", i);
	}
	return 0;
}

/* True if all that can be paired have met, so that another round adds nothing. */
static bool all_met(const struct pairing_view *v, const struct pairing_case *c)
{
	size_t n = v->p->n_nodes, a, b;

	for (a = 0; a < n; a++) {
		for (b = 0; b < a; b++) {
			if (pairing_plays(v, c, a) && pairing_plays(v, c, b) &&
			    v->met[a * n + b] == 0)
				return false;
		}
	}
	return true;
}

static bool is_over(const struct pairing_view *v, const struct pairing_case *c,
		    const struct pairing_step *step)
{
	if (v->p->rounds_made >= step->rounds_max || v->n_results == PAIRING_RESULTS_MAX)
		return true;
	if (v->p->plan == PAIRING_TOURNAMENT || v->p->plan == PAIRING_EVERY_TWO ||
	    v->p->rounds_made == 0)
		return false;
	if (c->open)
		return false;
	if (c->excused)
		return all_met(v, c);
	return v->p->plan == PAIRING_BISECT || v->p->rounds_made >= PAIRING_ROUNDS_LEAST;
}

int pairing_step(const struct pairing_problem *problem, struct pairing_step *ret, struct err *err)
{
	struct pairing_view v;
	struct pairing_case c;
	int r = check(problem, err);

	if (r < 0)
		return r;
	*ret = (struct pairing_step){ .done = true };
	ret->rounds_max = problem->rounds_max > 0
				  ? problem->rounds_max
				  : pairing_rounds_of(problem->plan, problem->n_nodes);
	pairing_view_init(&v, problem);
	pairing_fit(&v);
	pairing_judge(&v, &c, ret);
	if (!is_over(&v, &c, ret)) {
		pairing_next(&v, &c, &ret->next);
		ret->done = ret->next.n_groups == 0;
	}
	pairing_view_release(&v);
	return 0;
}
