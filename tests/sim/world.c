/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/world.h"

#include <stdio.h>

#include "lib/base/macro.h"

/*
 * gemm.rate, memory.h2d_bw and loopback.write_bw between the expected value and the floor in the
 * model's SKU file (which has the sources); memory.read_bw of one NUMA node of a two-socket host
 * with 8 channels of DDR4-3200 (A100) or DDR5-4800 each, as in tests/fleet/hosts.py.
 */
static const struct {
	const char *name;
	double share; /* fraction of the hosts of large models */
	double rates[HOST_KINDS];
} models[WORLD_MODELS_MAX] = {
	{ "hgx-h100", 0.55, { 775e12, 51.6e9, 50e9, 238e9 } },
	{ "hgx-h200", 0.25, { 750e12, 51.6e9, 50e9, 238e9 } },
	{ "hgx-a100", 0.12, { 247e12, 25.6e9, 25e9, 160e9 } },
	{ "hgx-b200", 0.08, { 1700e12, 52.0e9, 50e9, 238e9 } },
};

struct world world_init(void)
{
	return (struct world){ .models = WORLD_MODELS_MAX, .small = 0.15, .rack = 64 };
}

static size_t n_small(const struct world *w, size_t nodes)
{
	return (size_t)(w->small * (double)nodes / WORLD_SMALL + 1e-9);
}

/* Returns the first host of large model `sku`. */
static size_t begin_of(const struct world *w, size_t nodes, size_t sku)
{
	const size_t large = nodes - n_small(w, nodes) * WORLD_SMALL;
	double before = 0, all = 0;
	size_t i;

	for (i = 0; i < w->models; i++) {
		before += i < sku ? models[i].share : 0;
		all += models[i].share;
	}
	return (size_t)((double)large * before / all + 0.5);
}

size_t world_skus(const struct world *w, size_t nodes)
{
	return w->models + n_small(w, nodes);
}

size_t world_hosts_of(const struct world *w, size_t nodes, size_t sku, size_t *ret_first)
{
	*ret_first = begin_of(w, nodes, MIN(sku, w->models));
	if (sku < w->models)
		return begin_of(w, nodes, sku + 1) - *ret_first;
	*ret_first += (sku - w->models) * WORLD_SMALL;
	return WORLD_SMALL;
}

size_t world_sku_of(const struct world *w, size_t nodes, size_t number)
{
	const size_t large = begin_of(w, nodes, w->models);
	size_t sku = 0;

	if (number >= large)
		return w->models + (number - large) / WORLD_SMALL;
	while (begin_of(w, nodes, sku + 1) <= number)
		sku++;
	return sku;
}

void world_name(const struct world *w, size_t sku, char ret_name[static WORLD_SKU_SIZE])
{
	if (sku < w->models)
		(void)snprintf(ret_name, WORLD_SKU_SIZE, "%s", models[sku].name);
	else
		(void)snprintf(ret_name, WORLD_SKU_SIZE, "oem-%03zu", (sku - w->models) % 1000000);
}

double world_rate(const struct world *w, size_t sku, enum kind kind)
{
	if (sku < w->models)
		return models[sku].rates[kind];
	/* Small models are invented: between the large ones. */
	return models[0].rates[kind] * (0.6 + 0.05 * (double)(sku % 9));
}
