/* SPDX-License-Identifier: Apache-2.0 */
/* The SKU files of policies/sku, and which of them matches a host. */
#pragma once

#include "lib/judge/sku.h"
#include "lib/report/report.h"

enum { SKU_TEST_ID = 16 /* bytes of "10de:2330", and more */ };

/* The parts of a host, which determine the file that matches it. */
struct sku_host {
	const char *name, *sku; /* for messages; SKU of the file that must match */
	char gpu[SKU_TEST_ID], nic[SKU_TEST_ID], nvswitch[SKU_TEST_ID]; /* PCI ids; "": none */
	uint64_t gpus;
	bool is_virtual;
	const char *product;
};

/* Reads all files, once. A file that cannot be read is a failed check. */
void sku_files_read(void);
void sku_files_release(void);

/* The number of files, and one of them. Borrowed. */
size_t sku_files_count(void);
const struct sku *sku_files_at(size_t i);

/* Returns the file that matches the host when `gpus` GPUs are visible; NULL if none. Borrowed. */
const struct sku *sku_files_find(const struct sku_host *h, uint64_t gpus);

/* A callback of struct judge_inputs; `context` is the file. */
bool sku_files_expect(void *context, const struct sample *s, double *ret_expected,
		      double *ret_floor);
