/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between rnic-pair probes, with their header. */
#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/oob_wire.h"
#include "probes/rnic_pair/pair_message.h"
#include "tests/fuzz/fuzz.h"

static void check_offer(const struct pair_offer *offer)
{
	size_t i;

	FUZZ_CHECK(offer->n >= 1 && offer->n <= FLOW_QUEUES_MAX);
	FUZZ_CHECK(offer->layer == RDMA_ETHERNET || offer->layer == RDMA_INFINIBAND);
	for (i = 0; i < offer->n; i++) {
		FUZZ_CHECK(offer->ends[i].number <= 0xffffff && offer->ends[i].psn <= 0xffffff);
		FUZZ_CHECK(offer->ends[i].mtu >= 256 && offer->ends[i].mtu <= 4096);
	}
}

/* Within bounds for any input, and the same after writing and reading it. */
static void check_message(const struct pair_message *m)
{
	CLEANUP(freep) char *line = pair_message_encode(m);
	CLEANUP(freep) char *again = NULL;
	CLEANUP(pair_message_release) struct pair_message read = pair_message_init(PAIR_BYE);
	size_t i;

	FUZZ_CHECK(m->kind >= 0 && m->kind < PAIR_KINDS);
	FUZZ_CHECK(m->n_rails <= PAIR_PORTS_MAX && m->rail < PAIR_PORTS_MAX);
	FUZZ_CHECK(m->n_samples <= ARRAY_SIZE(m->samples));
	FUZZ_CHECK(!m->note || strlen(m->note) < PAIR_NOTE_SIZE);
	for (i = 0; i < m->n_rails; i++)
		FUZZ_CHECK(m->rails[i].device[0] && m->rails[i].port >= 1);
	if (m->kind == PAIR_HELLO)
		FUZZ_CHECK(m->node && m->size >= 8 && m->qps >= 1 && m->depth >= 1);
	if (m->kind == PAIR_OPEN || m->kind == PAIR_OFFER)
		check_offer(&m->offer);
	FUZZ_CHECK(pair_message_decode(line, strlen(line), &read, NULL) == 0);
	again = pair_message_encode(&read);
	FUZZ_CHECK(streq(line, again));
}

static void check_header(const uint8_t *data)
{
	size_t length = 0;
	int r = oob_header_length(data, &length);

	FUZZ_CHECK(r == -EMSGSIZE || (r == 0 && length <= OOB_BODY_MAX));
}

static void check_greeting(const uint8_t *data)
{
	struct oob_greeting greeting;
	struct err err = ERR_INIT;
	int r = oob_greeting_decode(data, &greeting, &err);

	if (r < 0)
		fuzz_refused(r, &err);
	else
		FUZZ_CHECK(greeting.version == OOB_VERSION);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *bytes = fuzz_bytes(data, size);
	struct pair_message m;
	struct err err = ERR_INIT;
	int r = pair_message_decode(bytes, size, &m, &err);

	if (r < 0) {
		fuzz_refused(r, &err);
	} else {
		check_message(&m);
		pair_message_release(&m);
	}
	if (size >= OOB_HEADER_SIZE)
		check_header((const uint8_t *)bytes);
	if (size >= OOB_GREETING_SIZE)
		check_greeting((const uint8_t *)bytes);
	return 0;
}
