/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What many hosts share is no host's fault. Candidates are grouped by (SKU, check), within these by
 * setting and job, and by (domain, check); each host counts once per group.
 */
#pragma once

struct deciding;

/* Marks what many hosts share, maintains the notices, and opens the breaker if due. */
void decide_shared(struct deciding *d);
