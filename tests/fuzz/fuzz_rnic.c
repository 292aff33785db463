/* SPDX-License-Identifier: Apache-2.0 */
/* Input from RNICs, their modules, the kernel and lldpd: EEPROMs, netlink messages, JSON. */
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/rnic_state/dcb.h"
#include "probes/rnic_state/lldp.h"
#include "probes/rnic_state/module_ask.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *text)
{
	FUZZ_CHECK(strnlen(text, MODULE_TEXT_SIZE) < MODULE_TEXT_SIZE);
	for (; *text; text++)
		FUZZ_CHECK(*text >= ' ' && *text <= '~');
}

/* The first byte is a mask of readable parts; the rest fills them as far as it goes. */
static void check_module(const uint8_t *data, size_t size)
{
	struct module_image image = { .there = { false } };
	struct module m;
	unsigned i, k;

	for (i = 0; i < PARTS; i++)
		image.there[i] = size && data[0] >> i & 1;
	if (size > 1)
		memcpy(image.bytes, data + 1, MIN(size - 1, sizeof(image.bytes)));
	if (module_decode(&image, &m) < 0)
		return;
	check_text(m.vendor);
	check_text(m.part);
	check_text(m.serial);
	FUZZ_CHECK(m.n_lanes <= MODULE_LANES_MAX);
	for (i = 0; i < m.n_lanes; i++) {
		for (k = 0; k < MONITORS; k++) {
			const struct module_value *v = &m.lanes[i].monitors[k];

			FUZZ_CHECK(!isinf(v->value));
			FUZZ_CHECK(module_beyond(v, &m.limits[k]) < 16);
			FUZZ_CHECK(isfinite(module_dbm(v->value)));
		}
	}
}

static void check_answers(const void *bytes, size_t size)
{
	uint8_t part[MODULE_PART_SIZE];
	uint16_t family = 0;
	struct dcb dcb;
	unsigned n = 0, i;

	if (dcb_decode(bytes, size, &dcb) == 0) {
		for (i = 0; i < DCB_DSCP_MAX; i++)
			n += dcb.priority[i] != DCB_NO_PRIORITY;
		FUZZ_CHECK(n == dcb.n_dscp);
	}
	FUZZ_CHECK(family_answer(bytes, size, &family) <= 0);
	FUZZ_CHECK(module_answer(bytes, size, 0x14, part) <= 0);
}

static void check_neighbors(const char *text, size_t size)
{
	struct lldp_neighbor all[4];
	size_t n = lldp_decode(text, size, all, ARRAY_SIZE(all)), i;
	const char *at;

	FUZZ_CHECK(n <= ARRAY_SIZE(all));
	for (i = 0; i < n; i++) {
		FUZZ_CHECK(all[i].netdev[0] && strnlen(all[i].netdev, IF_NAMESIZE) < IF_NAMESIZE);
		FUZZ_CHECK(all[i].chassis[0] && all[i].port[0]);
		for (at = all[i].chassis; *at; at++)
			FUZZ_CHECK(*at >= ' ' && *at <= '~');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) void *bytes = fuzz_bytes(data, size);

	check_module(data, size);
	check_answers(bytes, size);
	check_neighbors(bytes, size);
	return 0;
}
