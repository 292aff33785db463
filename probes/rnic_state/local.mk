# SPDX-License-Identifier: Apache-2.0
# probes/rnic_state: assay-probe-rnic-state. Included by Makefile.am.
noinst_LIBRARIES += librnic_state.a
librnic_state_a_SOURCES = probes/rnic_state/counter_table.c \
	probes/rnic_state/counter_table.h probes/rnic_state/counters.c probes/rnic_state/dcb.c probes/rnic_state/dcb.h \
	probes/rnic_state/ethtool.c probes/rnic_state/ethtool_ask.c probes/rnic_state/ethtool_ask.h probes/rnic_state/fec.c \
	probes/rnic_state/fec.h probes/rnic_state/fwctl.c probes/rnic_state/fwctl.h probes/rnic_state/links.c probes/rnic_state/lldp.c probes/rnic_state/lldp.h \
	probes/rnic_state/mlx5_register.c probes/rnic_state/mlx5_register.h \
	probes/rnic_state/module.c probes/rnic_state/module.h probes/rnic_state/module_ask.c probes/rnic_state/module_ask.h \
	probes/rnic_state/module_cmis.c probes/rnic_state/module_sff.c probes/rnic_state/netlink.c \
	probes/rnic_state/netlink.h probes/rnic_state/nic.c probes/rnic_state/nic.h probes/rnic_state/optics.c \
	probes/rnic_state/reading.c probes/rnic_state/reading.h probes/rnic_state/rnic_parts.c probes/rnic_state/rnic_parts.h \
	probes/rnic_state/rnic_state.c probes/rnic_state/rnic_state.h \
	probes/rnic_state/settings.c probes/rnic_state/settings.h probes/rnic_state/window.c probes/rnic_state/window.h
probes_PROGRAMS += assay-probe-rnic-state
assay_probe_rnic_state_SOURCES = probes/rnic_state/rnic_main.c
assay_probe_rnic_state_LDADD = librnic_state.a $(PROBE_LIBS)
