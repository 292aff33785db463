# SPDX-License-Identifier: Apache-2.0
# probes/host_state: assay-probe-host-state. Included by Makefile.am.
noinst_LIBRARIES += libhost_state.a
libhost_state_a_SOURCES = probes/host_state/cpu.c probes/host_state/cpu_idle.c probes/host_state/cpu_idle.h probes/host_state/pcie_settings.c probes/host_state/pcie_settings.h probes/host_state/services.c probes/host_state/services.h \
	probes/host_state/host_state.c probes/host_state/host_state.h probes/host_state/inventory.c probes/host_state/iommu.c \
	probes/host_state/iommu_mode.c probes/host_state/iommu_mode.h probes/host_state/kernel_log.c \
	probes/host_state/memory.c probes/host_state/pci.c probes/host_state/pci.h probes/host_state/pcie.c \
	probes/host_state/pcie_aer.c probes/host_state/pcie_aer.h probes/host_state/standing.c probes/host_state/standing.h
probes_PROGRAMS += assay-probe-host-state
assay_probe_host_state_SOURCES = probes/host_state/main.c
assay_probe_host_state_LDADD = libhost_state.a $(PROBE_LIBS)
