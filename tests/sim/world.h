/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The composition of a simulated fleet: a few large models and many small ones of five hosts,
 * like a fleet that is some years old. Hosts of a model have consecutive numbers, the small models
 * come last. Pure functions of the number of a host.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Kinds of values that a host measures, each on several parts. */
enum kind { KIND_COMPUTE, KIND_COPY, KIND_NETWORK, KIND_MEMORY, HOST_KINDS };

enum {
	WORLD_MODELS_MAX = 4,
	WORLD_SMALL = 5, /* hosts of a small model */
	WORLD_RACK_MAX = 1024,
	WORLD_SKU_SIZE = 16,
};

struct world {
	uint64_t models; /* large ones, which have a SKU file */
	double small;	 /* fraction of the hosts that are of small models */
	uint64_t rack;	 /* hosts per rack: one failure domain, under one ToR */
};

/* Returns the default: 4 models, 15 % in models of five, racks of 64. */
struct world world_init(void);

/* Returns the number of models; the large ones come first. */
size_t world_skus(const struct world *w, size_t nodes);

/* Returns the model of a host. */
size_t world_sku_of(const struct world *w, size_t nodes, size_t number);

/* Returns the number of hosts of a model; the first one in `ret_first`. */
size_t world_hosts_of(const struct world *w, size_t nodes, size_t sku, size_t *ret_first);

/* Names a model: "hgx-h100" ..., with SKU files, then "oem-000" ..., without. */
void world_name(const struct world *w, size_t sku, char ret_name[static WORLD_SKU_SIZE]);

/* Returns the rate of a good part of such a host, in the unit of the kind. */
double world_rate(const struct world *w, size_t sku, enum kind kind);
