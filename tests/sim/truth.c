/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/truth.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"

#define GOOD_QUANTILE 0.005
#define BELOW_NEXT 0.95

bool truth_is_clean(const struct sim_host *host)
{
	size_t i;

	for (i = 0; i < host->n_ailments; i++) {
		if (!fault_traits[host->ailments[i].fault->kind].lies)
			return false;
	}
	return true;
}

const char *truth_family(int fault_kind)
{
	switch ((enum fault_kind)fault_kind) {
	case FAULT_BAD_TOR:
		return "loopback";
	case FAULT_LOST_CHANNEL:
		return "memory";
	case FAULT_FLAP_STORM:
		return "rnic";
	case FAULT_XID_STORM:
		return "gpu";
	default:
		return "gemm";
	}
}

static double value_of(const struct sim_host *host, size_t part)
{
	return host->part[KIND_COMPUTE][part] * host_born(host, KIND_COMPUTE, part);
}

/* Collects the values of the GPUs of hosts [first, end), or only the good ones, sorted. Returns how
 * many. */
static size_t values_of(const struct sim_host *hosts, size_t first, size_t end, bool good,
			double *ret_values)
{
	size_t n = 0, i, part;

	for (i = first; i < end; i++) {
		for (part = 0; part < HOST_PARTS; part++) {
			if (!good || host_born(&hosts[i], KIND_COMPUTE, part) == 1)
				ret_values[n++] = value_of(&hosts[i], part);
		}
	}
	stats_sort(ret_values, n);
	return n;
}

/* Is the next better value in the sorted array far enough away? False if there is none. */
static bool is_apart(const double *all, size_t n, double value)
{
	size_t i = 0;

	while (i < n && all[i] <= value)
		i++;
	return i < n && value <= BELOW_NEXT * all[i];
}

static unsigned char judge_gpu(const struct sim_host *host, size_t part, const double *good,
			       size_t n)
{
	const bool born = host_born(host, KIND_COMPUTE, part) != 1;
	const double value = value_of(host, part);
	const size_t next = !born && n > 1 && value <= good[0] ? 1 : 0;

	if (n == 0 || value >= stats_quantile(good, n, GOOD_QUANTILE) ||
	    value > BELOW_NEXT * good[next])
		return born ? TRUTH_BORN : 0;
	return TRUTH_IDENTIFIABLE | (born ? TRUTH_BORN : 0);
}

static void find_model(struct truth *t, const struct sim_host *hosts, size_t first, size_t end)
{
	CLEANUP(freep) double *good = xcalloc((end - first) * HOST_PARTS, sizeof(*good));
	CLEANUP(freep) double *all = xcalloc((end - first) * HOST_PARTS, sizeof(*all));
	const size_t n = values_of(hosts, first, end, true, good),
		     n_all = values_of(hosts, first, end, false, all);
	size_t i, part;

	for (i = first; i < end; i++) {
		for (part = 0; part < HOST_PARTS; part++) {
			unsigned char *bits = &t->gpus[i * HOST_PARTS + part];

			*bits = judge_gpu(&hosts[i], part, good, n);
			if (*bits & TRUTH_IDENTIFIABLE &&
			    is_apart(all, n_all, value_of(&hosts[i], part)))
				*bits |= TRUTH_APART;
			t->low[i] |= host_born(&hosts[i], KIND_COMPUTE, part) == 1 &&
				     value_of(&hosts[i], part) <
					     stats_quantile(good, n, GOOD_QUANTILE);
		}
	}
}

void truth_find(struct truth *t, const struct sim_host *hosts, size_t n)
{
	size_t first = 0, end;

	t->gpus = xcalloc(n * HOST_PARTS, sizeof(*t->gpus));
	t->low = xcalloc(n, sizeof(*t->low));
	for (; first < n; first = end) {
		for (end = first; end < n && hosts[end].model == hosts[first].model;)
			end++;
		find_model(t, hosts, first, end);
	}
}

static void print_model(const struct truth *t, const struct sim_host *hosts, size_t first,
			size_t end, FILE *out)
{
	CLEANUP(freep) double *good = xcalloc((end - first) * HOST_PARTS, sizeof(*good));
	const size_t n = values_of(hosts, first, end, true, good);
	const double least = n ? stats_quantile(good, n, GOOD_QUANTILE) : 0;
	size_t i, part;

	for (i = first; i < end; i++) {
		for (part = 0; part < HOST_PARTS; part++) {
			const unsigned char bits = t->gpus[i * HOST_PARTS + part];
			const double value = value_of(&hosts[i], part);
			const bool born = host_born(&hosts[i], KIND_COMPUTE, part) != 1;

			if (bits == 0 && value >= least)
				continue;
			(void)fprintf(out,
				      "%s GPU %zu of %s: %.3f of the median, %.3f of the slowest "
				      "good one%s%s%s\n",
				      hosts[i].name, part, hosts[i].sku,
				      value / stats_median(good, n),
				      value / good[!born && n > 1 && value <= good[0] ? 1 : 0],
				      born ? ", born slow" : "",
				      bits & TRUTH_IDENTIFIABLE ? ", identifiable" : "",
				      bits & TRUTH_APART ? ", apart" : "");
		}
	}
}

void truth_print(const struct truth *t, const struct sim_host *hosts, size_t n, FILE *out)
{
	size_t first = 0, end;

	for (; first < n; first = end) {
		for (end = first; end < n && hosts[end].model == hosts[first].model;)
			end++;
		print_model(t, hosts, first, end, out);
	}
}

void truth_release(struct truth *t)
{
	free(t->gpus);
	free(t->low);
	*t = (struct truth){ 0 };
}
