/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/rnic_state.h"

#include <stdarg.h>

const struct probe_check rnic_checks[] = {
	{ "rnic.lost", "1", BETTER_NONE, "An RDMA port that was there at an earlier run." },
	{ "rnic.port", "1", BETTER_NONE, "A port that is not active." },
	{ "rnic.rate", "B/s", BETTER_HIGHER, "A link slower than it was or than the port can." },
	{ "rnic.counters", "1", BETTER_NONE, "Counters that cannot be read any more." },
	{ "rnic.link_downs", "1", BETTER_NONE, "A link that goes down and comes back." },
	{ "rnic.symbol_errors", "1", BETTER_NONE, "A cable or module that breaks bits." },
	{ "rnic.retransmits", "1", BETTER_NONE, "Loss in the network." },
	{ "rnic.out_of_sequence", "1", BETTER_NONE, "Loss or reordering in the network." },
	{ "rnic.congestion", "1", BETTER_NONE, "Marks and notifications of congestion." },
	{ "rnic.pauses", "1", BETTER_NONE, "PFC: who stopped whom." },
	{ "rnic.pause_time", "s", BETTER_NONE, "PFC: for how long." },
	{ "rnic.discards", "1", BETTER_NONE, "Packets thrown away." },
	{ "rnic.queue_errors", "1", BETTER_NONE, "Queue pairs that gave up or waited." },
	{ "rnic.host_side", "1", BETTER_NONE, "A PCIe link or host too slow for the RNIC." },
	{ "rnic.module", "1", BETTER_NONE, "A module or cable that misbehaves." },
	{ "rnic.fec", "1", BETTER_NONE, "Symbols that stay wrong after correction." },
	{ "rnic.pfc", "1", BETTER_NONE, "Other priorities that pause than elsewhere." },
	{ "rnic.trust", "1", BETTER_NONE, "Priorities taken from DSCP or PCP, unlike elsewhere." },
	{ "rnic.ecn", "1", BETTER_NONE, "ECN off, or on for other priorities than elsewhere." },
	{ "rnic.ecn_answered", "1", BETTER_NONE, "Marks of congestion that nobody answers." },
	{ "rnic.dcqcn", "1", BETTER_NONE, "Congestion control set up unlike elsewhere." },
	{ "rnic.adaptive_retransmission", "1", BETTER_NONE, "Adaptive retransmission off or on." },
	{ "rnic.traffic_class", "1", BETTER_NONE, "Another traffic class than elsewhere." },
	{ "rnic.cm_tos", "1", BETTER_NONE, "Another type of service than elsewhere." },
	{ "rnic.mtu", "1", BETTER_NONE, "Packets smaller than RDMA can send." },
	{ "rnic.firmware", "1", BETTER_NONE, "Other firmware than elsewhere." },
	{ "rnic.driver", "1", BETTER_NONE, "Another driver than elsewhere." },
	{ "rnic.correction", "1", BETTER_NONE, "Another error correction than elsewhere." },
	{ "rnic.neighbor", "1", BETTER_NONE, "The switch port that it is plugged into." },
	{ "rnic.module_type", "1", BETTER_NONE, "Another module or cable than elsewhere." },
	{ "rnic.module_temperature", "1", BETTER_NONE, "A module that is too hot (C)." },
	{ "rnic.module_voltage", "1", BETTER_NONE, "A module fed badly (V)." },
	{ "rnic.rx_power", "1", BETTER_NONE, "A lane that receives too little light (dBm)." },
	{ "rnic.tx_power", "1", BETTER_NONE, "A lane that sends too little light (dBm)." },
	{ "rnic.tx_bias", "1", BETTER_NONE, "A laser that ages (mA)." },
	{ "rnic.lanes", "1", BETTER_NONE, "Lanes without light, clock or laser." },
	{ "rnic.global_pause", "1", BETTER_NONE, "Pauses of the whole link in place of PFC." },
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
