/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of candidates with the same check in one domain or SKU. Part of decide_shared(). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct candidate;
struct deciding;

enum {
	ALIKE_MIN = 3,	  /* hosts of a domain, with a setting or of a job: not a coincidence */
	ALIKE_OTHERS = 4, /* other hosts must be bad at most a quarter as often */
	ALIKE_SHARE = 30, /* percent of its hosts are bad: the rest run their tests later */
};

/* Candidates [first, end) of one group, after sorting. */
struct alike {
	size_t first, end;
	size_t example; /* index of one that counts */
	size_t hosts;	/* distinct hosts, without parts that were born slow */
	size_t reached; /* of those: K of N or fatal; the others were bad in their last run */
	size_t fresh;	/* of the reached: newly */
	size_t newly;	/* of all */
	size_t own_fresh, own_newly; /* the same, without those that a standing notice explains */
	size_t outside;		     /* of the fresh: not in a domain that is bad as a whole */
	size_t by_sku_file;
	bool fatal;
};

/* Sort orders that put each group together; for one host, candidates that are no suspects first. */
int decide_alike_by_domain(const void *a, const void *b);
int decide_alike_by_sku(const void *a, const void *b);

/* True if found, or bad, within breaker.alike.per and since a person closed the breaker. */
bool decide_alike_fresh(const struct deciding *d, const struct candidate *c);

/*
 * True if it counts for a group. What a setting or a job explains does not also count for the
 * fleet, and a good last run does not help to make a group wide, though the host belongs to it if
 * it is.
 */
bool decide_alike_counts(const struct candidate *c, bool domains);

/* The group that begins at `first`. `wide` marks domains that are bad as a whole; may be NULL. */
struct alike decide_alike_at(const struct deciding *d, size_t first, bool domains, const bool *wide);
