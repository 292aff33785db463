/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pairing/rails.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/macro.h"
#include "lib/topology/topology.h"

enum { RNICS_MAX = 64 };

static int by_name(const void *a, const void *b)
{
	return strverscmp(json_string_value(*(json_t *const *)a),
			  json_string_value(*(json_t *const *)b));
}

/*
 * The RNICs that heard a switch, or could have, in the order of rails; only the first ones if there
 * are too many.
 */
static size_t heard(const json_t *neighbors, json_t *ret_rnics[RNICS_MAX])
{
	size_t n = 0, i, j;

	for (i = 0; i < json_array_size(neighbors) && n < RNICS_MAX; i++) {
		json_t *rnic = json_object_get(json_array_get(neighbors, i), "rnic");

		for (j = 0; j < n && !json_equal(ret_rnics[j], rnic); j++)
			;
		if (json_is_string(rnic) && j == n)
			ret_rnics[n++] = rnic;
	}
	if (n > 1)
		qsort(ret_rnics, n, sizeof(ret_rnics[0]), by_name);
	return MIN(n, (size_t)PAIRING_RAILS_MAX);
}

/* The first switch that this RNIC heard of, or NULL. */
static const char *switch_of(const json_t *neighbors, const json_t *rnic)
{
	size_t i;

	for (i = 0; i < json_array_size(neighbors); i++) {
		const json_t *one = json_array_get(neighbors, i);
		const char *name = json_string_value(json_object_get(one, "switch"));

		if (json_equal(json_object_get(one, "rnic"), rnic) && name &&
		    !streq(name, TOPO_NEIGHBOR_SILENT))
			return name;
	}
	return NULL;
}

bool rails_heard(const json_t *topology, const char *ret_switch[PAIRING_RAILS_MAX])
{
	const json_t *neighbors = json_object_get(topology, "neighbors");
	json_t *rnics[RNICS_MAX];
	const size_t n = heard(neighbors, rnics);
	size_t rail;
	bool any = false;

	for (rail = 0; rail < n; rail++) {
		const char *name = switch_of(neighbors, rnics[rail]);

		any |= name != NULL;
		if (!ret_switch[rail])
			ret_switch[rail] = name;
	}
	return any;
}
