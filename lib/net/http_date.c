/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/http_date.h"

#include <time.h>

#include "lib/base/duration.h"

bool http_date_ahead(const char *date, uint64_t asked_us, uint64_t answered_us, long long *ret_s)
{
	const long long asked = (long long)(asked_us / USEC_PER_SEC);
	const long long answered = (long long)(answered_us / USEC_PER_SEC);
	struct tm tm = { 0 };
	const char *end = strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	long long said;

	if (!end || *end)
		return false;
	said = (long long)timegm(&tm);
	*ret_s = asked > said ? asked - said : answered < said ? answered - said : 0;
	return true;
}
