/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do with a report after the controller's answer. Pure.
 *
 *	202 {"accepted": 1}, 200 {"duplicate": 1}   it is stored: done
 *	400 malformed, 413 too large, 422 content   it will never be taken: set it aside
 *	anything else                               keep it and try again later
 *
 * An answer that only looks well (a proxy's page with status 200) does not
 * acknowledge anything: the words above must be there.
 */
#pragma once

#include "lib/macro.h"

struct err;

enum delivery { DELIVERY_DONE, DELIVERY_SET_ASIDE, DELIVERY_KEEP };

/*
 * `why` (never NULL) is set to a sentence unless DELIVERY_DONE: "422 bad
 * content: samples[3].unit: missing", from the problem+json of the body.
 */
enum delivery delivery_judge(unsigned status, const char *body, size_t len, struct err *why);
