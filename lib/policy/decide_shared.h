/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What many hosts share is no host's fault. Candidates are grouped by (SKU,
 * check), those by setting and job, and by (domain, check); hosts are counted once per group.
 */
#pragma once

struct deciding;

/* Mark what many hosts share, keep the notices, and open the breaker where it is due. */
void decide_shared(struct deciding *d);
