# SPDX-License-Identifier: Apache-2.0
# probes/gpu_state: assay-probe-gpu-state. Included by Makefile.am.
noinst_LIBRARIES += libgpu_state.a
libgpu_state_a_SOURCES = probes/gpu_state/gpu_bus.c probes/gpu_state/gpu_c2c.c probes/gpu_state/gpu_c2c.h probes/gpu_state/gpu_counter_table.c \
	probes/gpu_state/gpu_counter_table.h probes/gpu_state/gpu_counters.c probes/gpu_state/gpu_facts.c \
	probes/gpu_state/gpu_links.c probes/gpu_state/gpu_look.c probes/gpu_state/gpu_look.h probes/gpu_state/gpu_presence.c \
	probes/gpu_state/gpu_parts.c probes/gpu_state/gpu_parts.h probes/gpu_state/gpu_read.c probes/gpu_state/gpu_read.h probes/gpu_state/gpu_settings.c probes/gpu_state/gpu_settings.h probes/gpu_state/gpu_state.c probes/gpu_state/gpu_state.h \
	probes/gpu_state/gpu_xids.c
probes_PROGRAMS += assay-probe-gpu-state
assay_probe_gpu_state_SOURCES = probes/gpu_state/gpu_main.c
assay_probe_gpu_state_LDADD = libgpu_state.a libhost_state.a libaccelcuda.a libaccel.a $(PROBE_LIBS)
