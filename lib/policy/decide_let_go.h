/* SPDX-License-Identifier: Apache-2.0 */
/* When what hosts shared is over, and one of them is still not good. */
#pragma once

struct deciding;

/* Which findings that were in a notice are their hosts' own again, once the notices are known. */
void decide_let_go(struct deciding *d);
