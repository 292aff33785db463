/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/loopback/loopback_known.h"

#include <math.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "probes/loopback/loopback.h"

/* Values measured with other options are not comparable. */
static json_t *options_of(const struct loopback_options *o)
{
	return json_pack("[i, i, i, i]", (int)o->size, (int)o->qps, (int)o->depth, (int)o->mtu);
}

json_t *known_load(const struct probe *probe, const struct loopback_options *options)
{
	CLEANUP(json_freep) json_t *kept = probe_load(probe, true);
	CLEANUP(json_freep) json_t *now = options_of(options);
	json_t *cells = json_object_get(kept, "cells");

	if (!json_is_object(cells) || !json_equal(json_object_get(kept, "options"), now))
		return json_object();
	return json_incref(cells);
}

double known_rate(const json_t *known, const char *subject)
{
	const json_t *rate = json_object_get(known, subject);

	return json_is_number(rate) && json_number_value(rate) > 0 ? json_number_value(rate) : NAN;
}

void known_note(json_t *known, const char *subject, double rate)
{
	double before = known_rate(known, subject);

	if (!(rate > 0) || rate <= before)
		return;
	json_object_set_new(known, subject, json_real(isnan(before) ? rate : (before + rate) / 2));
}

void known_save(const struct probe *probe, const struct loopback_options *options, json_t *known)
{
	CLEANUP(json_freep)
	json_t *kept = json_pack("{s:o, s:O}", "options", options_of(options), "cells", known);
	struct err err = ERR_INIT;

	if (probe_save(probe, kept, &err) < 0)
		log_warning("%s; the results of the cells are not kept", err.msg);
}
