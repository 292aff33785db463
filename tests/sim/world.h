/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a simulated fleet is made of: a few large models, and many small ones of five
 * hosts, as a fleet has them after some years. Hosts of one model stand side by side, those of
 * five last. Pure: from the number of a host to what it is.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Values that a host measures, each in several parts. */
enum kind { KIND_COMPUTE, KIND_COPY, KIND_NETWORK, KIND_MEMORY, HOST_KINDS };

enum {
	WORLD_MODELS_MAX = 4,
	WORLD_SMALL = 5, /* hosts of a small model */
	WORLD_RACK_MAX = 1024,
	WORLD_SKU_SIZE = 16,
};

struct world {
	uint64_t models; /* large ones, those with a SKU file */
	double small;	 /* part of the hosts that are of small models */
	uint64_t rack;	 /* hosts of a rack: one failure domain, under one ToR */
};

/* 4 models, 15 % in models of five, racks of 64. */
struct world world_init(void);

/* Models there are: the large ones first. */
size_t world_skus(const struct world *w, size_t nodes);

/* The model of a host. */
size_t world_sku_of(const struct world *w, size_t nodes, size_t number);

/* Hosts of a model: `ret_first` is the first of them. */
size_t world_hosts_of(const struct world *w, size_t nodes, size_t sku, size_t *ret_first);

/* "hgx-h100" ..., which have SKU files, then "oem-000" ..., which have none. */
void world_name(const struct world *w, size_t sku, char ret_name[static WORLD_SKU_SIZE]);

/* What a good part of such a host reaches, in the unit of the kind. */
double world_rate(const struct world *w, size_t sku, enum kind kind);
