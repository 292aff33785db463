# SPDX-License-Identifier: Apache-2.0
# Part of Makefile.am: the engines and programs that measure.

# ---- probes/accel and assay-probe-gemm -----------------------------------------
noinst_LIBRARIES += libaccel.a
libaccel_a_SOURCES = probes/accel/accel.c probes/accel/accel.h probes/accel/watch.c probes/accel/watch.h

# GPUs: everything of CUDA is loaded at run time, so this is always built.
noinst_LIBRARIES += libaccelcuda.a
libaccelcuda_a_SOURCES = \
	probes/accel/cuda.c probes/accel/cuda.h probes/accel/cuda_abi.h \
	probes/accel/cuda_gemm.c probes/accel/cuda_host.c probes/accel/cuda_load.c probes/accel/cuda_load.h \
	probes/accel/cuda_memory.c probes/accel/cuda_nvml.c probes/accel/cuda_stream.c \
	probes/accel/cuda_users.c probes/accel/gpu_users.c probes/accel/gpu_users.h \
	probes/accel/library.c probes/accel/library.h \
	probes/accel/nvml_abi.h probes/accel/worker.c probes/accel/worker.h
UNIT_TESTS += tests/unit/test_accel_cuda tests/unit/test_gpu_users
tests_unit_test_gpu_users_LDADD = libaccelcuda.a libaccel.a $(LDADD)
tests_unit_test_accel_cuda_LDADD = libaccelcuda.a libaccel.a $(LDADD)
EXTRA_DIST += tests/unit/test_cuda_abi.c
if HAVE_LT_HEADER
UNIT_TESTS += tests/unit/test_cuda_abi
tests_unit_test_cuda_abi_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
endif

if HAVE_CBLAS
noinst_LIBRARIES += libaccelhost.a
libaccelhost_a_SOURCES = \
	probes/accel/host.c probes/accel/host.h probes/accel/host_condition.c \
	probes/accel/host_event.c probes/accel/host_gemm.c probes/accel/host_memory.c \
	probes/accel/host_others.c probes/accel/host_stream.c probes/accel/host_topology.c
libaccelhost_a_CFLAGS = $(AM_CFLAGS) $(CBLAS_CFLAGS)
ACCEL_LIBS = libaccelhost.a libaccelcuda.a libaccel.a $(PROBE_LIBS) $(CBLAS_LIBS)
GEMM_ENGINES = probes/gemm/gemm_engines.c

BENCHES += tests/bench/gemm_plain
tests_bench_gemm_plain_SOURCES = tests/bench/gemm_plain.c
tests_bench_gemm_plain_CFLAGS = $(AM_CFLAGS) $(CBLAS_CFLAGS)
tests_bench_gemm_plain_LDADD = $(CBLAS_LIBS)

UNIT_TESTS += tests/unit/test_accel_host tests/unit/test_accel_host_sys
tests_unit_test_accel_host_sys_LDADD = $(ACCEL_LIBS) $(LDADD)
tests_unit_test_accel_host_LDADD = $(ACCEL_LIBS) $(LDADD)
else
ACCEL_LIBS = libaccelcuda.a libaccel.a $(PROBE_LIBS)
GEMM_ENGINES = probes/gemm/gemm_engines_gpu.c
endif
probes_PROGRAMS += assay-probe-gemm
assay_probe_gemm_SOURCES = probes/gemm/gemm_main.c probes/gemm/gemm_engines.h $(GEMM_ENGINES)
assay_probe_gemm_LDADD = libgemm.a libcollnccl.a libcoll.a $(ACCEL_LIBS)
EXTRA_DIST += probes/gemm/gemm_engines.c probes/gemm/gemm_engines_gpu.c

# The core of the probe knows no engine: built and tested without a BLAS too.
noinst_LIBRARIES += libgemm.a
libgemm_a_SOURCES = \
	probes/gemm/gemm.h probes/gemm/gemm_ballot.c probes/gemm/gemm_ballot.h \
	probes/gemm/gemm_busy.c probes/gemm/gemm_cause.c probes/gemm/gemm_chain.c probes/gemm/gemm_check.c probes/gemm/gemm_clock.c \
	probes/gemm/gemm_data.c probes/gemm/gemm_job.c probes/gemm/gemm_overlap.c probes/gemm/gemm_overlap.h \
	probes/gemm/gemm_overlap_tell.c probes/gemm/gemm_rate.c probes/gemm/gemm_run.c \
	probes/gemm/gemm_verify.c probes/gemm/gemm_vote.c probes/gemm/gemm_vote.h probes/gemm/gemm_vote_words.c \
	probes/gemm/gemm_watched.c probes/gemm/gemm_window.c
GEMM_LIBS = libgemm.a libcollnccl.a libcoll.a libaccelcuda.a libaccel.a
GEMM_FIXTURE = tests/unit/gemm_fixture.c tests/unit/gemm_fixture.h \
	tests/fakes/accel_sim.c tests/fakes/accel_sim.h tests/fakes/accel_sim_inside.h \
	tests/fakes/accel_sim_memory.c tests/unit/random.h
UNIT_TESTS += tests/unit/test_gemm_rate tests/unit/test_gemm_check tests/unit/test_gemm_verify \
	tests/unit/test_gemm_ballot tests/unit/test_gemm_vote tests/unit/test_accel
tests_unit_test_gemm_ballot_LDADD = $(GEMM_LIBS) $(LDADD)
tests_unit_test_gemm_vote_SOURCES = tests/unit/test_gemm_vote.c $(GEMM_FIXTURE)
tests_unit_test_gemm_vote_LDADD = $(GEMM_LIBS) $(LDADD)
tests_unit_test_gemm_rate_SOURCES = tests/unit/test_gemm_rate.c $(GEMM_FIXTURE)
tests_unit_test_gemm_rate_LDADD = $(GEMM_LIBS) $(JUDGE_LIBS) $(LDADD)
tests_unit_test_gemm_check_SOURCES = tests/unit/test_gemm_check.c $(GEMM_FIXTURE)
tests_unit_test_gemm_check_LDADD = $(GEMM_LIBS) $(LDADD)
tests_unit_test_gemm_verify_SOURCES = tests/unit/test_gemm_verify.c tests/unit/random.h
tests_unit_test_gemm_verify_LDADD = $(GEMM_LIBS) $(LDADD)
tests_unit_test_accel_LDADD = libaccel.a $(LDADD)


# ---- assay-probe-memory --------------------------------------------------------------
noinst_LIBRARIES += libmemory.a
libmemory_a_SOURCES = \
	probes/memory/buffer.c probes/memory/buffer.h probes/memory/cell.c probes/memory/cell.h \
	probes/memory/cgroup.c probes/memory/cgroup.h probes/memory/contention.c \
	probes/memory/contention.h probes/memory/kernels.c probes/memory/kernels.h \
	probes/memory/kernels.inc probes/memory/numa.c probes/memory/numa_near.c probes/memory/numa.h \
	probes/memory/pattern.c probes/memory/pattern.h probes/memory/plan.c \
	probes/memory/plan.h probes/memory/rate.c probes/memory/rate.h probes/memory/ready.c \
	probes/memory/ready.h probes/memory/session.c probes/memory/session.h \
	probes/memory/sizing.c probes/memory/sizing.h probes/memory/team.c \
	probes/memory/team.h probes/memory/verify.c probes/memory/verify.h
probes_PROGRAMS += assay-probe-memory
assay_probe_memory_SOURCES = probes/memory/memory_main.c probes/memory/gpu_main.c
assay_probe_memory_LDADD = libmemorygpu.a libmemory.a libaccelcuda.a libaccel.a $(TOPOLOGY_LIBS) $(PROBE_LIBS)
# Knows no engine.
noinst_LIBRARIES += libmemorygpu.a
libmemorygpu_a_SOURCES = probes/memory/gpu.h probes/memory/gpu_copy.c probes/memory/gpu_link.c probes/memory/gpu_pattern.c probes/memory/gpu_run.c probes/memory/gpu_sample.c
UNIT_TESTS += tests/unit/test_memory_gpu
tests_unit_test_memory_gpu_SOURCES = tests/unit/test_memory_gpu.c \
	tests/fakes/accel_sim.c tests/fakes/accel_sim.h tests/fakes/accel_sim_inside.h \
	tests/fakes/accel_sim_memory.c tests/unit/random.h
tests_unit_test_memory_gpu_LDADD = libmemorygpu.a libmemory.a libaccel.a $(TOPOLOGY_LIBS) $(LDADD)

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
	probes/host_state/cpu.c \
	probes/host_state/dmi.c probes/host_state/dmi.h \
	probes/host_state/host_state.c probes/host_state/host_state.h \
	probes/host_state/inventory.c probes/host_state/iommu.c \
	probes/host_state/iommu_mode.c probes/host_state/iommu_mode.h \
	probes/host_state/kernel_log.c \
	probes/host_state/memory.c probes/host_state/pci.c probes/host_state/pci.h \
	probes/host_state/pcie.c probes/host_state/pcie_aer.c probes/host_state/pcie_aer.h \
	probes/host_state/standing.c probes/host_state/standing.h

probes_PROGRAMS += assay-probe-host-state
assay_probe_host_state_SOURCES = probes/host_state/main.c
assay_probe_host_state_LDADD = libhost_state.a $(PROBE_LIBS)

UNIT_TESTS += tests/unit/test_host_state_known tests/unit/test_host_state_pci
EXTRA_DIST += tests/system/fake_host.py tests/system/test_host_state.py \
	tests/system/test_host_state_log.py
HOST_STATE_TEST_LIBS = libhost_state.a libprobe.a $(LDADD)
tests_unit_test_host_state_known_LDADD = $(HOST_STATE_TEST_LIBS)
tests_unit_test_host_state_pci_LDADD = $(HOST_STATE_TEST_LIBS)


# ---- probes/rdma and assay-probe-loopback ------------------------------------------
# What knows no library: built and tested without libibverbs too.
noinst_LIBRARIES += librdma.a
librdma_a_SOURCES = probes/rdma/flow.c probes/rdma/flow.h probes/rdma/flow_drive.h \
	probes/rdma/flow_latency.c probes/rdma/flow_many.c probes/rdma/flow_many.h \
	probes/rdma/core_keep.c probes/rdma/core_keep.h \
	probes/rdma/flow_sink.c probes/rdma/flow_sink.h probes/rdma/flow_watch.c probes/rdma/flow_watch.h \
	probes/rdma/mesh.c probes/rdma/mesh.h probes/rdma/mesh_groups.c probes/rdma/mesh_low.c \
	probes/rdma/mesh_quick.c probes/rdma/mesh_rounds.c \
	probes/rdma/mesh_topology.c probes/rdma/mesh_topology.h probes/rdma/gid.c probes/rdma/gid.h \
	probes/rdma/options.c probes/rdma/options.h probes/rdma/ports.c probes/rdma/ports.h probes/rdma/site.c probes/rdma/site.h \
	probes/rdma/port_guard.c probes/rdma/port_guard.h \
	probes/rdma/rdma.h probes/rdma/region_accel.c probes/rdma/region_accel.h \
	probes/rdma/traffic.c probes/rdma/traffic.h probes/rdma/traffic_read.c \
	probes/rdma/users.c probes/rdma/users.h probes/rdma/users_parse.c \
	probes/rdma/words.c probes/rdma/words.h
noinst_LIBRARIES += libloopback.a
libloopback_a_SOURCES = probes/loopback/data.c probes/loopback/data.h \
	probes/loopback/loopback.h probes/loopback/loopback_answers.c \
	probes/loopback/loopback_answers.h probes/loopback/loopback_cell.c \
	probes/loopback/loopback_gpu.c probes/loopback/loopback_gpu.h \
	probes/loopback/loopback_known.c probes/loopback/loopback_known.h \
	probes/loopback/loopback_mesh.c probes/loopback/loopback_progress.c \
	probes/loopback/loopback_progress.h probes/loopback/loopback_run.c \
	probes/loopback/session.c probes/loopback/session.h
if HAVE_VERBS
noinst_LIBRARIES += librdmaverbs.a
librdmaverbs_a_SOURCES = probes/rdma/ticks.c probes/rdma/ticks.h \
	probes/rdma/verbs.c probes/rdma/verbs.h probes/rdma/verbs_calls.c probes/rdma/verbs_calls.h \
	probes/rdma/verbs_memory.c probes/rdma/verbs_post.c probes/rdma/verbs_queue.c
librdmaverbs_a_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS)
probes_PROGRAMS += assay-probe-loopback
assay_probe_loopback_SOURCES = probes/loopback/loopback_main.c
assay_probe_loopback_LDADD = libloopback.a librdmaverbs.a librdma.a librnic_state.a libmemory.a libaccelcuda.a libaccel.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) $(PROBE_LIBS)
endif
RDMA_SIM = tests/fakes/rdma_sim.c tests/fakes/rdma_sim.h tests/fakes/rdma_sim_inside.h \
	tests/fakes/rdma_sim_links.c
UNIT_TESTS += tests/unit/test_rdma_flow tests/unit/test_rdma_gid tests/unit/test_rdma_many \
	tests/unit/test_rdma_mesh tests/unit/test_rdma_groups tests/unit/test_loopback_answers tests/unit/test_loopback_mesh
FLOW_BENCH = tests/unit/flow_bench.c tests/unit/flow_bench.h $(RDMA_SIM)
tests_unit_test_rdma_flow_SOURCES = tests/unit/test_rdma_flow.c $(FLOW_BENCH)
UNIT_TESTS += tests/unit/test_rdma_trips tests/unit/test_rdma_ports
tests_unit_test_rdma_ports_LDADD = librdma.a $(LDADD)
tests_unit_test_rdma_trips_SOURCES = tests/unit/test_rdma_trips.c $(FLOW_BENCH)
tests_unit_test_rdma_trips_LDADD = librdma.a $(LDADD)
tests_unit_test_rdma_flow_LDADD = librdma.a $(LDADD)
tests_unit_test_rdma_many_SOURCES = tests/unit/test_rdma_many.c tests/unit/random.h $(RDMA_SIM)
MESH_BENCH = tests/unit/mesh_bench.c tests/unit/mesh_bench.h tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h
tests_unit_test_rdma_mesh_SOURCES = tests/unit/test_rdma_mesh.c $(MESH_BENCH)
tests_unit_test_loopback_mesh_SOURCES = tests/unit/test_loopback_mesh.c tests/unit/loopback_fabric.c tests/unit/loopback_fabric.h \
	tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	$(RDMA_SIM)
tests_unit_test_loopback_mesh_LDADD = libloopback.a librdma.a librnic_state.a libmemory.a libaccel.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) libprobe.a $(LDADD)
UNIT_TESTS += tests/unit/test_sku_rows
tests_unit_test_sku_rows_SOURCES = tests/unit/test_sku_rows.c tests/unit/loopback_fabric.c tests/unit/loopback_fabric.h \
	tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	$(RDMA_SIM)
tests_unit_test_sku_rows_LDADD = libloopback.a librdma.a librnic_state.a libmemory.a libaccel.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) libprobe.a $(LDADD)
tests_unit_test_loopback_answers_SOURCES = tests/unit/test_loopback_answers.c tests/unit/loopback_fabric.c tests/unit/loopback_fabric.h \
	tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	$(RDMA_SIM)
tests_unit_test_loopback_answers_LDADD = libloopback.a librdma.a librnic_state.a libmemory.a libaccel.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) libprobe.a $(LDADD)
tests_unit_test_rdma_groups_SOURCES = tests/unit/test_rdma_groups.c $(MESH_BENCH)
tests_unit_test_rdma_groups_LDADD = librdma.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_rdma_mesh_LDADD = librdma.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_rdma_many_LDADD = librdma.a $(LDADD)
tests_unit_test_rdma_gid_LDADD = librdma.a $(LDADD)
UNIT_TESTS += tests/unit/test_rdma_watch
tests_unit_test_rdma_watch_LDADD = librdma.a $(LDADD)
UNIT_TESTS += tests/unit/test_rdma_traffic tests/unit/test_rdma_users tests/unit/test_rdma_words
tests_unit_test_rdma_traffic_LDADD = librdma.a librnic_state.a $(LDADD)
tests_unit_test_rdma_users_LDADD = librdma.a $(LDADD)
tests_unit_test_rdma_words_LDADD = librdma.a $(LDADD)
UNIT_TESTS += tests/unit/test_loopback_data tests/unit/test_rdma_gpu
tests_unit_test_loopback_data_LDADD = libloopback.a $(LDADD)
tests_unit_test_rdma_gpu_SOURCES = tests/unit/test_rdma_gpu.c tests/unit/random.h \
	tests/fakes/accel_sim.c tests/fakes/accel_sim.h tests/fakes/accel_sim_inside.h \
	tests/fakes/accel_sim_memory.c $(RDMA_SIM)
UNIT_TESTS += tests/unit/test_loopback_gpu
tests_unit_test_loopback_gpu_SOURCES = tests/unit/test_loopback_gpu.c tests/unit/random.h \
	tests/fakes/accel_sim.c tests/fakes/accel_sim.h tests/fakes/accel_sim_inside.h \
	tests/fakes/accel_sim_memory.c $(RDMA_SIM)
tests_unit_test_loopback_gpu_LDADD = libloopback.a librdma.a librnic_state.a libmemory.a libaccel.a \
	$(TOPOLOGY_LIBS) libprobe.a $(LDADD)
tests_unit_test_rdma_gpu_LDADD = librdma.a libaccel.a $(LDADD)
UNIT_TESTS += tests/unit/test_loopback_gpu_mesh
tests_unit_test_loopback_gpu_mesh_SOURCES = tests/unit/test_loopback_gpu_mesh.c tests/unit/loopback_fabric.c \
	tests/unit/loopback_fabric.h tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	tests/fakes/accel_sim.c tests/fakes/accel_sim.h tests/fakes/accel_sim_inside.h \
	tests/fakes/accel_sim_memory.c $(RDMA_SIM)
tests_unit_test_loopback_gpu_mesh_LDADD = libloopback.a librdma.a librnic_state.a libmemory.a libaccel.a \
	$(JUDGE_LIBS) $(TOPOLOGY_LIBS) libprobe.a $(LDADD)
EXTRA_DIST += tests/guest/scenarios/loopback.sh tests/system/test_loopback.py
# Against perftest, in one guest.
.PHONY: bench-guest
bench-guest: all
	/usr/bin/python3 $(srcdir)/tests/bench/bench_guest.py $(abs_builddir)
EXTRA_DIST += tests/system/test_verbs_missing.py
EXTRA_DIST += tests/bench/bench_guest.py tests/guest/scenarios/bench.sh tests/guest/scenarios/bench-two.sh


# ---- assay-probe-rnic-pair -----------------------------------------------------------
librdma_a_SOURCES += probes/rdma/oob.c probes/rdma/oob.h probes/rdma/oob_lookup.c \
	probes/rdma/oob_lookup.h probes/rdma/oob_tcp.c \
	probes/rdma/oob_wire.c probes/rdma/oob_wire.h
noinst_LIBRARIES += librnic_pair.a
librnic_pair_a_SOURCES = \
	probes/rnic_pair/pair.h probes/rnic_pair/pair_apart.c probes/rnic_pair/pair_connect.c probes/rnic_pair/pair_guard.c \
	probes/rnic_pair/pair_guard.h probes/rnic_pair/pair_lanes.c \
	probes/rnic_pair/pair_lanes.h probes/rnic_pair/pair_lost.c probes/rnic_pair/pair_lost.h \
	probes/rnic_pair/pair_follow.c probes/rnic_pair/pair_lead.c \
	probes/rnic_pair/pair_measure.c probes/rnic_pair/pair_message.c probes/rnic_pair/pair_message.h \
	probes/rnic_pair/pair_peer.c probes/rnic_pair/pair_peer.h \
	probes/rnic_pair/pair_rails.c probes/rnic_pair/pair_rails.h \
	probes/rnic_pair/pair_rounds.c probes/rnic_pair/pair_rounds.h probes/rnic_pair/pair_subnets.c \
	probes/rnic_pair/pair_plan.c probes/rnic_pair/pair_plan.h probes/rnic_pair/pair_run.c \
	probes/rnic_pair/pair_session.c probes/rnic_pair/pair_session.h \
	probes/rnic_pair/pair_sample.c probes/rnic_pair/pair_sample.h \
	probes/rnic_pair/pair_schedule.c probes/rnic_pair/pair_schedule.h \
	probes/rnic_pair/pair_side.c probes/rnic_pair/pair_side.h \
	probes/rnic_pair/pair_ways.c probes/rnic_pair/pair_ways.h
if HAVE_VERBS
probes_PROGRAMS += assay-probe-rnic-pair
assay_probe_rnic_pair_SOURCES = probes/rnic_pair/pair_main.c
assay_probe_rnic_pair_LDADD = librnic_pair.a librdmaverbs.a libaccelcuda.a librdma.a librnic_state.a libmemory.a $(TOPOLOGY_LIBS) \
	$(PROBE_LIBS)
endif
UNIT_TESTS += tests/unit/test_pair_schedule tests/unit/test_pair tests/unit/test_pair_guard tests/unit/test_pair_session \
	tests/unit/test_oob tests/unit/test_oob_lookup
PAIR_TEST_LIBS = librnic_pair.a librdma.a librnic_state.a libmemory.a $(TOPOLOGY_LIBS) libprobe.a $(LDADD)
tests_unit_test_pair_schedule_LDADD = $(PAIR_TEST_LIBS)
PAIR_FABRIC = tests/unit/pair_fabric.c tests/unit/pair_fabric.h $(RDMA_SIM)
tests_unit_test_pair_SOURCES = tests/unit/test_pair.c $(PAIR_FABRIC)
tests_unit_test_pair_guard_SOURCES = tests/unit/test_pair_guard.c $(PAIR_FABRIC)
tests_unit_test_pair_guard_LDADD = $(PAIR_TEST_LIBS)
tests_unit_test_pair_LDADD = $(PAIR_TEST_LIBS)
PAIR_HOSTS = tests/unit/pair_hosts.c tests/unit/pair_hosts.h $(PAIR_FABRIC)
tests_unit_test_pair_session_SOURCES = tests/unit/test_pair_session.c $(PAIR_HOSTS)
UNIT_TESTS += tests/unit/test_pair_plan tests/unit/test_pair_reading tests/unit/test_pair_rounds
tests_unit_test_pair_rounds_SOURCES = tests/unit/test_pair_rounds.c tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h
tests_unit_test_pair_rounds_LDADD = $(PAIR_TEST_LIBS)
tests_unit_test_pair_plan_SOURCES = tests/unit/test_pair_plan.c $(RDMA_SIM)
tests_unit_test_pair_plan_LDADD = $(PAIR_TEST_LIBS)
tests_unit_test_pair_reading_SOURCES = tests/unit/test_pair_reading.c $(PAIR_HOSTS)
tests_unit_test_pair_reading_LDADD = $(PAIR_TEST_LIBS)
tests_unit_test_pair_session_LDADD = $(PAIR_TEST_LIBS)
tests_unit_test_oob_LDADD = librdma.a $(LDADD)
tests_unit_test_oob_lookup_LDADD = librdma.a $(LDADD)
EXTRA_DIST += probes/rnic_pair/pair_main.c tests/system/test_rnic_pair.py tests/system/guest_steps.py tests/guest/scenarios/pair.sh tests/guest/scenarios/pair-two.sh

# ---- probes/coll -------------------------------------------------------------------
noinst_LIBRARIES += libcoll.a
libcoll_a_SOURCES = probes/coll/blame.c probes/coll/blame.h \
	probes/coll/coll.c probes/coll/coll.h probes/coll/coll_data.c \
	probes/coll/exchange_group.h probes/coll/exchange_ways.c \
	probes/coll/ring_group.h probes/coll/ring_pieces.c \
	probes/coll/verbs.c probes/coll/verbs.h \
	probes/coll/verbs_exchange.c probes/coll/verbs_exchange.h

# ---- NCCL and assay-probe-all-to-all -----------------------------------------------
noinst_LIBRARIES += libcollnccl.a
libcollnccl_a_SOURCES = probes/coll/nccl.c probes/coll/nccl.h probes/coll/nccl_abi.h \
	probes/coll/nccl_abort.c probes/coll/nccl_comm.c probes/coll/nccl_group.h probes/coll/nccl_hang.c \
	probes/coll/nccl_launch.c probes/coll/nccl_load.c
EXTRA_DIST += tests/unit/test_nccl_abi.c
if HAVE_NCCL_HEADER
UNIT_TESTS += tests/unit/test_nccl_abi
tests_unit_test_nccl_abi_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
endif
noinst_LIBRARIES += liball_to_all.a
liball_to_all_a_SOURCES = probes/all_to_all/all_to_all.h probes/all_to_all/all_to_all_gpus.c \
	probes/all_to_all/all_to_all_links.c \
	probes/all_to_all/all_to_all_pairs.c probes/all_to_all/all_to_all_rate.c \
	probes/all_to_all/all_to_all_rnics.c \
	probes/all_to_all/all_to_all_run.c probes/all_to_all/all_to_all_sample.c
probes_PROGRAMS += assay-probe-all-to-all
assay_probe_all_to_all_SOURCES = probes/all_to_all/all_to_all_main.c \
	probes/all_to_all/all_to_all_options.h probes/all_to_all/all_to_all_start.c
ALL_TO_ALL_LIBS = liball_to_all.a libcollnccl.a libcoll.a libaccelcuda.a libaccel.a librnic_pair.a
if HAVE_VERBS
assay_probe_all_to_all_SOURCES += probes/all_to_all/all_to_all_verbs.c
assay_probe_all_to_all_LDADD = $(ALL_TO_ALL_LIBS) librdmaverbs.a librdma.a librnic_state.a libmemory.a \
	$(JUDGE_LIBS) $(TOPOLOGY_LIBS) $(PROBE_LIBS)
else
assay_probe_all_to_all_SOURCES += probes/all_to_all/all_to_all_verbs_none.c
assay_probe_all_to_all_LDADD = $(ALL_TO_ALL_LIBS) librdma.a librnic_state.a libmemory.a \
	$(JUDGE_LIBS) $(TOPOLOGY_LIBS) $(PROBE_LIBS)
endif
EXTRA_DIST += probes/all_to_all/all_to_all_verbs.c probes/all_to_all/all_to_all_verbs_none.c
UNIT_TESTS += tests/unit/test_all_to_all tests/unit/test_all_to_all_rnics
tests_unit_test_all_to_all_rnics_SOURCES = tests/unit/test_all_to_all_rnics.c $(PAIR_FABRIC)
tests_unit_test_all_to_all_rnics_LDADD = $(tests_unit_test_all_to_all_LDADD)
tests_unit_test_all_to_all_LDADD = $(ALL_TO_ALL_LIBS) librdma.a librnic_state.a libmemory.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) \
	libprobe.a $(LDADD)
EXTRA_DIST += tests/system/test_all_to_all.py tests/system/test_all_to_all_rnics.py tests/guest/scenarios/all-to-all.sh

# ---- assay-probe-all-reduce -------------------------------------------------------
noinst_LIBRARIES += liball_reduce.a
liball_reduce_a_SOURCES = \
	probes/all_reduce/reduce.h probes/all_reduce/reduce_emit.c \
	probes/all_reduce/reduce_follow.c probes/all_reduce/reduce_guard.c \
	probes/all_reduce/reduce_guard.h probes/all_reduce/reduce_lead.c \
	probes/all_reduce/reduce_meet.c probes/all_reduce/reduce_message.c \
	probes/all_reduce/reduce_message.h probes/all_reduce/reduce_part.c \
	probes/all_reduce/reduce_permit.c probes/all_reduce/reduce_permit.h \
	probes/all_reduce/reduce_run.c probes/all_reduce/reduce_tally.c
if HAVE_VERBS
probes_PROGRAMS += assay-probe-all-reduce
assay_probe_all_reduce_SOURCES = probes/all_reduce/all_reduce_main.c
assay_probe_all_reduce_LDADD = liball_reduce.a libcoll.a librnic_pair.a librdmaverbs.a libaccelcuda.a librdma.a librnic_state.a \
	libmemory.a $(TOPOLOGY_LIBS) $(PROBE_LIBS)
endif
EXTRA_DIST += probes/all_reduce/all_reduce_main.c
COLL_TEST_LIBS = liball_reduce.a libcoll.a $(PAIR_TEST_LIBS)
UNIT_TESTS += tests/unit/test_coll tests/unit/test_coll_blame tests/unit/test_all_reduce tests/unit/test_all_reduce_words
tests_unit_test_all_reduce_words_LDADD = $(COLL_TEST_LIBS)
tests_unit_test_all_reduce_SOURCES = tests/unit/test_all_reduce.c tests/unit/reduce_fleet.c \
	tests/unit/reduce_fleet.h $(PAIR_FABRIC)
tests_unit_test_all_reduce_LDADD = $(COLL_TEST_LIBS)
tests_unit_test_coll_SOURCES = tests/unit/test_coll.c $(PAIR_FABRIC)
tests_unit_test_coll_LDADD = $(COLL_TEST_LIBS)
tests_unit_test_coll_blame_LDADD = $(COLL_TEST_LIBS)
UNIT_TESTS += tests/unit/test_exchange
tests_unit_test_exchange_SOURCES = tests/unit/test_exchange.c $(PAIR_FABRIC)
tests_unit_test_exchange_LDADD = $(COLL_TEST_LIBS)

# ---- assay-probe-rnic-state --------------------------------------------------------
noinst_LIBRARIES += librnic_state.a
librnic_state_a_SOURCES = \
	probes/rnic_state/child.c probes/rnic_state/child.h \
	probes/rnic_state/counter_table.c probes/rnic_state/counter_table.h \
	probes/rnic_state/counters.c probes/rnic_state/dcb.c probes/rnic_state/dcb.h \
	probes/rnic_state/ethtool.c probes/rnic_state/ethtool_ask.c probes/rnic_state/ethtool_ask.h \
	probes/rnic_state/fec.c probes/rnic_state/fec.h probes/rnic_state/links.c \
	probes/rnic_state/lldp.c probes/rnic_state/lldp.h \
	probes/rnic_state/module.c probes/rnic_state/module.h probes/rnic_state/module_ask.c \
	probes/rnic_state/module_ask.h probes/rnic_state/module_cmis.c probes/rnic_state/module_sff.c \
	probes/rnic_state/netlink.c probes/rnic_state/netlink.h \
	probes/rnic_state/nic.c probes/rnic_state/nic.h probes/rnic_state/optics.c \
	probes/rnic_state/reading.c probes/rnic_state/reading.h \
	probes/rnic_state/rnic_state.c probes/rnic_state/rnic_state.h \
	probes/rnic_state/settings.c probes/rnic_state/settings.h \
	probes/rnic_state/window.c probes/rnic_state/window.h
probes_PROGRAMS += assay-probe-rnic-state
assay_probe_rnic_state_SOURCES = probes/rnic_state/rnic_main.c
assay_probe_rnic_state_LDADD = librnic_state.a $(PROBE_LIBS)
EXTRA_DIST += tests/guest/scenarios/state.sh tests/system/fake_rnic.py tests/system/test_rnic_settings.py tests/system/test_rnic_state.py
RNIC_FIXTURE = tests/unit/rnic_fixture.c tests/unit/rnic_fixture.h
UNIT_TESTS += tests/unit/test_rnic_state
tests_unit_test_rnic_state_SOURCES = tests/unit/test_rnic_state.c $(RNIC_FIXTURE)
tests_unit_test_rnic_state_LDADD = librnic_state.a libprobe.a $(LDADD)
UNIT_TESTS += tests/unit/test_rnic_settings
tests_unit_test_rnic_settings_SOURCES = tests/unit/test_rnic_settings.c $(RNIC_FIXTURE)
tests_unit_test_rnic_settings_LDADD = librnic_state.a libprobe.a $(COMMAND_LIBS) $(LDADD)
UNIT_TESTS += tests/unit/test_rnic_module
tests_unit_test_rnic_module_SOURCES = tests/unit/test_rnic_module.c tests/unit/random.h \
	tests/unit/rnic_modules.c tests/unit/rnic_modules.h
tests_unit_test_rnic_module_LDADD = librnic_state.a libprobe.a $(LDADD)
UNIT_TESTS += tests/unit/test_rnic_optics
tests_unit_test_rnic_optics_SOURCES = tests/unit/test_rnic_optics.c \
	tests/unit/rnic_modules.c tests/unit/rnic_modules.h $(RNIC_FIXTURE)
tests_unit_test_rnic_optics_LDADD = librnic_state.a libprobe.a $(LDADD)
UNIT_TESTS += tests/unit/test_rnic_lldp
tests_unit_test_rnic_lldp_LDADD = librnic_state.a libprobe.a $(COMMAND_LIBS) $(LDADD)

# ---- assay-probe-gpu-state ---------------------------------------------------------
noinst_LIBRARIES += libgpu_state.a
libgpu_state_a_SOURCES = \
	probes/gpu_state/gpu_bus.c \
	probes/gpu_state/gpu_counter_table.c probes/gpu_state/gpu_counter_table.h \
	probes/gpu_state/gpu_counters.c probes/gpu_state/gpu_facts.c \
	probes/gpu_state/gpu_links.c probes/gpu_state/gpu_look.c probes/gpu_state/gpu_look.h \
	probes/gpu_state/gpu_presence.c probes/gpu_state/gpu_read.c probes/gpu_state/gpu_read.h \
	probes/gpu_state/gpu_state.c probes/gpu_state/gpu_state.h probes/gpu_state/gpu_xids.c
probes_PROGRAMS += assay-probe-gpu-state
assay_probe_gpu_state_SOURCES = probes/gpu_state/gpu_main.c
assay_probe_gpu_state_LDADD = libgpu_state.a libhost_state.a libaccelcuda.a libaccel.a $(PROBE_LIBS)
UNIT_TESTS += tests/unit/test_worker tests/unit/test_gpu_state
tests_unit_test_worker_LDADD = libaccelcuda.a $(LDADD)
tests_unit_test_gpu_state_LDADD = libgpu_state.a libhost_state.a libaccelcuda.a libaccel.a libprobe.a $(LDADD)
EXTRA_DIST += tests/unit/test_nvml_abi.c
if HAVE_NVML_HEADER
UNIT_TESTS += tests/unit/test_nvml_abi
tests_unit_test_nvml_abi_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_nvml_abi_LDADD = libgpu_state.a $(LDADD)
endif
EXTRA_DIST += tests/system/test_abi.py tests/system/test_gpu_state.py tests/system/test_gpu_faults.py tests/system/test_gpu_calls.py
