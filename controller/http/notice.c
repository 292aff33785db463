/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/notice.h"

bool notice_take(struct notice *n, uint64_t now_us)
{
	if (n->since_us == 0)
		*n = (struct notice){ .since_us = MAX(now_us, (uint64_t)1) };
	if (n->told < NOTICE_LINES) {
		n->told++;
		return true;
	}
	n->missed++;
	return false;
}

uint64_t notice_end(struct notice *n, uint64_t now_us)
{
	uint64_t missed = n->missed;

	if (n->since_us == 0 || now_us < n->since_us + NOTICE_PERIOD_US)
		return 0;
	*n = (struct notice){ 0 };
	return missed;
}
