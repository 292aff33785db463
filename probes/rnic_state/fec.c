/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/fec.h"

#include <math.h>

#include "lib/base/xalloc.h"
#include "probes/rnic_state/nic.h"
#include "probes/rnic_state/rnic_state.h"

/* The bit error ratio after correction that IEEE 802.3 requires. */
#define POST_FEC_WARN 1e-12
/* With this many bits, a single wrong symbol is below that ratio. */
#define BITS_ENOUGH 3e12

/* Growth of one counter, NAN if it was not read before. False if the NIC does not have it. */
static bool take(struct rnic_state *state, const struct port *port, const struct nic_stats *stats,
		 const char *name, double *ret)
{
	CLEANUP(freep) char *key = xasprintf("%s/fec/%s", port->subject, name);
	bool known = json_is_integer(json_object_get(state->counters.past, key));
	uint64_t growth;
	size_t i;

	for (i = 0; i < stats->n && !streq(stats->names[i], name); i++)
		;
	if (i == stats->n)
		return false;
	growth = counters_take(&state->counters, key, stats->values[i], 64);
	*ret = known ? (double)growth : NAN;
	return true;
}

int rnic_fec(struct rnic_state *state, const struct port *port, const struct nic_stats *stats)
{
	double bits = 0, corrected = 0, wrong = 0;
	bool has_bits = take(state, port, stats, "rx_bits_phy", &bits);
	bool has_corrected = take(state, port, stats, "rx_corrected_bits_phy", &corrected);
	bool has_wrong = take(state, port, stats, "rx_pcs_symbol_err_phy", &wrong);
	struct sample s;

	if (!has_bits || (!has_corrected && !has_wrong))
		return 0;
	/* With too few bits, or at the first reading, there is no rate. */
	if (!(bits >= BITS_ENOUGH) || isnan(corrected) || isnan(wrong))
		return 0;
	s = finding_sample("rnic.fec", port->subject, wrong / bits);
	if (wrong / bits <= POST_FEC_WARN)
		return rnic_emit(
			state, &s, FINDING_GOOD,
			"%.2g of the bits were corrected, %.2g symbol errors per bit remained",
			corrected / bits, wrong / bits);
	s.code = xstrdup("post-fec-errors");
	return rnic_emit(
		state, &s, FINDING_WARN,
		"%.2g symbol errors per bit remained after correction, more than %g; %.2g of "
		"the bits were corrected: clean or replace the cable or the module",
		wrong / bits, POST_FEC_WARN, corrected / bits);
}
