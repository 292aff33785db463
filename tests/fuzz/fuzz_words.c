/* SPDX-License-Identifier: Apache-2.0 */
/* Short strings in larger inputs: timestamps, durations, names, PCI addresses and link speeds. */
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/link_words.h"
#include "lib/report/node_name.h"
#include "lib/topology/topology_pci.h"
#include "tests/fuzz/fuzz.h"

static void check_stamp(const char *text)
{
	char again[CLOCK_STAMP_SIZE];
	uint64_t us, same;

	if (clock_parse_stamp(text, &us) < 0)
		return;
	clock_stamp(us, again);
	FUZZ_CHECK(clock_parse_stamp(again, &same) == 0 && same / USEC_PER_SEC == us / USEC_PER_SEC);
}

static void check_duration(const char *text)
{
	char again[CLOCK_DURATION_SIZE];
	struct err err = ERR_INIT;
	uint64_t us, same;
	int r = duration_parse(text, &us, &err);

	if (r < 0) {
		fuzz_refused(r, &err);
		return;
	}
	duration_format(us, again);
	FUZZ_CHECK(duration_parse(again, &same, &err) == 0 && same == us);
}

static void check_port(const char *text)
{
	size_t i;

	for (i = 0; i < PORT_FILES; i++) {
		struct port port = { 0 };

		port_set(&port, i, text);
		FUZZ_CHECK(port.gts >= 0 && port.gts < 1e3 && port.max_gts >= 0 &&
			   port.max_gts < 1e3);
		FUZZ_CHECK(port.width <= 64 && port.max_width <= 64);
	}
}

/* Ids of links come from reports, and their names go to terminals and tickets. */
static void check_link(const char *text)
{
	static const double ratios[] = { 0, 0.13, 0.25, 0.5, 0.9, 1 };
	CLEANUP(freep) char *name = link_name(text);
	size_t i;

	FUZZ_CHECK(name && !strpbrk(name, "\n\r\033"));
	for (i = 0; i < ARRAY_SIZE(ratios); i++)
		FUZZ_CHECK(link_hint(text, ratios[i]) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = fuzz_text(data, size);

	check_stamp(text);
	check_duration(text);
	check_port(text);
	check_link(text);
	if (node_name_ok(text))
		FUZZ_CHECK(strlen(text) <= NODE_NAME_MAX && !strpbrk(text, "/ \t\n\"'\\"));
	return 0;
}
