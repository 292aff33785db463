/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sku/1: what a host of one model should have and reach. A SKU is known by
 * models (DMI product, CPU, GPU, NIC) and by the board that they are on: how many
 * GPUs it has, and whether NVSwitches join them. A GPU that fell off the bus must
 * fail the host, not change its SKU, so a host that is short of GPUs belongs to the
 * smallest board that they fit on: sku_better(). Counts are expectations.
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
 * Every number carries where it comes from. Pure: JSON in.
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

/* What one of the params of a sample must be: one of these texts, or a number in this range. */
struct sku_param {
	char *name;
	char **texts; /* globs, NULL-terminated; NULL: a number */
	double min, max;
};

struct sku_expect {
	char *check;		  /* glob */
	char **localities;	  /* globs, one must match; or NULL: any */
	char *subject;		  /* glob, or NULL: any */
	struct sku_param *params; /* of which none may be otherwise in a sample that has it */
	size_t n_params;
	double value; /* expected; NAN when only a floor is known */
	double floor; /* held against; for better=lower a ceiling; NAN with `of` */
	double part;  /* of the number in the params named `of`, in place of a floor; or NAN */
	char *of;
	char *unit;
	char *source; /* document, tool or measurement it comes from */
};

enum sku_virtual { SKU_ANY, SKU_BARE, SKU_VIRTUAL };

struct sku {
	char *name;
	char *product, *cpu; /* globs, or NULL: any */
	char **gpus, **nics; /* PCI ids "vendor:device" in hex, NULL-terminated; or NULL */
	char **switches;     /* the same of NVSwitches */
	uint64_t *counts;    /* GPUs of the boards that it is about, 0-terminated; or NULL */
	int is_virtual;	     /* enum sku_virtual */
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
	char **switches;     /* the same of NVSwitches; or NULL */
	uint64_t n_gpus;
	bool is_virtual; /* a guest: it may have been given a part of a board */
};

void sku_release(struct sku *s);
int sku_decode(const struct jval *v, struct sku *ret, struct err *err);

/*
 * Does the file describe a host of these models? Lists match when they share an id. The number of
 * GPUs must be one of `gpus`, or fewer where whole boards are to be expected: outside of virtual
 * machines, and wherever the NVSwitches of the board are seen.
 */
bool sku_matches(const struct sku *s, const struct sku_models *m);

/* The same of its kinds of GPU and NIC alone: what a host keeps that lost some of them. */
bool sku_matches_kinds(const struct sku *s, const struct sku_models *m);

/*
 * Of two files that match: is `s` about the host rather than `other`? Who asks for more kinds of
 * model (product, cpu, gpu, nic); then whose board has just as many GPUs; then who asks for more of
 * the board; then the smaller board.
 */
bool sku_better(const struct sku *s, const struct sku *other, const struct sku_models *m);

/* Canonical text of the models: what is pinned in $STATE/sku. Without counts. New memory. */
char *sku_models_text(const struct sku_models *m);
void sku_models_release(struct sku_models *m);

/*
 * The first expectation for a sample (its check, class, subject and params count), or NULL. What
 * was measured under confidential computing or on an instance of MIG (params cc, mig) is only held
 * to rows whose params say so.
 * Inventory is looked up the same way. `ret_floor` is what it is held against, of `part` too.
 */
const struct sku_expect *sku_expectation(const struct sku *s, const struct sample *sample,
					 double *ret_floor);
bool sku_expects_probe(const struct sku *s, const char *probe);
