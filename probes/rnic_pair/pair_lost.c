/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_lost.h"

#include <fcntl.h>

#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "probes/rnic_pair/pair_side.h"

static const char *const names[PAIR_LOST_COUNTERS] = {
	/* mlx5 */
	"out_of_sequence",
	"packet_seq_err",
	"local_ack_timeout_err",
	"duplicate_request",
	/* rxe, which also has duplicate_request */
	"out_of_seq_request",
	"rcvd_seq_err",
	"completer_retry_err",
	/* bnxt_re */
	"seq_err_naks_rcvd",
	"oos_drop_count",
};

void pair_lost_read(const struct pair_side *side, struct pair_lost *ret)
{
	size_t i;

	*ret = (struct pair_lost){ { 0 } };
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP(freep)
		char *path = xasprintf("%s/sys/class/infiniband/%s/ports/%u/hw_counters/%s",
				       paths_sysroot(), side->port->device, side->port->number,
				       names[i]);
		long long value = 0;

		if (file_read_i64(AT_FDCWD, path, &value) == 0 && value > 0)
			ret->counts[i] = (uint64_t)value;
	}
}

char *pair_lost_words(const struct pair_side *side, const struct pair_lost *before)
{
	struct pair_lost now;
	uint64_t most = 0;
	size_t i, which = 0;

	pair_lost_read(side, &now);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t rose =
			now.counts[i] > before->counts[i] ? now.counts[i] - before->counts[i] : 0;

		if (rose > most) {
			most = rose;
			which = i;
		}
	}
	if (most == 0)
		return NULL;
	return xasprintf("%s counted %llu %s", side->port->device, (unsigned long long)most,
			 names[which]);
}
