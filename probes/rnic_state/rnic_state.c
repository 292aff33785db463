/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/rnic_state.h"

#include <stdarg.h>

const struct probe_check rnic_checks[] = {
	{ "rnic.lost", "1", BETTER_NONE, "An RDMA port that was present in an earlier run." },
	{ "rnic.port", "1", BETTER_NONE, "A port that is not active." },
	{ "rnic.rate", "B/s", BETTER_HIGHER,
	  "A link slower than before, or than the port supports." },
	{ "rnic.counters", "1", BETTER_NONE, "Counters that can no longer be read." },
	{ "rnic.link_downs", "1", BETTER_NONE, "A link that goes down and comes back." },
	{ "rnic.symbol_errors", "1", BETTER_NONE, "A cable or module with bit errors." },
	{ "rnic.retransmits", "1", BETTER_NONE, "Loss in the network." },
	{ "rnic.out_of_sequence", "1", BETTER_NONE, "Loss or reordering in the network." },
	{ "rnic.congestion", "1", BETTER_NONE, "Congestion marks and notifications." },
	{ "rnic.pauses", "1", BETTER_NONE, "PFC: which side paused the other." },
	{ "rnic.pause_time", "s", BETTER_NONE, "PFC: for how long." },
	{ "rnic.discards", "1", BETTER_NONE, "Packets dropped." },
	{ "rnic.queue_errors", "1", BETTER_NONE, "Queue pairs that gave up or waited." },
	{ "rnic.host_side", "1", BETTER_NONE, "A PCIe link or host too slow for the RNIC." },
	{ "rnic.module", "1", BETTER_NONE, "A module or cable that misbehaves." },
	{ "rnic.fec", "1", BETTER_NONE, "Symbol errors that remain after correction." },
	{ "rnic.pfc", "1", BETTER_NONE, "PFC on different priorities than on the other ports." },
	{ "rnic.trust", "1", BETTER_NONE,
	  "Priorities taken from DSCP or PCP, unlike the other ports." },
	{ "rnic.ecn", "1", BETTER_NONE,
	  "ECN off, or on for different priorities than on the other ports." },
	{ "rnic.ecn_answered", "1", BETTER_NONE, "Congestion marks that nobody responds to." },
	{ "rnic.dcqcn", "1", BETTER_NONE,
	  "Congestion control set up differently from the other ports." },
	{ "rnic.adaptive_retransmission", "1", BETTER_NONE, "Adaptive retransmission off or on." },
	{ "rnic.traffic_class", "1", BETTER_NONE,
	  "A traffic class that differs from the other ports'." },
	{ "rnic.cm_tos", "1", BETTER_NONE, "A type of service that differs from the other ports'." },
	{ "rnic.mtu", "1", BETTER_NONE, "RDMA packets smaller than they could be." },
	{ "rnic.firmware", "1", BETTER_NONE, "Firmware that differs from the other ports'." },
	{ "rnic.driver", "1", BETTER_NONE, "A driver that differs from the other ports'." },
	{ "rnic.correction", "1", BETTER_NONE,
	  "Error correction that differs from the other ports'." },
	{ "rnic.neighbor", "1", BETTER_NONE, "The switch port at the other end of the cable." },
	{ "rnic.module_type", "1", BETTER_NONE,
	  "A module or cable that differs from the other ports'." },
	{ "rnic.module_temperature", "1", BETTER_NONE, "A module that is too hot (C)." },
	{ "rnic.module_voltage", "1", BETTER_NONE, "A module with a bad supply voltage (V)." },
	{ "rnic.rx_power", "1", BETTER_NONE, "A lane that receives too little light (dBm)." },
	{ "rnic.tx_power", "1", BETTER_NONE, "A lane that sends too little light (dBm)." },
	{ "rnic.tx_bias", "1", BETTER_NONE, "An ageing laser (mA)." },
	{ "rnic.lanes", "1", BETTER_NONE, "Lanes without light, clock or laser." },
	{ "rnic.global_pause", "1", BETTER_NONE, "Global pause instead of PFC." },
};
const size_t rnic_n_checks = ARRAY_SIZE(rnic_checks);

int rnic_emit(struct rnic_state *state, struct sample *s, enum finding finding,
	      const char *note_fmt, ...)
{
	va_list args;

	va_start(args, note_fmt);
	finding_fill(state->desc, s, finding, note_fmt, args);
	va_end(args);
	return state->emit(state->emit_context, s);
}
