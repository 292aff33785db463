/* SPDX-License-Identifier: Apache-2.0 */
/* The SKU files of policies/sku, and which of them is about a host. */
#pragma once

#include "lib/judge/sku.h"
#include "lib/report/report.h"

enum { SKU_TEST_ID = 16 /* bytes of "10de:2330", and more */ };

/* What a host is made of: from it follows which file is about it. */
struct sku_host {
	const char *name, *sku; /* for people; of the file that is about it */
	char gpu[SKU_TEST_ID], nic[SKU_TEST_ID], nvswitch[SKU_TEST_ID]; /* PCI ids; "": none */
	uint64_t gpus;
	bool is_virtual;
	const char *product;
};

/* Read all of them, once. A file that cannot be read is a failed check. */
void sku_files_read(void);
void sku_files_release(void);

/* How many there are, and one of them. Borrowed. */
size_t sku_files_count(void);
const struct sku *sku_files_at(size_t i);

/* The file about such a host that shows `gpus` GPUs; NULL when none is. Borrowed. */
const struct sku *sku_files_find(const struct sku_host *h, uint64_t gpus);

/* For struct judge_inputs: `context` is the file. */
bool sku_files_expect(void *context, const struct sample *s, double *ret_expected,
		      double *ret_floor);
