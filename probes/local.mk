# SPDX-License-Identifier: Apache-2.0
# Part of Makefile.am: the engines and programs that measure.

# ---- probes/accel and assay-probe-gemm -----------------------------------------
noinst_LIBRARIES += libaccel.a
libaccel_a_SOURCES = probes/accel/accel.c probes/accel/accel.h
if HAVE_CBLAS
noinst_LIBRARIES += libaccelhost.a
libaccelhost_a_SOURCES = \
	probes/accel/host.c probes/accel/host.h probes/accel/host_condition.c \
	probes/accel/host_event.c probes/accel/host_gemm.c probes/accel/host_memory.c \
	probes/accel/host_others.c probes/accel/host_stream.c probes/accel/host_topology.c
libaccelhost_a_CFLAGS = $(AM_CFLAGS) $(CBLAS_CFLAGS)
ACCEL_LIBS = libaccelhost.a libaccel.a $(PROBE_LIBS) $(CBLAS_LIBS)

probes_PROGRAMS += assay-probe-gemm
assay_probe_gemm_SOURCES = probes/gemm/gemm_main.c
assay_probe_gemm_LDADD = libgemm.a $(ACCEL_LIBS)

BENCHES += tests/bench/gemm_plain
tests_bench_gemm_plain_SOURCES = tests/bench/gemm_plain.c
tests_bench_gemm_plain_CFLAGS = $(AM_CFLAGS) $(CBLAS_CFLAGS)
tests_bench_gemm_plain_LDADD = $(CBLAS_LIBS)

UNIT_TESTS += tests/unit/test_accel_host tests/unit/test_accel_host_sys
tests_unit_test_accel_host_sys_LDADD = $(ACCEL_LIBS) $(LDADD)
tests_unit_test_accel_host_LDADD = $(ACCEL_LIBS) $(LDADD)
endif

# The core of the probe knows no engine: built and tested without a BLAS too.
noinst_LIBRARIES += libgemm.a
libgemm_a_SOURCES = \
	probes/gemm/gemm.h probes/gemm/gemm_busy.c probes/gemm/gemm_check.c \
	probes/gemm/gemm_data.c probes/gemm/gemm_rate.c probes/gemm/gemm_run.c \
	probes/gemm/gemm_verify.c
GEMM_FIXTURE = tests/unit/gemm_fixture.c tests/unit/gemm_fixture.h \
	tests/fakes/accel_sim.c tests/fakes/accel_sim.h tests/fakes/accel_sim_inside.h \
	tests/fakes/accel_sim_memory.c tests/unit/random.h
UNIT_TESTS += tests/unit/test_gemm_rate tests/unit/test_gemm_check tests/unit/test_gemm_verify \
	tests/unit/test_accel
tests_unit_test_gemm_rate_SOURCES = tests/unit/test_gemm_rate.c $(GEMM_FIXTURE)
tests_unit_test_gemm_rate_LDADD = libgemm.a libaccel.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_gemm_check_SOURCES = tests/unit/test_gemm_check.c $(GEMM_FIXTURE)
tests_unit_test_gemm_check_LDADD = libgemm.a libaccel.a $(LDADD)
tests_unit_test_gemm_verify_SOURCES = tests/unit/test_gemm_verify.c tests/unit/random.h
tests_unit_test_gemm_verify_LDADD = libgemm.a libaccel.a $(LDADD)
tests_unit_test_accel_LDADD = libaccel.a $(LDADD)


# ---- assay-probe-memory --------------------------------------------------------------
noinst_LIBRARIES += libmemory.a
libmemory_a_SOURCES = \
	probes/memory/buffer.c probes/memory/buffer.h probes/memory/cell.c probes/memory/cell.h \
	probes/memory/cgroup.c probes/memory/cgroup.h probes/memory/contention.c \
	probes/memory/contention.h probes/memory/kernels.c probes/memory/kernels.h \
	probes/memory/kernels.inc probes/memory/numa.c probes/memory/numa.h \
	probes/memory/pattern.c probes/memory/pattern.h probes/memory/plan.c \
	probes/memory/plan.h probes/memory/rate.c probes/memory/rate.h probes/memory/ready.c \
	probes/memory/ready.h probes/memory/session.c probes/memory/session.h \
	probes/memory/sizing.c probes/memory/sizing.h probes/memory/team.c \
	probes/memory/team.h probes/memory/verify.c probes/memory/verify.h
probes_PROGRAMS += assay-probe-memory
assay_probe_memory_SOURCES = probes/memory/memory_main.c
assay_probe_memory_LDADD = libmemory.a $(PROBE_LIBS)

UNIT_TESTS += tests/unit/test_memory_contention tests/unit/test_memory_numa \
	tests/unit/test_memory_pattern tests/unit/test_memory_rate tests/unit/test_memory_sizing
tests_unit_test_memory_contention_LDADD = libmemory.a libprobe.a $(LDADD)
tests_unit_test_memory_numa_SOURCES = \
	tests/unit/memory_tree.c tests/unit/memory_tree.h tests/unit/test_memory_numa.c
tests_unit_test_memory_numa_LDADD = libmemory.a $(LDADD)
tests_unit_test_memory_pattern_LDADD = libmemory.a $(LDADD)
tests_unit_test_memory_rate_LDADD = libmemory.a $(LDADD)
tests_unit_test_memory_sizing_LDADD = libmemory.a $(LDADD)
BENCHES += tests/bench/stream_like
tests_bench_stream_like_SOURCES = tests/bench/stream_like.c
tests_bench_stream_like_LDADD =
EXTRA_DIST += tests/bench/bench_memory.py tests/system/test_memory.py


# ---- assay-probe-host-state ------------------------------------------------------
noinst_LIBRARIES += libhost_state.a
libhost_state_a_SOURCES = \
	probes/host_state/counter.c probes/host_state/counter.h probes/host_state/cpu.c \
	probes/host_state/dmi.c probes/host_state/dmi.h \
	probes/host_state/host_state.c probes/host_state/host_state.h \
	probes/host_state/inventory.c probes/host_state/iommu.c \
	probes/host_state/iommu_mode.c probes/host_state/iommu_mode.h \
	probes/host_state/kernel_log.c \
	probes/host_state/kernel_match.c probes/host_state/kernel_match.h \
	probes/host_state/kernel_rules.c probes/host_state/kernel_rules.h \
	probes/host_state/kmsg.c probes/host_state/kmsg.h \
	probes/host_state/known.c probes/host_state/known.h \
	probes/host_state/memory.c probes/host_state/pci.c probes/host_state/pci.h \
	probes/host_state/pcie.c probes/host_state/pcie_aer.c probes/host_state/pcie_aer.h \
	probes/host_state/standing.c probes/host_state/standing.h \
	probes/host_state/sysfs.c probes/host_state/sysfs.h

probes_PROGRAMS += assay-probe-host-state
assay_probe_host_state_SOURCES = probes/host_state/main.c
assay_probe_host_state_LDADD = libhost_state.a $(PROBE_LIBS)

UNIT_TESTS += tests/unit/test_host_state_counter tests/unit/test_host_state_kmsg \
	tests/unit/test_host_state_known tests/unit/test_host_state_pci \
	tests/unit/test_host_state_rules
EXTRA_DIST += tests/system/fake_host.py tests/system/test_host_state.py \
	tests/system/test_host_state_log.py
HOST_STATE_TEST_LIBS = libhost_state.a libprobe.a $(LDADD)
tests_unit_test_host_state_counter_LDADD = $(HOST_STATE_TEST_LIBS)
tests_unit_test_host_state_kmsg_LDADD = $(HOST_STATE_TEST_LIBS)
tests_unit_test_host_state_known_LDADD = $(HOST_STATE_TEST_LIBS)
tests_unit_test_host_state_pci_LDADD = $(HOST_STATE_TEST_LIBS)
tests_unit_test_host_state_rules_LDADD = $(HOST_STATE_TEST_LIBS)
