/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the sharing of a finding when its notice is over and its host is still not good. */
#pragma once

struct deciding;

/* Once the notices are known: which findings that were in one are their hosts' own again. */
void decide_let_go(struct deciding *d);
