/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_cause.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "probes/accel/cuda_abi.h"
#include "probes/gemm/gemm_device.h"

/* A rate below this part of its peers' is explained: the judge's threshold. */
static const double slow_part = 0.95;

/* The first row that matches the reasons applies. */
static const struct {
	uint64_t reasons;
	const char *code, *words;
} causes[] = {
	{ NVML_REASON_HW_POWER_BRAKE, "throttled",
	  "throttled by the power brake: power supply or rack" },
	{ NVML_REASON_HW_THERMAL | NVML_REASON_SW_THERMAL, "throttled",
	  "thermally throttled: cooling" },
	{ NVML_REASON_HW_SLOWDOWN, "throttled", "throttled by the hardware: heat or power" },
	{ NVML_REASON_APP_CLOCKS | NVML_REASON_SYNC_BOOST | NVML_REASON_DISPLAY, "clock-setting",
	  "its clock is held down by a leftover setting" },
	{ NVML_REASON_SW_POWER_CAP, "lottery",
	  "silicon lottery: it reaches its power limit at a lower clock than its peers" },
	{ 0, "low-clock", "its clock is low and the driver does not say why" },
};
static const char defect_code[] = "slow-at-clock";
static const char defect_words[] = "slow at a normal clock: a defect or another user: memory, ECC, "
				   "leftover MIG or MPS, another process";
static const char unclear_code[] = "unclear";

bool gemm_same_kind(const struct gemm_device *a, const struct gemm_device *b)
{
	const struct accel_ops *ops = a->plan->ops;

	return streq(a->info.name, b->info.name) && a->info.units == b->info.units &&
	       streq(ops->gemm_algorithm(a->job.gemm), ops->gemm_algorithm(b->job.gemm));
}

static double clock_of(const struct gemm_device *d)
{
	return d->clock.n ? d->clock.sum_hz / d->clock.n : (double)NAN;
}

static double median_rate(const struct gemm_device *d)
{
	struct sample s = sample_init();
	double value;

	sample_set_windows(&s, d->rates, d->n_rates);
	value = s.value;
	sample_release(&s);
	return value;
}

static bool is_measured(const struct gemm_device *d)
{
	return gemm_live(d) && d->n_rates && !d->busy[0] && d->clock.n;
}

static double median(double *values, size_t n)
{
	stats_sort(values, n);
	return stats_median(values, n);
}

/* Its rate and clock relative to its peers; returns false if there are none. */
static bool parts_of(const struct gemm_run *run, const struct gemm_device *d, double *ret_rate,
		     double *ret_clock)
{
	CLEANUP(freep) double *rates = xcalloc(run->n, sizeof(*rates));
	CLEANUP(freep) double *clocks = xcalloc(run->n, sizeof(*clocks));
	size_t n = 0, i;

	for (i = 0; i < run->n; i++) {
		const struct gemm_device *peer = &run->devices[i];

		if (peer == d || !is_measured(peer) || !gemm_same_kind(peer, d))
			continue;
		rates[n] = median_rate(peer);
		clocks[n++] = clock_of(peer);
	}
	if (n == 0)
		return false;
	*ret_rate = median_rate(d) / median(rates, n);
	*ret_clock = clock_of(d) / median(clocks, n);
	return true;
}

unsigned gemm_low_of(double rate, double clock, double percent)
{
	const double part = 1 - percent / 100;

	return (clock < part ? GEMM_LOW_CLOCK : 0U) | (rate / clock < part ? GEMM_LOW_WORK : 0U);
}

bool gemm_cause(const struct gemm_run *run, const struct gemm_device *d, const char **ret_code,
		char **ret_words)
{
	double rate, clock;
	size_t i = 0;

	if (!run->plan->gpu || !is_measured(d) || !parts_of(run, d, &rate, &clock) ||
	    !(rate < slow_part))
		return false;
	while (causes[i].reasons && !(causes[i].reasons & d->clock.reasons))
		i++;
	switch (gemm_low_of(rate, clock, GEMM_LOW_PERCENT)) {
	case GEMM_LOW_WORK:
		*ret_code = defect_code;
		*ret_words = xstrdup(defect_words);
		break;
	case GEMM_LOW_CLOCK:
		*ret_code = causes[i].code;
		*ret_words = xstrdup(causes[i].words);
		break;
	case GEMM_LOW_CLOCK | GEMM_LOW_WORK:
		*ret_code = defect_code;
		*ret_words = xasprintf("%s; and also slow at that clock: a defect or another user",
				       causes[i].words);
		break;
	default:
		*ret_code = unclear_code;
		*ret_words = xasprintf("slow by its clock or at it: neither is lower by %d %%, and "
				       "the clock is not known more precisely",
				       GEMM_LOW_PERCENT);
	}
	return true;
}

/* The slowest GPU, which the others wait for; NULL if any was not measured. */
static const struct gemm_device *find_slowest(const struct gemm_run *run)
{
	const struct gemm_device *slowest = NULL;
	unsigned i;

	for (i = 0; i < run->n; i++) {
		const struct gemm_device *d = &run->devices[i];

		if (!(d->plain_rate > 0))
			return NULL;
		if (!slowest || d->plain_rate < slowest->plain_rate)
			slowest = d;
	}
	return slowest;
}

/* The total power, which a supply or rack may not be able to deliver; 0 if unknown for any GPU. */
static double watts_of_all(const struct gemm_run *run)
{
	double sum = 0;
	unsigned i;

	for (i = 0; i < run->n; i++) {
		const struct gemm_clock *c = &run->devices[i].clock;

		if (!c->n_w)
			return 0;
		sum += c->sum_w / c->n_w;
	}
	return sum;
}

bool gemm_host_sample(const struct gemm_run *run, struct sample *ret)
{
	const struct gemm_device *d = run->plan->gpu ? find_slowest(run) : NULL;
	struct sample s;
	double watts;

	if (!d)
		return false;
	s = gemm_sample(d, "gemm.host_rate");
	free(s.subject);
	s.subject = xstrdup(GEMM_ALL_SUBJECT);
	s.unit = xstrdup("FLOP/s");
	s.better = BETTER_HIGHER;
	watts = watts_of_all(run);
	s.note = watts > 0 ? xasprintf("%s, the slowest of %u, which drew %.0f W together",
				       d->info.subject, run->n, watts)
			   : xasprintf("%s, the slowest of %u", d->info.subject, run->n);
	(void)json_object_set_new(s.params, "gpus", json_integer(run->n));
	sample_set_windows(&s, d->rates, d->n_rates);
	*ret = s;
	return true;
}
