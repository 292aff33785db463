/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sku/1: what a host of one model should have and reach. A SKU is known by
 * models (DMI product, CPU, GPU, NIC), never by counts: a GPU that fell off
 * the bus must fail the host, not change its SKU. Counts are expectations.
 *
 *	v: 1
 *	sku: hgx-h100
 *	match: {product: GLOB, cpu: GLOB, gpu: [PCI ids "10de:2330"], nic: [...]}
 *	inventory: {gpus: {count: 8, source: ...}, ...}       -> inventory.* short = fail
 *	probes: [gpu-state, ...]                              not-applicable is then a finding
 *	expect: [{check, class, subject?, value, floor, unit, source}]
 *
 * Every number carries where it comes from. Pure: JSON in.
 */
#pragma once

#include <stdint.h>

#include "lib/json.h"
#include "lib/macro.h"

struct err;

enum { SKU_EXPECT_MAX = 256, SKU_IDS_MAX = 32, SKU_NAME_MAX = 64 /* bytes */ };

struct sku_expect {
	char *check;	/* glob */
	char *locality; /* or NULL: any */
	char *subject;	/* glob, or NULL: any */
	double value;	/* expected; NAN when only a floor is known */
	double floor;	/* held against; for better=lower a ceiling */
	char *unit;
	char *source; /* document, tool or measurement it comes from */
};

struct sku {
	char *name;
	char *product, *cpu;	      /* globs, or NULL: any */
	char **gpus, **nics;	      /* PCI ids "vendor:device" in hex, NULL-terminated; or NULL */
	struct sku_expect *inventory; /* check "inventory.gpus" and so on; value = count */
	size_t n_inventory;
	char **probes;
	struct sku_expect *expects;
	size_t n_expects;
};

/* What the models of a host are, as read on it. */
struct sku_models {
	char *product, *cpu; /* "" when unknown */
	char **gpus, **nics; /* distinct PCI ids present, sorted, NULL-terminated */
};

void sku_release(struct sku *s);
int sku_decode(const struct jval *v, struct sku *ret, struct err *err);

/* Does the file describe a host of these models? Lists match when they share an id. */
bool sku_matches(const struct sku *s, const struct sku_models *m);

/* Canonical text of the models: what is pinned in $STATE/sku. New memory. */
char *sku_models_text(const struct sku_models *m);
void sku_models_release(struct sku_models *m);

/* The first expectation for a sample, or NULL. Inventory is looked up the same way. */
const struct sku_expect *sku_expectation(const struct sku *s, const char *check,
					 const char *locality, const char *subject);
bool sku_expects_probe(const struct sku *s, const char *probe);
