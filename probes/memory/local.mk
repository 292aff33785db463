# SPDX-License-Identifier: Apache-2.0
# probes/memory: assay-probe-memory. Included by Makefile.am.
noinst_LIBRARIES += libmemory.a
libmemory_a_SOURCES = probes/memory/buffer.c probes/memory/buffer.h probes/memory/cell.c probes/memory/cell.h \
	probes/memory/cgroup.c probes/memory/cgroup.h probes/memory/contention.c probes/memory/contention.h \
	probes/memory/kernels.c probes/memory/kernels.h probes/memory/kernels.inc probes/memory/numa.c probes/memory/numa.h \
	probes/memory/pattern.c probes/memory/pattern.h probes/memory/plan.c probes/memory/plan.h \
	probes/memory/rate.c probes/memory/rate.h probes/memory/ready.c probes/memory/ready.h probes/memory/session.c \
	probes/memory/session.h probes/memory/sizing.c probes/memory/sizing.h probes/memory/team.c probes/memory/team.h \
	probes/memory/verify.c probes/memory/verify.h
probes_PROGRAMS += assay-probe-memory
assay_probe_memory_SOURCES = probes/memory/gpu_main.c probes/memory/gpu_main.h probes/memory/memory_main.c
assay_probe_memory_LDADD = libmemorygpu.a libmemory.a libaccelcuda.a libaccel.a $(TOPOLOGY_LIBS) $(PROBE_LIBS)

# Independent of engines.
noinst_LIBRARIES += libmemorygpu.a
libmemorygpu_a_SOURCES = probes/memory/gpu.h probes/memory/gpu_copy.c probes/memory/gpu_copy.h \
	probes/memory/gpu_device.c probes/memory/gpu_device.h probes/memory/gpu_latency.c probes/memory/gpu_latency.h probes/memory/gpu_link.c probes/memory/gpu_link.h probes/memory/gpu_pattern.c \
	probes/memory/gpu_pattern.h probes/memory/gpu_run.c probes/memory/gpu_run.h probes/memory/gpu_sample.c probes/memory/gpu_sample.h
