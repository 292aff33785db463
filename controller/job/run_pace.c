/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/run_pace.h"

#include <math.h>

#include "controller/store/store_predictions.h"

static int64_t integer(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

struct run_shape run_pace_shape(const json_t *of)
{
	return (struct run_shape){ .ranks = integer(of, "ranks"),
				   .dp = integer(of, "dp"),
				   .pp = integer(of, "pp") };
}

bool run_pace_alike(const struct run_shape *x, const struct run_shape *y)
{
	return x->ranks == y->ranks && x->dp == y->dp && x->pp == y->pp;
}

struct run_pace run_pace_of(const struct job_judging_input *in, const struct run_shape *shape,
			    uint64_t by_us)
{
	struct run_pace pace = { .run = in->windows[0].run };
	bool coarse = false;
	size_t i;

	for (i = 0; i < in->n; i++) {
		const struct job_window *w = &in->windows[i];
		const struct run_shape of = run_pace_shape(w->summary);
		const json_t *step = json_object_get(w->summary, "step_s");

		if (w->received_us > by_us || w->run != pace.run || !run_pace_alike(&of, shape))
			continue;
		coarse |= w->from_us == 0;
		pace.from_us = pace.from_us ? MIN(pace.from_us, w->from_us) : w->from_us;
		pace.until_us = MAX(pace.until_us, w->until_us);
		prediction_add_window(&pace.mean,
				      json_is_number(step) ? json_number_value(step) : NAN,
				      (uint64_t)integer(w->summary, "steps"));
	}
	if (coarse)
		pace.from_us = pace.until_us = 0;
	return pace;
}

int run_pace_hosts(const struct job_judging_input *in, const struct run_pace *pace, json_t **ret,
		   struct err *err)
{
	const struct store_run_span span = { in->job, pace->run, pace->from_us, pace->until_us };

	if (span.from_us > 0)
		return store_run_hosts(in->store, &span, ret, err);
	*ret = json_array();
	return 0;
}
