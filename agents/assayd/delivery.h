/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do with a report after the controller's answer. Pure.
 *
 *	202 {"accepted": 1}, 200 {"duplicate": 1}   it is stored: done
 *	400 malformed, 413 too large, 422 content   it will never be taken: set it aside
 *	403 not for this node                       it will not be taken before a person has
 *						    mended the name or the token: the same
 *	anything else                               keep it and try again later
 *
 * An answer that only looks well (a proxy's page with status 200) does not
 * acknowledge anything: the words above must be there.
 */
#pragma once

#include "lib/base/err.h"
#include "lib/base/macro.h"
#include "lib/net/http.h"
#include "lib/topology/topology_file.h"

enum delivery { DELIVERY_DONE, DELIVERY_SET_ASIDE, DELIVERY_KEEP };

/*
 * `why` (never NULL) is set to a sentence unless DELIVERY_DONE: "422 bad
 * content: samples[3].unit: missing", from the problem+json of the body.
 */
enum delivery delivery_judge(unsigned status, const char *body, size_t len, struct err *why);

/*
 * The same of many reports as lines of one call. 202 {"results": [{"status",
 * "detail"}, ...]} speaks of the first of them, in order; those after it are
 * to be sent again.
 */
enum delivery_lines {
	LINES_TAKEN,  /* the results count */
	LINES_SINGLY, /* it does not take lines: send one by one, each gets its own answer */
	LINES_ALONE,  /* it refuses the first, or who sends: that one alone gets its own answer */
	LINES_KEEP,
};

struct delivery_result {
	enum delivery delivery; /* never DELIVERY_KEEP */
	struct err why;		/* of DELIVERY_SET_ASIDE */
};

/*
 * `n` lines were sent; `ret_results` has room for as many, `ret_n` of them are
 * filled (at least 1 with LINES_TAKEN). `why` is set with LINES_KEEP.
 */
enum delivery_lines delivery_judge_lines(const struct http_answer *answer, size_t n,
					 struct delivery_result *ret_results, size_t *ret_n,
					 struct err *why);

enum { DELIVERY_WANTS_MAX = 8 };

/* Digests of topologies that an answer asks for ("want_topologies"); how many. */
size_t delivery_wants(const char *body, size_t len,
		      char ret_digests[static DELIVERY_WANTS_MAX][TOPOLOGY_DIGEST_LEN + 1]);
