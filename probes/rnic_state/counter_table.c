/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/counter_table.h"

const char *const counter_place_names[PLACES] = {
	[PLACE_PORT] = "counters",
	[PLACE_HW] = "hw_counters",
	[PLACE_NETDEV] = "netdev",
	[PLACE_ETHTOOL] = "ethtool",
};

#define SECOND 1.0
#define MINUTE 60.0
#define HOUR 3600.0

#define ANY .limit = 0, .within_s = 0
#define MORE_THAN(count, seconds) .limit = (count), .within_s = (seconds)

/* Sources of the rules. */
#define NVSENTINEL "NVSentinel's defaults"
#define AZURE "AzNHC and resiliency-ext: any link down"
#define MLX5 "kernel, Documentation/.../mlx5/counters.rst"
#define PROPOSED "proposal"
#define IBTA "InfiniBand Architecture Specification, PortCounters"

#define LINK_DOWNS "rnic.link_downs"
#define SYMBOLS "rnic.symbol_errors"
#define RETRANSMITS "rnic.retransmits"
#define SEQUENCE "rnic.out_of_sequence"
#define CONGESTION "rnic.congestion"
#define PAUSES "rnic.pauses"
#define PAUSE_TIME "rnic.pause_time"
#define DISCARDS "rnic.discards"
#define QUEUES "rnic.queue_errors"
#define HOST_SIDE "rnic.host_side"
#define MODULE "rnic.module"

/* One line per row, as a table. */
/* clang-format off */
const struct counter_row counter_rows[] = {
	/* --- the link went down: a flap is a warning, not a failure */
	{ LINK_DOWNS, PLACE_PORT, "link_downed", 8, FINDING_WARN, ANY, "the link went down", AZURE },
	{ LINK_DOWNS, PLACE_HW, "link_downed", 64, FINDING_WARN, ANY, "the link went down", AZURE },
	{ LINK_DOWNS, PLACE_NETDEV, "carrier_down_count", 32, FINDING_WARN, ANY, "the link went down", AZURE },
	{ LINK_DOWNS, PLACE_ETHTOOL, "link_down_events_phy", 64, FINDING_WARN, ANY, "the link went down", AZURE },

	/* --- bit errors */
	{ SYMBOLS, PLACE_PORT, "symbol_error", 16, FINDING_WARN, MORE_THAN(120, HOUR), "bit errors on the wire: clean or replace the cable", NVSENTINEL },
	{ SYMBOLS, PLACE_PORT, "link_error_recovery", 8, FINDING_WARN, MORE_THAN(5, MINUTE), "the link retrained: clean or replace the cable", NVSENTINEL },
	{ SYMBOLS, PLACE_PORT, "local_link_integrity_errors", 4, FINDING_WARN, ANY, "bit errors on the wire: clean or replace the cable", NVSENTINEL },
	{ SYMBOLS, PLACE_PORT, "excessive_buffer_overrun_errors", 4, FINDING_WARN, ANY, "flow control failed on the link", NVSENTINEL },
	{ SYMBOLS, PLACE_PORT, "port_rcv_errors", 16, FINDING_WARN, MORE_THAN(10, SECOND), "packets arrive corrupted: clean or replace the cable", NVSENTINEL },
	{ SYMBOLS, PLACE_PORT, "port_rcv_remote_physical_errors", 16, FINDING_INFO, ANY, "packets were corrupted before the last switch: check further away", IBTA },
	{ SYMBOLS, PLACE_HW, "rx_icrc_encapsulated", 32, FINDING_WARN, ANY, "RoCE packets were corrupted on the way", PROPOSED },
	{ SYMBOLS, PLACE_NETDEV, "rx_crc_errors", 64, FINDING_WARN, MORE_THAN(10, SECOND), "frames arrive corrupted: clean or replace the cable", PROPOSED },
	{ SYMBOLS, PLACE_ETHTOOL, "rx_crc_errors_phy", 64, FINDING_WARN, MORE_THAN(10, SECOND), "frames arrive corrupted: clean or replace the cable", PROPOSED },
	{ SYMBOLS, PLACE_ETHTOOL, "rx_symbol_err_phy", 64, FINDING_WARN, MORE_THAN(120, HOUR), "bit errors on the wire: clean or replace the cable", NVSENTINEL },
	/* Raw errors of a PAM4 lane are normal: rnic.fec judges their rate. */
	{ SYMBOLS, PLACE_ETHTOOL, "rx_err_lane_#_phy", 64, FINDING_NOTE, ANY, "per lane before correction", MLX5 },

	/* --- retransmissions */
	{ RETRANSMITS, PLACE_HW, "packet_seq_err", 32, FINDING_NOTE, ANY, "packets were lost or out of order, and retransmitted", MLX5 },
	{ RETRANSMITS, PLACE_HW, "implied_nak_seq_err", 32, FINDING_NOTE, ANY, "packets were lost and retransmitted", MLX5 },
	{ RETRANSMITS, PLACE_HW, "duplicate_request", 32, FINDING_NOTE, ANY, "a peer retransmitted what had already arrived: loss on the way back", MLX5 },
	{ RETRANSMITS, PLACE_HW, "local_ack_timeout_err", 32, FINDING_WARN, MORE_THAN(1, SECOND), "acknowledgements are missing: loss, or a peer that ended", NVSENTINEL },
	{ RETRANSMITS, PLACE_HW, "roce_adp_retrans", 32, FINDING_NOTE, ANY, "packets were lost and retransmitted", MLX5 },
	{ RETRANSMITS, PLACE_HW, "roce_adp_retrans_to", 32, FINDING_NOTE, ANY, "packets were lost and retransmitted after a timeout", MLX5 },
	{ RETRANSMITS, PLACE_HW, "roce_slow_restart", 32, FINDING_WARN, MORE_THAN(10, SECOND), "flows ramp up slowly after losses", NVSENTINEL },
	{ RETRANSMITS, PLACE_HW, "roce_slow_restart_cnps", 32, FINDING_NOTE, ANY, "flows ramp up slowly after losses", MLX5 },
	{ RETRANSMITS, PLACE_HW, "roce_slow_restart_trans", 32, FINDING_NOTE, ANY, "flows ramp up slowly after losses", MLX5 },
	{ RETRANSMITS, PLACE_HW, "completer_retry_err", 64, FINDING_NOTE, ANY, "packets were lost and retransmitted (Soft-RoCE)", PROPOSED },

	/* --- out of order: loss, or adaptive routing */
	{ SEQUENCE, PLACE_HW, "out_of_sequence", 32, FINDING_NOTE, ANY, "packets came out of order: loss, or adaptive routing", MLX5 },
	{ SEQUENCE, PLACE_HW, "rcvd_seq_err", 64, FINDING_NOTE, ANY, "packets came out of order (Soft-RoCE)", PROPOSED },
	{ SEQUENCE, PLACE_HW, "out_of_seq_request", 64, FINDING_NOTE, ANY, "packets came out of order (Soft-RoCE)", PROPOSED },

	/* --- congestion: compared with other ports of the rail, not judged */
	{ CONGESTION, PLACE_HW, "np_ecn_marked_roce_packets", 32, FINDING_NOTE, ANY, "packets to this port were marked for congestion", MLX5 },
	{ CONGESTION, PLACE_HW, "np_cnp_sent", 32, FINDING_NOTE, ANY, "senders to this port were told to slow down", MLX5 },
	{ CONGESTION, PLACE_HW, "rp_cnp_handled", 32, FINDING_NOTE, ANY, "flows of this port were slowed down", MLX5 },
	{ CONGESTION, PLACE_HW, "rp_cnp_ignored", 32, FINDING_WARN, ANY, "this port was told to slow down but did not: ECN is off at the "
"sender (roce_rp)", MLX5 },
	{ CONGESTION, PLACE_HW, "cc_rx_ce_pkts", 64, FINDING_NOTE, ANY, "packets to this port were marked for congestion", MLX5 },
	{ CONGESTION, PLACE_HW, "cc_rx_cnp_pkts", 64, FINDING_NOTE, ANY, "flows of this port were slowed down", MLX5 },
	{ CONGESTION, PLACE_HW, "cc_tx_cnp_pkts", 64, FINDING_NOTE, ANY, "senders to this port were told to slow down", MLX5 },
	{ CONGESTION, PLACE_PORT, "port_xmit_wait", 32, FINDING_NOTE, ANY, "the port had data to send but no credits", IBTA },

	/* --- pauses */
	{ PAUSES, PLACE_ETHTOOL, "rx_prio#_pause", 64, FINDING_NOTE, ANY, "the network paused this port", MLX5 },
	{ PAUSES, PLACE_ETHTOOL, "tx_prio#_pause", 64, FINDING_NOTE, ANY, "this host is too slow to receive and paused the network", MLX5 },
	{ PAUSES, PLACE_ETHTOOL, "rx_pause_ctrl_phy", 64, FINDING_NOTE, ANY, "the network paused this port", MLX5 },
	{ PAUSES, PLACE_ETHTOOL, "tx_pause_ctrl_phy", 64, FINDING_NOTE, ANY, "this host is too slow to receive and paused the network", MLX5 },
	{ PAUSES, PLACE_ETHTOOL, "tx_pause_storm_warning_events", 64, FINDING_WARN, ANY, "this host paused the network for a long time: check its PCIe links "
"and memory", MLX5 },
	{ PAUSES, PLACE_ETHTOOL, "tx_pause_storm_error_events", 64, FINDING_WARN, ANY, "this host paused the network for so long that the firmware cut it off", MLX5 },
	/* Microseconds: more than 1 % of the time. */
	{ PAUSE_TIME, PLACE_ETHTOOL, "rx_prio#_pause_duration", 64, FINDING_WARN, MORE_THAN(10000, SECOND), "the network paused this port (microseconds)", PROPOSED },
	{ PAUSE_TIME, PLACE_ETHTOOL, "tx_prio#_pause_duration", 64, FINDING_WARN, MORE_THAN(10000, SECOND), "this host paused the network (microseconds): check its PCIe links "
"and memory", PROPOSED },

	/* --- discards */
	{ DISCARDS, PLACE_PORT, "port_xmit_discards", 16, FINDING_WARN, MORE_THAN(100, SECOND), "packets were dropped before they were sent", NVSENTINEL },
	{ DISCARDS, PLACE_PORT, "VL15_dropped", 16, FINDING_NOTE, ANY, "management packets were dropped", IBTA },
	{ DISCARDS, PLACE_PORT, "port_rcv_switch_relay_errors", 16, FINDING_NOTE, ANY, "a switch could not forward packets", IBTA },
	{ DISCARDS, PLACE_PORT, "port_xmit_constraint_errors", 8, FINDING_INFO, ANY, "packets were rejected by partition or address", IBTA },
	{ DISCARDS, PLACE_PORT, "port_rcv_constraint_errors", 8, FINDING_INFO, ANY, "packets were rejected by partition or address", IBTA },
	{ DISCARDS, PLACE_ETHTOOL, "rx_discards_phy", 64, FINDING_WARN, MORE_THAN(100, SECOND), "packets were dropped for lack of buffers in the RNIC", NVSENTINEL },
	{ DISCARDS, PLACE_ETHTOOL, "tx_discards_phy", 64, FINDING_WARN, MORE_THAN(100, SECOND), "packets were dropped before they were sent", NVSENTINEL },
	{ DISCARDS, PLACE_ETHTOOL, "rx_prio#_discards", 64, FINDING_WARN, MORE_THAN(100, SECOND), "packets of a priority were dropped", NVSENTINEL },
	{ DISCARDS, PLACE_ETHTOOL, "rx_prio#_buf_discard", 64, FINDING_WARN, MORE_THAN(100, SECOND), "packets of a priority were dropped for lack of buffers", NVSENTINEL },
	{ DISCARDS, PLACE_ETHTOOL, "rx_prio#_cong_discard", 64, FINDING_WARN, MORE_THAN(100, SECOND), "packets of a priority were dropped in congestion", NVSENTINEL },
	{ DISCARDS, PLACE_ETHTOOL, "rx_prio#_marked", 64, FINDING_NOTE, ANY, "packets of a priority were marked in congestion", MLX5 },

	/* --- queue pair errors: mostly caused by jobs, not by the link */
	{ QUEUES, PLACE_HW, "rnr_nak_retry_err", 32, FINDING_WARN, ANY, "a receiver was not ready", NVSENTINEL },
	{ QUEUES, PLACE_HW, "out_of_buffer", 32, FINDING_NOTE, ANY, "a receiver had no buffers posted", MLX5 },
	{ QUEUES, PLACE_HW, "req_transport_retries_exceeded", 32, FINDING_WARN, ANY, "queue pairs gave up after all retries: loss, or a peer that ended", MLX5 },
	{ QUEUES, PLACE_HW, "req_rnr_retries_exceeded", 32, FINDING_WARN, ANY, "queue pairs gave up: a receiver was never ready", MLX5 },
	{ QUEUES, PLACE_HW, "retry_exceeded_err", 64, FINDING_WARN, ANY, "queue pairs gave up after all retries: loss, or a peer that ended", PROPOSED },
	{ QUEUES, PLACE_HW, "retry_rnr_exceeded_err", 64, FINDING_WARN, ANY, "queue pairs gave up: a receiver was never ready", PROPOSED },
	{ QUEUES, PLACE_HW, "rcvd_rnr_err", 64, FINDING_NOTE, ANY, "a receiver was not ready (Soft-RoCE)", PROPOSED },
	{ QUEUES, PLACE_HW, "send_rnr_err", 64, FINDING_NOTE, ANY, "this receiver was not ready (Soft-RoCE)", PROPOSED },
	{ QUEUES, PLACE_HW, "send_err", 64, FINDING_NOTE, ANY, "sends failed (Soft-RoCE)", PROPOSED },
	{ QUEUES, PLACE_HW, "resp_local_length_error", 32, FINDING_NOTE, ANY, "a job's error", MLX5 },
	{ QUEUES, PLACE_HW, "resp_cqe_error", 32, FINDING_NOTE, ANY, "an error in a job, or the end of one", MLX5 },
	{ QUEUES, PLACE_HW, "req_cqe_error", 32, FINDING_NOTE, ANY, "an error in a job, or the end of one", MLX5 },
	{ QUEUES, PLACE_HW, "req_remote_invalid_request", 32, FINDING_NOTE, ANY, "a job's error", MLX5 },
	{ QUEUES, PLACE_HW, "req_remote_access_errors", 32, FINDING_NOTE, ANY, "a job's error", MLX5 },
	{ QUEUES, PLACE_HW, "resp_remote_access_errors", 32, FINDING_NOTE, ANY, "a job's error", MLX5 },

	/* --- the other side of the RNIC: PCIe and the host */
	{ HOST_SIDE, PLACE_ETHTOOL, "rx_pci_signal_integrity", 64, FINDING_WARN, MORE_THAN(60, HOUR), "errors on the PCIe link: reseat the card, check the riser", PROPOSED },
	{ HOST_SIDE, PLACE_ETHTOOL, "tx_pci_signal_integrity", 64, FINDING_WARN, MORE_THAN(60, HOUR), "errors on the PCIe link: reseat the card, check the riser", PROPOSED },
	{ HOST_SIDE, PLACE_ETHTOOL, "outbound_pci_stalled_rd_events", 64, FINDING_NOTE, ANY, "reads from the host waited for PCIe credits", MLX5 },
	{ HOST_SIDE, PLACE_ETHTOOL, "outbound_pci_stalled_wr_events", 64, FINDING_NOTE, ANY, "writes to the host waited for PCIe credits", MLX5 },
	{ HOST_SIDE, PLACE_ETHTOOL, "outbound_pci_buffer_overflow", 64, FINDING_WARN, ANY, "packets were lost because PCIe was too slow", PROPOSED },
	{ HOST_SIDE, PLACE_ETHTOOL, "dev_internal_queue_oob", 64, FINDING_WARN, ANY, "a queue inside the RNIC overflowed", PROPOSED },
	{ HOST_SIDE, PLACE_ETHTOOL, "rx_buffer_passed_thres_phy", 64, FINDING_NOTE, ANY, "the RNIC's buffer filled up: the host receives too slowly", MLX5 },

	/* --- the module in the cage */
	{ MODULE, PLACE_ETHTOOL, "module_bus_stuck", 64, FINDING_WARN, ANY, "the module does not answer: reseat it", MLX5 },
	{ MODULE, PLACE_ETHTOOL, "module_high_temp", 64, FINDING_WARN, ANY, "the module was too hot", MLX5 },
	{ MODULE, PLACE_ETHTOOL, "module_bad_shorted", 64, FINDING_WARN, ANY, "the cable is shorted: replace it", MLX5 },
	{ MODULE, PLACE_ETHTOOL, "module_unplug", 64, FINDING_WARN, ANY, "the module was removed", MLX5 },
};
/* clang-format on */
const size_t n_counter_rows = ARRAY_SIZE(counter_rows);

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool counter_fits(const char *pattern, const char *name)
{
	for (; *pattern; pattern++) {
		if (*pattern != '#') {
			if (*pattern != *name++)
				return false;
			continue;
		}
		if (!is_digit(*name++))
			return false;
		name += is_digit(*name);
	}
	return *name == '\0';
}

const struct counter_row *counter_find(enum counter_place place, const char *name)
{
	size_t i;

	for (i = 0; i < n_counter_rows; i++) {
		if (counter_rows[i].place == place && counter_fits(counter_rows[i].name, name))
			return &counter_rows[i];
	}
	return NULL;
}
