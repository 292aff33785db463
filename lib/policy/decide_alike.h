/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates alike: the same check of one domain, or of one SKU. Part of decide_shared(). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct candidate;
struct deciding;

enum {
	ALIKE_MIN = 3,	  /* hosts of a domain, with a setting or of a job: no coincidence */
	ALIKE_OTHERS = 4, /* others are bad a quarter as often, or that is not the cause */
	ALIKE_SHARE = 30, /* percent of its hosts are bad: the rest run their tests later */
};

/* Candidates [first, end) of one group, after sorting. */
struct alike {
	size_t first, end;
	size_t example; /* one that counts */
	size_t hosts;	/* distinct; of parts that were born slow none */
	size_t reached; /* of those, K of N or fatal; the others were bad in their last run */
	size_t fresh;	/* of the reached, newly */
	size_t newly;	/* of all */
	size_t own_fresh, own_newly; /* likewise, but for those that something told explains */
	size_t outside;		     /* of the fresh, not in a domain that is bad as a whole */
	size_t by_sku_file;
	bool fatal;
};

/* Orders in which those that are alike stand together; of one host one that is no suspect first. */
int decide_alike_by_domain(const void *a, const void *b);
int decide_alike_by_sku(const void *a, const void *b);

/* Was it found, or bad, within breaker.alike.per, and since a person closed the breaker? */
bool decide_alike_fresh(const struct deciding *d, const struct candidate *c);

/*
 * Does it count for a group? What a setting or a job explains is not the fleet's besides, and what
 * was good last makes nothing wide, though it belongs to what is.
 */
bool decide_alike_counts(const struct candidate *c, bool domains);

/* The group that begins at `first`. `wide` marks domains, or is NULL. */
struct alike decide_alike_at(const struct deciding *d, size_t first, bool domains, const bool *wide);
