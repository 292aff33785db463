/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_burn_cause.h"

#include <math.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "probes/accel/accel.h"
#include "probes/accel/cuda_abi.h"

enum { WORDS_MAX = 300 };

/* Lost this much more than its peers, or this much on its own: see the header. */
static const double lost_more = 0.05, lost_much = 0.10;
/* With this much of its clock kept, the clock is not the reason for a slowdown. */
static const double same_clock = 0.97;
/* Uncertainty of a sensor with whole degrees. */
static const double sensor_c = 1;

/* The first row that matches the reasons applies. */
static const struct {
	uint64_t reasons;
	const char *code, *words;
} causes[] = {
	{ NVML_REASON_HW_POWER_BRAKE, "throttled",
	  "held back by the power brake: power supply or rack" },
	{ NVML_REASON_HW_THERMAL | NVML_REASON_SW_THERMAL, "throttled",
	  "thermally throttled: fan, paste, airflow" },
	{ NVML_REASON_HW_SLOWDOWN, "throttled", "throttled by the hardware: heat or power" },
	{ NVML_REASON_SW_POWER_CAP, "power-limited",
	  "warm, it reaches its power limit at a lower clock: cooling, or a poor part" },
	{ 0, "low-clock", "its clock dropped and the driver does not say why" },
};

size_t gemm_burn_part(double slot_s)
{
	const double slots = slot_s > 0 ? BURN_PART_S / slot_s : 1;
	const size_t most = BURN_SLOTS / BURN_PARTS;

	return slots >= (double)most ? most : slots < 1 ? 1 : (size_t)lround(slots);
}

static double median(double *values, size_t n)
{
	stats_sort(values, n);
	return n ? stats_median(values, n) : (double)NAN;
}

/* The median of the known values in `n` slots from `from` on. */
static double middle(const struct burn_series *series, size_t from, size_t n, enum burn_what what)
{
	double values[BURN_SLOTS];
	size_t known = 0, i;

	for (i = from; i < from + n; i++) {
		double value = series->slots[i].is[what];

		if (value > 0)
			values[known++] = value;
	}
	return median(values, known);
}

/* The maximum over the slots from `from` to `end`. */
static double most_of(const struct burn_series *series, size_t from, size_t end, enum burn_what what)
{
	double most = (double)NAN;
	size_t i;

	/* fmax() ignores a NAN. */
	for (i = from; i < end; i++)
		most = fmax(most, series->slots[i].is[what]);
	return most;
}

/* When half of the loss had occurred, for good. */
static double onset_of(const struct burn_series *series, const struct burn_sum *sum)
{
	const double last = sum->last[BURN_RATE], half = (sum->first + last) / 2;
	size_t i = BURN_SLOTS;

	if (!(last < sum->first))
		return (double)NAN;
	while (i > 0 && !(series->slots[i - 1].is[BURN_RATE] > half))
		i--;
	return (double)i * series->slot_s;
}

void gemm_burn_sum(const struct burn_series *series, struct burn_sum *ret)
{
	const size_t part = gemm_burn_part(series->slot_s), end = BURN_SLOTS - part;
	struct burn_sum sum = { .first = NAN,
				.kept = NAN,
				.onset_s = NAN,
				.part_s = (double)part * series->slot_s,
				.clock_kept = NAN,
				.memory_c = NAN,
				.memory_limit_c = series->memory_limit_c };
	size_t i;

	for (i = 0; i < BURN_WHATS; i++)
		sum.last[i] = (double)NAN;
	*ret = sum;
	if (!series->measured)
		return;
	/* A GPU that is throttled after half a minute was faster before. */
	sum.first = most_of(series, 0, part, BURN_RATE);
	sum.memory_c = most_of(series, end, BURN_SLOTS, BURN_MEMORY_C);
	for (i = 0; i < BURN_WHATS; i++)
		sum.last[i] = middle(series, end, part, (enum burn_what)i);
	sum.kept = sum.last[BURN_RATE] / sum.first;
	sum.clock_kept = sum.last[BURN_CLOCK] / middle(series, 0, part, BURN_CLOCK);
	sum.onset_s = onset_of(series, &sum);
	for (i = end; i < BURN_SLOTS; i++)
		sum.reasons |= series->slots[i].reasons;
	*ret = sum;
}

/* Values of the other GPUs, ascending. Returns the number of known ones. */
static size_t others_of(const struct burn_sum *all, size_t n, size_t i, bool memory, double *ret)
{
	size_t known = 0, j;

	for (j = 0; j < n; j++) {
		double value = memory ? all[j].last[BURN_MEMORY_C] : all[j].kept;

		if (j != i && value > 0)
			ret[known++] = value;
	}
	stats_sort(ret, known);
	return known;
}

/* Their median; NAN if there are too few. */
static double others_median(const struct burn_sum *all, size_t n, size_t i, bool memory)
{
	CLEANUP(freep) double *values = xcalloc(n + 1, sizeof(*values));
	size_t known = others_of(all, n, i, memory, values);

	return known >= BURN_PEERS_MIN ? median(values, known) : (double)NAN;
}

static double percent(double part)
{
	return 100 * (1 - part);
}

bool gemm_burn_slower(const struct burn_sum *all, size_t n, size_t i, const char **ret_code,
		      char **ret_words)
{
	const struct burn_sum *sum = &all[i];
	const double others = others_median(all, n, i, false);
	const bool more = sum->kept < others * (1 - lost_more);
	size_t cause = 0;

	if (!more && !(sum->kept < 1 - lost_much))
		return false;
	while (causes[cause].reasons && !(causes[cause].reasons & sum->reasons))
		cause++;
	if (sum->clock_kept >= same_clock) {
		*ret_code = "slow-at-clock";
		*ret_words = xasprintf(
			"from second %.0f on, at the same clock: memory, ECC, another process",
			sum->onset_s);
	} else {
		*ret_code = causes[cause].code;
		*ret_words = xasprintf("from second %.0f on, %s", sum->onset_s, causes[cause].words);
	}
	return true;
}

bool gemm_burn_hot(const struct burn_sum *all, size_t n, size_t i, char **ret_words)
{
	const struct burn_sum *sum = &all[i];
	const double limit = sum->memory_limit_c ? sum->memory_limit_c
						 : (double)ACCEL_MEMORY_LIMIT_C;
	const double above = sum->last[BURN_MEMORY_C] - others_median(all, n, i, true);
	const bool at_limit = sum->memory_c > limit - sensor_c - 0.5;

	if (!(at_limit && above >= BURN_ABOVE_C) && !(above >= BURN_APART_C))
		return false;
	*ret_words =
		xasprintf("its memory is %.0f C hotter than that of the others, with a limit of "
			  "%.0f C: contact of its heat sink, fan",
			  above, limit);
	return true;
}

static void add_others(struct strbuf *words, const struct burn_sum *all, size_t n, size_t i)
{
	CLEANUP(freep) double *values = xcalloc(n + 1, sizeof(*values));
	size_t known = others_of(all, n, i, true, values);

	if (known)
		(void)strbuf_printf(words, " while the others are at %.0f to %.0f", values[0],
				    values[known - 1]);
}

char *gemm_burn_words(const struct burn_sum *all, size_t n, size_t i)
{
	const struct burn_sum *sum = &all[i];
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(WORDS_MAX);
	const double others = others_median(all, n, i, false);

	(void)strbuf_printf(&words, "%.*f %% %s in its last %.0f s than in its first",
			    fabs(percent(sum->kept)) < 9.95 ? 1 : 0, fabs(percent(sum->kept)),
			    sum->kept > 1 ? "faster" : "slower", sum->part_s);
	if (others > 0)
		(void)strbuf_printf(&words, ", the others %.1f %%", percent(others));
	if (sum->last[BURN_CLOCK] > 0)
		(void)strbuf_printf(&words, "; at the end SM clock %.0f MHz",
				    sum->last[BURN_CLOCK] * 1e-6);
	if (sum->last[BURN_POWER] > 0)
		(void)strbuf_printf(&words, ", %.0f W", sum->last[BURN_POWER]);
	if (sum->last[BURN_GPU_C] > 0)
		(void)strbuf_printf(&words, ", %.0f C", sum->last[BURN_GPU_C]);
	if (sum->last[BURN_MEMORY_C] > 0) {
		(void)strbuf_printf(&words, ", HBM %.0f C", sum->last[BURN_MEMORY_C]);
		add_others(&words, all, n, i);
	}
	return xstrdup(strbuf_text(&words));
}
