/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sku/1: what a host of one model should have and reach. A SKU is identified by models (DMI
 * product, CPU, GPU, NIC) and by its GPU board: how many GPUs it has, and whether NVSwitches
 * connect them. A GPU that fell off the bus must fail the host, not change its SKU, so a host that
 * is short of GPUs gets the smallest board that its GPUs fit on: sku_better(). Counts are
 * expectations.
 *
 *	v: 1
 *	sku: hgx-h100
 *	match: {product: GLOB, cpu: GLOB, gpu: [PCI ids "10de:2330"], nic: [...],
 *	        gpus: [8], nvswitch: [...], virtual: true|false}
 *	inventory: {gpus: {count: 8, source: ...}, ...}       -> inventory.* short = fail
 *	probes: [gpu-state, ...]                              not-applicable is then a finding
 *	expect: [{check, class, subject?, params?, value, floor, unit, source}]
 *	expect: [{check, ..., part: 0.9, of: PARAM, unit, source}]
 *
 * Every number says where it comes from. Pure: JSON in.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/json/json.h"

struct err;
struct sample;

enum {
	SKU_EXPECT_MAX = 256,
	SKU_IDS_MAX = 32,
	SKU_NAME_MAX = 64, /* bytes */
	SKU_PARAMS_MAX = 16,
	SKU_GPUS_MAX = 1024,
};

/* The required value of one of a sample's params: one of these texts, or a number in this range. */
struct sku_param {
	char *name;
	char **texts; /* globs, NULL-terminated; NULL: a number */
	double min, max;
};

struct sku_expect {
	char *check;		  /* glob */
	char **localities;	  /* globs, one must match; or NULL: any */
	char *subject;		  /* glob, or NULL: any */
	struct sku_param *params; /* a sample that has one of these params must match it */
	size_t n_params;
	double value; /* expected; NAN if only a floor is known */
	double floor; /* ceiling for better=lower; NAN with `of` */
	double part;  /* floor as a part of the number in the param `of`; or NAN */
	char *of;
	char *unit;
	char *source; /* document, tool or measurement that it comes from */
};

enum sku_virtual { SKU_ANY, SKU_BARE, SKU_VIRTUAL };

struct sku {
	char *name;
	char *product, *cpu; /* globs, or NULL: any */
	char **gpus, **nics; /* PCI ids "vendor:device" in hex, NULL-terminated; or NULL */
	char **switches;     /* the same of NVSwitches */
	uint64_t *counts;    /* GPU counts of the boards it describes, 0-terminated; or NULL */
	int is_virtual;	     /* enum sku_virtual */
	struct sku_expect *inventory; /* check "inventory.gpus" and so on; value = count */
	size_t n_inventory;
	char **probes;
	struct sku_expect *expects;
	size_t n_expects;
};

/* The models found on a host. */
struct sku_models {
	char *product, *cpu; /* "" when unknown */
	char **gpus, **nics; /* distinct PCI ids present, sorted, NULL-terminated */
	char **switches;     /* the same of NVSwitches; or NULL */
	uint64_t n_gpus;
	bool is_virtual; /* a guest: it may have been given only a part of a board */
};

void sku_release(struct sku *s);
int sku_decode(const struct jval *v, struct sku *ret, struct err *err);

/*
 * True if the file describes a host with these models. Lists match if they share an id. The number
 * of GPUs must be one of `gpus`. It may also be less where whole boards can be expected: outside of
 * virtual machines, and wherever the NVSwitches of the board are visible.
 */
bool sku_matches(const struct sku *s, const struct sku_models *m);

/* The same by the kinds of GPU and NIC alone, which a host keeps when it loses some of them. */
bool sku_matches_kinds(const struct sku *s, const struct sku_models *m);

/*
 * Of two matching files, true if `s` fits the host better than `other`: the one that names more
 * kinds of model (product, cpu, gpu, nic); then the one whose board has exactly as many GPUs; then
 * the one that says more about the board; then the one with the smaller board.
 */
bool sku_better(const struct sku *s, const struct sku *other, const struct sku_models *m);

/* Canonical text of the models, as pinned in $STATE/sku. Without counts. New memory. */
char *sku_models_text(const struct sku_models *m);
void sku_models_release(struct sku_models *m);

/*
 * The first expectation that matches a sample (by its check, class, subject and params), or NULL. A
 * value measured under confidential computing or on a MIG instance (params cc, mig) only matches
 * rows whose params say so. Inventory is looked up in the same way. `ret_floor` is the effective
 * floor, computed if the row has `part`.
 */
const struct sku_expect *sku_expectation(const struct sku *s, const struct sample *sample,
					 double *ret_floor);
bool sku_expects_probe(const struct sku *s, const char *probe);
