/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One order for many hosts: a line a host and one that sums up. How many
 * requests are under way at once fanout.h says. On a terminal a question comes first, unless --yes.
 *
 * It goes on past a host that is unknown or refused by itself, and ends at a refusal that holds for
 * all (a budget that is used up, the breaker) and at what is so for all of them: a token that may
 * not, no controller.
 */
#pragma once

struct link;
struct request;

/*
 * enum status: good when it was done for each; no when not for some, or nothing matched, or the
 * answer to the question was no; usage and unknown as for one.
 */
int bulk_run(struct link *link, const struct request *request);
