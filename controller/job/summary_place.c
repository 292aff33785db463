/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/summary_place.h"

#include "controller/job/summary.h"
#include "lib/base/err.h"
#include "lib/json/json.h"
#include "lib/report/node_name.h"

int summary_place_ranks(const struct jval *v, void *member, struct err *err)
{
	json_t *const *ends =
		(json_t *const[]){ json_array_get(v->value, 0), json_array_get(v->value, 1) };
	size_t i;

	if (json_is_null(v->value))
		return 0;
	for (i = 0; i < 2; i++) {
		if (!json_is_integer(ends[i]) || json_integer_value(ends[i]) < 0 ||
		    json_integer_value(ends[i]) >= SUMMARY_RANKS_MAX)
			return jval_fail(v, err, "expected the first and the last rank");
	}
	json_decref(*(json_t **)member);
	*(json_t **)member = json_pack("[O, O]", ends[0], ends[1]);
	return 0;
}

json_t *summary_place_json(const void *member)
{
	json_t *value = *(json_t *const *)member;

	return value ? json_incref(value) : NULL;
}

int summary_place_check(const struct jval *v, char *const *hosts, struct err *err)
{
	const struct jval said = jval_get(v, "hosts");
	size_t i;

	for (i = 0; hosts && hosts[i]; i++) {
		if (!node_name_ok(hosts[i]))
			return jval_fail(&said, err, "is not a host name");
	}
	return 0;
}
