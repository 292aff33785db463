/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One action on many hosts: prints a line per host and a summary. fanout.h defines how many
 * requests run in parallel. On a terminal it asks for confirmation first, unless --yes.
 *
 * It continues past a host that is unknown or refused individually, and stops at a refusal that
 * applies to all (an exhausted budget, the breaker) or a general failure: a token without
 * permission, no controller.
 */
#pragma once

struct link;
struct request;

/*
 * Returns enum status: good if it was done for every host; no if it failed for some, nothing
 * matched, or the user declined; usage and unknown as for a single host.
 */
int bulk_run(struct link *link, const struct request *request);
