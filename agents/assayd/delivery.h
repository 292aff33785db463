/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do with a report after the controller's answer. Pure.
 *
 *	202 {"accepted": 1}, 200 {"duplicate": 1}   stored: done
 *	400 malformed, 413 too large, 422 content   will never be accepted: set it aside
 *	403 not for this node                       not accepted until a person fixes the name or
 *						    the token: set it aside
 *	anything else                               keep it and retry later
 *
 * A status alone (say 200 with a proxy's page) acknowledges nothing: the body must have the words
 * above.
 */
#pragma once

#include "lib/base/err.h"
#include "lib/base/macro.h"
#include "lib/net/http.h"
#include "lib/topology/topology_file.h"

enum delivery { DELIVERY_DONE, DELIVERY_SET_ASIDE, DELIVERY_KEEP };

/*
 * Sets `why` (never NULL) to a message unless it returns DELIVERY_DONE: "422 bad content:
 * samples[3].unit: missing", from the problem+json of the body.
 */
enum delivery delivery_judge(unsigned status, const char *body, size_t len, struct err *why);

/*
 * The same for many reports sent as lines of one request. 202 {"results": [{"status", "detail"},
 * ...]} answers the first of them, in order; the rest must be sent again.
 */
enum delivery_lines {
	LINES_TAKEN,  /* the results count */
	LINES_SINGLY, /* lines are not supported: send each report by itself */
	LINES_ALONE,  /* the first report, or the sender, is refused: send that one by itself */
	LINES_KEEP,
};

struct delivery_result {
	enum delivery delivery; /* never DELIVERY_KEEP */
	struct err why;		/* why it was set aside */
};

/*
 * `n` lines were sent. `ret_results` has room for `n`, of which `ret_n` are filled (at least 1
 * with LINES_TAKEN). `why` is set with LINES_KEEP.
 */
enum delivery_lines delivery_judge_lines(const struct http_answer *answer, size_t n,
					 struct delivery_result *ret_results, size_t *ret_n,
					 struct err *why);

enum { DELIVERY_WANTS_MAX = 8 };

/*
 * Get the digests of the topologies that an answer requests ("want_topologies"). Returns how
 * many.
 */
size_t delivery_wants(const char *body, size_t len,
		      char ret_digests[static DELIVERY_WANTS_MAX][TOPOLOGY_DIGEST_LEN + 1]);
