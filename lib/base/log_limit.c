/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/log_limit.h"

bool log_limit_take(struct log_limit *n, uint64_t now_us)
{
	if (n->since_us == 0)
		*n = (struct log_limit){ .since_us = MAX(now_us, (uint64_t)1) };
	if (n->told < LOG_LIMIT_LINES) {
		n->told++;
		return true;
	}
	n->missed++;
	return false;
}

uint64_t log_limit_end(struct log_limit *n, uint64_t now_us)
{
	uint64_t missed = n->missed;

	if (n->since_us == 0 || now_us < n->since_us + LOG_LIMIT_PERIOD_US)
		return 0;
	*n = (struct log_limit){ 0 };
	return missed;
}
