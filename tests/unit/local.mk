# SPDX-License-Identifier: Apache-2.0
# tests/unit: CUnit, one program a module. Included by Makefile.am.
TOPOLOGY_FIXTURE = tests/unit/topology_fixture.c tests/unit/topology_fixture.h
FLEET_WORLD = tests/unit/fleet_world.c tests/unit/fleet_world.h
EXTRA_DIST += tests/unit/test_cuda_abi.c tests/unit/test_nccl_abi.c tests/unit/test_nvml_abi.c
GEMM_FIXTURE = tests/unit/gemm_fixture.c tests/unit/gemm_fixture.h \
	tests/fakes/accel_sim.c tests/fakes/accel_sim.h tests/fakes/accel_sim_inside.h \
	tests/fakes/accel_sim_memory.c tests/unit/random.h
FLOW_BENCH = tests/unit/flow_bench.c tests/unit/flow_bench.h $(RDMA_SIM)
MESH_BENCH = tests/unit/mesh_bench.c tests/unit/mesh_bench.h tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h
PAIR_FABRIC = tests/unit/pair_fabric.c tests/unit/pair_fabric.h $(RDMA_SIM)
PAIR_HOSTS = tests/unit/pair_hosts.c tests/unit/pair_hosts.h $(PAIR_FABRIC)
RNIC_FIXTURE = tests/unit/rnic_fixture.c tests/unit/rnic_fixture.h
RUNNER_FIXTURE = tests/unit/runner_fixture.c tests/unit/runner_fixture.h
WATCH_FIXTURE = tests/unit/watch_fixture.c tests/unit/watch_fixture.h
PAIRING_WORLD = tests/unit/pairing_world.c tests/unit/pairing_world.h tests/unit/random.h
CAMPAIGN_LAB = tests/unit/campaign_lab.c tests/unit/campaign_lab.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h

LDADD = libtest.a $(BASE_LIBS) $(CUNIT_LIBS)

# The two readers of reports beside each other.
BOTH_READERS = tests/unit/both_readers.c tests/unit/both_readers.h
UNIT_TESTS += tests/unit/test_accel tests/unit/test_accel_cuda tests/unit/test_admit tests/unit/test_again tests/unit/test_all_reduce \
	tests/unit/test_all_reduce_words tests/unit/test_all_to_all tests/unit/test_all_to_all_rnics \
	tests/unit/test_attribution tests/unit/test_attribution_bootstrap tests/unit/test_attribution_graph \
	tests/unit/test_attribution_labels tests/unit/test_attribution_lottery tests/unit/test_attribution_simulate tests/unit/test_attribution_speeds tests/unit/test_attribution_summary \
	tests/unit/test_attribution_suspects tests/unit/test_attribution_trace tests/unit/test_bad_probes \
	tests/unit/test_bad_run tests/unit/test_base64 tests/unit/test_blame tests/unit/test_breaker tests/unit/test_campaign \
	tests/unit/test_campaign_keep tests/unit/test_campaign_random tests/unit/test_campaign_says tests/unit/test_circle \
	tests/unit/test_clock tests/unit/test_clock_pair tests/unit/test_coll tests/unit/test_coll_blame \
	tests/unit/test_compared tests/unit/test_counter tests/unit/test_cpu_use tests/unit/test_cpuinfo tests/unit/test_ctl tests/unit/test_selector \
	tests/unit/test_decide tests/unit/test_decide_domain tests/unit/test_decide_drain tests/unit/test_decide_groups tests/unit/test_decide_link tests/unit/test_decide_random \
	tests/unit/test_decide_runs tests/unit/test_decide_shared \
	tests/unit/test_err tests/unit/test_exchange tests/unit/test_file tests/unit/test_fleet_jobs \
	tests/unit/test_gemm_ballot tests/unit/test_gemm_check tests/unit/test_gemm_rate tests/unit/test_gemm_verify \
	tests/unit/test_gemm_vote tests/unit/test_glob tests/unit/test_gpu_state tests/unit/test_gpu_users \
	tests/unit/test_history tests/unit/test_hold tests/unit/test_host_parts tests/unit/test_http_date tests/unit/test_url tests/unit/test_host_state_known tests/unit/test_host_state_pci tests/unit/test_job_groups tests/unit/test_job_judge tests/unit/test_job_slow \
	tests/unit/test_json tests/unit/test_jval tests/unit/test_kernel_rules tests/unit/test_kmsg tests/unit/test_kv \
	tests/unit/test_link_message tests/unit/test_link_watch tests/unit/test_link_words tests/unit/test_localise \
	tests/unit/test_localise_mesh tests/unit/test_localise_small tests/unit/test_localise_strangers tests/unit/test_lock tests/unit/test_log_limit \
	tests/unit/test_log_watch tests/unit/test_loopback_answers tests/unit/test_loopback_data tests/unit/test_loopback_gpu \
	tests/unit/test_loopback_gpu_mesh tests/unit/test_loopback_mesh tests/unit/test_machine tests/unit/test_manual_rate \
	tests/unit/test_map tests/unit/test_memory_contention tests/unit/test_memory_gpu tests/unit/test_memory_numa \
	tests/unit/test_memory_pattern tests/unit/test_memory_rate tests/unit/test_memory_sizing tests/unit/test_missing \
	tests/unit/test_oob tests/unit/test_oob_lookup tests/unit/test_order_meeting tests/unit/test_orders \
	tests/unit/test_trace_queue tests/unit/test_trace_rules tests/unit/test_trace_sandbox \
	tests/unit/test_pair tests/unit/test_pair_guard tests/unit/test_pair_plan tests/unit/test_pair_reading \
	tests/unit/test_pair_rounds tests/unit/test_pair_schedule tests/unit/test_pair_session tests/unit/test_pairing \
	tests/unit/test_diagnosis tests/unit/test_pair_rungs tests/unit/test_rungs tests/unit/test_decide_rungs tests/unit/test_pairing_random tests/unit/test_pairing_sim tests/unit/test_paths tests/unit/test_permit_file \
	tests/unit/test_plan tests/unit/test_policy tests/unit/test_policy_jobs tests/unit/test_probe_output tests/unit/test_probe_problem \
	tests/unit/test_process_env tests/unit/test_process_tree tests/unit/test_profiles tests/unit/test_random tests/unit/test_rdma_flow \
	tests/unit/test_rdma_gid tests/unit/test_rdma_gpu tests/unit/test_rdma_groups tests/unit/test_rdma_many \
	tests/unit/test_rdma_mesh tests/unit/test_rdma_ports tests/unit/test_rdma_traffic tests/unit/test_rdma_trips \
	tests/unit/test_rdma_users tests/unit/test_rdma_watch tests/unit/test_rdma_words tests/unit/test_reference \
	tests/unit/test_refusal tests/unit/test_release tests/unit/test_replay tests/unit/test_report \
	tests/unit/test_report_age tests/unit/test_report_numbers tests/unit/test_report_read tests/unit/test_report_values \
	tests/unit/test_rnic_lldp tests/unit/test_rnic_module tests/unit/test_rnic_optics tests/unit/test_rnic_settings \
	tests/unit/test_rnic_state tests/unit/test_runner tests/unit/test_runner_process tests/unit/test_schedule \
	tests/unit/test_sensitivity tests/unit/test_sensitivity_random tests/unit/test_sha256 tests/unit/test_show_run \
	tests/unit/test_show_sensitivity tests/unit/test_silicon tests/unit/test_sim_job_window tests/unit/test_sku tests/unit/test_sku_host tests/unit/test_sku_rows \
	tests/unit/test_spool tests/unit/test_job_log_match tests/unit/test_job_log_owner tests/unit/test_rhythm tests/unit/test_standing tests/unit/test_standstill tests/unit/test_start tests/unit/test_startup tests/unit/test_state \
	tests/unit/test_stats tests/unit/test_strbuf tests/unit/test_suspicion tests/unit/test_table tests/unit/test_term tests/unit/test_topology \
	tests/unit/test_topology_draw tests/unit/test_topology_file tests/unit/test_topology_files \
	tests/unit/test_topology_json tests/unit/test_topology_pci tests/unit/test_trace_line tests/unit/test_trace_reader \
	tests/unit/test_trend tests/unit/test_try_child tests/unit/test_uplink tests/unit/test_utf8 tests/unit/test_verdict \
	tests/unit/test_verdict_json tests/unit/test_verdict_links tests/unit/test_verdict_random \
	tests/unit/test_verdict_runs tests/unit/test_watch_random tests/unit/test_watched tests/unit/test_windows \
	tests/unit/test_words tests/unit/test_worker tests/unit/test_writers tests/unit/test_yaml
tests_unit_test_accel_LDADD = libaccel.a $(LDADD)
tests_unit_test_accel_cuda_LDADD = libaccelcuda.a libaccel.a $(LDADD)
tests_unit_test_admit_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_all_reduce_SOURCES = $(PAIR_FABRIC) tests/fakes/accel_sim.c tests/fakes/accel_sim.h \
	tests/fakes/accel_sim_inside.h tests/fakes/accel_sim_memory.c tests/unit/random.h tests/unit/reduce_fleet.c tests/unit/reduce_fleet.h \
	tests/unit/test_all_reduce.c
tests_unit_test_all_reduce_LDADD = $(COLL_TEST_LIBS)
tests_unit_test_all_reduce_words_LDADD = $(COLL_TEST_LIBS)
tests_unit_test_all_to_all_LDADD = $(ALL_TO_ALL_LIBS) librdma.a librnic_state.a libmemory.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) \
	libprobe.a $(LDADD)
tests_unit_test_all_to_all_rnics_SOURCES = $(PAIR_FABRIC) tests/unit/test_all_to_all_rnics.c
tests_unit_test_all_to_all_rnics_LDADD = $(tests_unit_test_all_to_all_LDADD)
tests_unit_test_attribution_SOURCES = tests/unit/pipeline.c tests/unit/pipeline.h tests/unit/test_attribution.c
tests_unit_test_attribution_LDADD = libattribution.a $(REMEDY_LIBS) $(RING_LIBS) $(JUDGE_LIBS) $(LDADD)
tests_unit_test_attribution_bootstrap_LDADD = $(ATTRIBUTION_LIBS) $(LDADD)
tests_unit_test_attribution_graph_SOURCES = tests/unit/operations.c tests/unit/operations.h \
	tests/unit/test_attribution_graph.c
tests_unit_test_attribution_graph_LDADD = $(ATTRIBUTION_LIBS) $(LDADD)
tests_unit_test_attribution_labels_LDADD = libjobs.a $(ATTRIBUTION_LIBS) $(LDADD)
tests_unit_test_attribution_lottery_LDADD = $(ATTRIBUTION_LIBS) $(LDADD)
tests_unit_test_attribution_speeds_LDADD = $(ATTRIBUTION_LIBS) $(LDADD)
tests_unit_test_attribution_simulate_SOURCES = tests/unit/pipeline.c tests/unit/pipeline.h \
	tests/unit/test_attribution_simulate.c
tests_unit_test_attribution_simulate_LDADD = libattribution.a $(REMEDY_LIBS) $(RING_LIBS) $(JUDGE_LIBS) $(LDADD)
tests_unit_test_attribution_summary_LDADD = libjobs.a $(ATTRIBUTION_LIBS) $(LDADD)
tests_unit_test_attribution_suspects_SOURCES = tests/unit/pipeline.c tests/unit/pipeline.h \
	tests/unit/test_attribution_suspects.c
tests_unit_test_attribution_suspects_LDADD = libjobs.a libattribution.a $(REMEDY_LIBS) $(RING_LIBS) $(JUDGE_LIBS) $(LDADD)
tests_unit_test_attribution_trace_LDADD = $(ATTRIBUTION_LIBS) $(LDADD)
tests_unit_test_bad_probes_SOURCES = $(RUNNER_FIXTURE) tests/unit/test_bad_probes.c
tests_unit_test_bad_probes_LDADD = $(RUNNER_TESTS)
tests_unit_test_bad_run_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_blame_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_pair_rungs_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_rungs_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_breaker_SOURCES = $(FLEET_WORLD) tests/unit/test_breaker.c
tests_unit_test_breaker_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_campaign_SOURCES = $(CAMPAIGN_LAB) tests/unit/test_campaign.c
tests_unit_test_campaign_LDADD = $(CAMPAIGN_LIBS) $(LDADD)
tests_unit_test_campaign_keep_SOURCES = $(CAMPAIGN_LAB) tests/unit/test_campaign_keep.c
tests_unit_test_campaign_keep_LDADD = $(CAMPAIGN_LIBS) $(LDADD)
tests_unit_test_campaign_random_SOURCES = $(CAMPAIGN_LAB) tests/unit/test_campaign_random.c
tests_unit_test_campaign_random_LDADD = $(CAMPAIGN_LIBS) $(LDADD)
tests_unit_test_campaign_says_SOURCES = $(CAMPAIGN_LAB) tests/unit/test_campaign_says.c
tests_unit_test_campaign_says_LDADD = $(CAMPAIGN_LIBS) $(LDADD)
tests_unit_test_coll_SOURCES = $(PAIR_FABRIC) tests/unit/test_coll.c
tests_unit_test_coll_LDADD = $(COLL_TEST_LIBS)
tests_unit_test_coll_blame_LDADD = $(COLL_TEST_LIBS)
tests_unit_test_compared_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_compared.c
tests_unit_test_compared_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_counter_LDADD = libprobe.a $(LDADD)
tests_unit_test_cpu_use_LDADD = libprobe.a $(LDADD)
tests_unit_test_ctl_LDADD = $(CTL_LIBS) $(LDADD)
tests_unit_test_selector_LDADD = $(CTL_LIBS) $(LDADD)
tests_unit_test_decide_SOURCES = $(FLEET_WORLD) tests/unit/test_decide.c
tests_unit_test_decide_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_decide_domain_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_decide_drain_SOURCES = $(FLEET_WORLD) tests/unit/test_decide_drain.c
tests_unit_test_decide_drain_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_decide_groups_SOURCES = $(FLEET_WORLD) tests/unit/random.h tests/unit/test_decide_groups.c
tests_unit_test_decide_groups_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_decide_link_SOURCES = $(FLEET_WORLD) tests/unit/test_decide_link.c
tests_unit_test_decide_link_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_decide_rungs_SOURCES = $(FLEET_WORLD) tests/unit/test_decide_rungs.c
tests_unit_test_decide_rungs_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_decide_random_SOURCES = tests/unit/fleet_books.c tests/unit/fleet_books.h tests/unit/random.h \
	tests/unit/test_decide_random.c
tests_unit_test_decide_random_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_decide_runs_SOURCES = $(FLEET_WORLD) tests/unit/test_decide_runs.c
tests_unit_test_decide_runs_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_decide_shared_SOURCES = $(FLEET_WORLD) tests/unit/test_decide_shared.c
tests_unit_test_decide_shared_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_fleet_jobs_SOURCES = $(FLEET_WORLD) tests/unit/test_fleet_jobs.c
tests_unit_test_fleet_jobs_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_process_tree_LDADD = $(RUNNER_TESTS)
tests_unit_test_exchange_SOURCES = $(PAIR_FABRIC) tests/unit/test_exchange.c
tests_unit_test_exchange_LDADD = $(COLL_TEST_LIBS)
tests_unit_test_gemm_ballot_LDADD = $(GEMM_LIBS) $(LDADD)
tests_unit_test_gemm_check_SOURCES = $(GEMM_FIXTURE) tests/unit/test_gemm_check.c
tests_unit_test_gemm_check_LDADD = $(GEMM_LIBS) $(LDADD)
tests_unit_test_gemm_rate_SOURCES = $(GEMM_FIXTURE) tests/unit/test_gemm_rate.c
tests_unit_test_gemm_rate_LDADD = $(GEMM_LIBS) $(LDADD)
tests_unit_test_gemm_verify_SOURCES = tests/unit/random.h tests/unit/test_gemm_verify.c
tests_unit_test_gemm_verify_LDADD = $(GEMM_LIBS) $(LDADD)
tests_unit_test_gemm_vote_SOURCES = $(GEMM_FIXTURE) tests/unit/test_gemm_vote.c
tests_unit_test_gemm_vote_LDADD = $(GEMM_LIBS) $(LDADD)
tests_unit_test_gpu_state_LDADD = libgpu_state.a libhost_state.a libaccelcuda.a libaccel.a libprobe.a $(LDADD)
tests_unit_test_gpu_users_LDADD = libaccelcuda.a libaccel.a $(LDADD)
tests_unit_test_history_LDADD = $(KEEP_LIBS) $(LDADD)
tests_unit_test_hold_SOURCES = $(FLEET_WORLD) tests/unit/test_hold.c
tests_unit_test_hold_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_job_judge_SOURCES = tests/unit/job_scene.h tests/unit/random.h tests/unit/test_job_judge.c
tests_unit_test_job_slow_SOURCES = tests/unit/job_scene.h tests/unit/test_job_slow.c
tests_unit_test_job_slow_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_job_groups_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_job_judge_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_host_state_known_LDADD = $(HOST_STATE_TEST_LIBS)
tests_unit_test_host_state_pci_LDADD = $(HOST_STATE_TEST_LIBS)
tests_unit_test_link_message_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_link_watch_SOURCES = $(WATCH_FIXTURE) tests/unit/test_link_watch.c
tests_unit_test_link_watch_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_link_words_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_localise_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_localise.c
tests_unit_test_localise_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_localise_mesh_SOURCES = tests/unit/mesh.c tests/unit/mesh.h tests/unit/random.h tests/unit/reports.c \
	tests/unit/reports.h tests/unit/test_localise_mesh.c
tests_unit_test_localise_mesh_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_localise_small_SOURCES = tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	tests/unit/test_localise_small.c
tests_unit_test_localise_small_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_localise_strangers_SOURCES = tests/unit/mesh.c tests/unit/mesh.h tests/unit/random.h \
	tests/unit/reports.c tests/unit/reports.h tests/unit/test_localise_strangers.c
tests_unit_test_localise_strangers_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_log_watch_SOURCES = $(WATCH_FIXTURE) tests/unit/test_log_watch.c
tests_unit_test_log_watch_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_loopback_answers_SOURCES = $(RDMA_SIM) tests/unit/loopback_fabric.c tests/unit/loopback_fabric.h \
	tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	tests/unit/test_loopback_answers.c
tests_unit_test_loopback_answers_LDADD = libloopback.a librdma.a librnic_state.a libmemory.a libaccel.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) libprobe.a $(LDADD)
tests_unit_test_loopback_data_LDADD = libloopback.a $(LDADD)
tests_unit_test_loopback_gpu_SOURCES = $(RDMA_SIM) tests/fakes/accel_sim.c tests/fakes/accel_sim.h \
	tests/fakes/accel_sim_inside.h tests/fakes/accel_sim_memory.c tests/unit/random.h tests/unit/test_loopback_gpu.c
tests_unit_test_loopback_gpu_LDADD = libloopback.a librdma.a librnic_state.a libmemory.a libaccel.a \
	$(TOPOLOGY_LIBS) libprobe.a $(LDADD)
tests_unit_test_loopback_gpu_mesh_SOURCES = $(RDMA_SIM) tests/fakes/accel_sim.c tests/fakes/accel_sim.h \
	tests/fakes/accel_sim_inside.h tests/fakes/accel_sim_memory.c tests/unit/loopback_fabric.c \
	tests/unit/loopback_fabric.h tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h tests/unit/reports.c \
	tests/unit/reports.h tests/unit/test_loopback_gpu_mesh.c
tests_unit_test_loopback_gpu_mesh_LDADD = libloopback.a librdma.a librnic_state.a libmemory.a libaccel.a \
	$(JUDGE_LIBS) $(TOPOLOGY_LIBS) libprobe.a $(LDADD)
tests_unit_test_loopback_mesh_SOURCES = $(RDMA_SIM) tests/unit/loopback_fabric.c tests/unit/loopback_fabric.h \
	tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	tests/unit/test_loopback_mesh.c
tests_unit_test_loopback_mesh_LDADD = libloopback.a librdma.a librnic_state.a libmemory.a libaccel.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) libprobe.a $(LDADD)
tests_unit_test_manual_rate_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_memory_contention_LDADD = libmemory.a libprobe.a $(LDADD)
tests_unit_test_memory_gpu_SOURCES = tests/fakes/accel_sim.c tests/fakes/accel_sim.h tests/fakes/accel_sim_inside.h \
	tests/fakes/accel_sim_memory.c tests/unit/random.h tests/unit/test_memory_gpu.c
tests_unit_test_memory_gpu_LDADD = libmemorygpu.a libmemory.a libaccel.a $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_memory_numa_SOURCES = tests/unit/memory_tree.c tests/unit/memory_tree.h tests/unit/test_memory_numa.c
tests_unit_test_memory_numa_LDADD = libmemory.a $(LDADD)
tests_unit_test_memory_pattern_LDADD = libmemory.a $(LDADD)
tests_unit_test_memory_rate_LDADD = libmemory.a $(LDADD)
tests_unit_test_memory_sizing_LDADD = libmemory.a $(LDADD)
tests_unit_test_again_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_again.c
tests_unit_test_again_LDADD = $(COMMAND_LIBS) $(LDADD)
tests_unit_test_missing_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_missing.c
tests_unit_test_missing_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_oob_LDADD = librdma.a $(LDADD)
tests_unit_test_oob_lookup_LDADD = librdma.a $(LDADD)
tests_unit_test_order_meeting_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_orders_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_pair_SOURCES = $(PAIR_FABRIC) tests/unit/test_pair.c
tests_unit_test_pair_LDADD = $(PAIR_TEST_LIBS)
tests_unit_test_pair_guard_SOURCES = $(PAIR_FABRIC) tests/unit/test_pair_guard.c
tests_unit_test_pair_guard_LDADD = $(PAIR_TEST_LIBS)
tests_unit_test_pair_plan_SOURCES = $(RDMA_SIM) tests/unit/test_pair_plan.c
tests_unit_test_pair_plan_LDADD = $(PAIR_TEST_LIBS)
tests_unit_test_pair_reading_SOURCES = $(PAIR_HOSTS) tests/unit/test_pair_reading.c
tests_unit_test_pair_reading_LDADD = $(PAIR_TEST_LIBS)
tests_unit_test_pair_rounds_SOURCES = tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h \
	tests/unit/test_pair_rounds.c
tests_unit_test_pair_rounds_LDADD = $(PAIR_TEST_LIBS)
tests_unit_test_pair_schedule_LDADD = $(PAIR_TEST_LIBS)
tests_unit_test_pair_session_SOURCES = $(PAIR_HOSTS) tests/unit/test_pair_session.c
tests_unit_test_pair_session_LDADD = $(PAIR_TEST_LIBS)
tests_unit_test_pairing_SOURCES = $(PAIRING_WORLD) tests/unit/test_pairing.c
tests_unit_test_pairing_LDADD = $(PAIRING_LIBS) $(LDADD)
tests_unit_test_pairing_random_SOURCES = $(PAIRING_WORLD) tests/unit/test_pairing_random.c
tests_unit_test_pairing_random_LDADD = $(PAIRING_LIBS) $(LDADD)
tests_unit_test_diagnosis_SOURCES = $(PAIRING_WORLD) tests/unit/test_diagnosis.c
tests_unit_test_diagnosis_LDADD = $(PAIRING_LIBS) $(LDADD)
tests_unit_test_pairing_sim_SOURCES = $(PAIRING_WORLD) tests/unit/test_pairing_sim.c
tests_unit_test_pairing_sim_LDADD = $(PAIRING_LIBS) $(LDADD)
tests_unit_test_permit_file_LDADD = libassaydcore.a liball_reduce.a librdma.a $(LDADD)
tests_unit_test_plan_LDADD = $(COMMAND_LIBS) $(LDADD)
tests_unit_test_policy_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_policy_jobs_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_probe_output_LDADD = $(RUNNER_TESTS)
tests_unit_test_probe_problem_LDADD = $(RUNNER_TESTS)
tests_unit_test_profiles_LDADD = $(COMMAND_LIBS) $(LDADD)
tests_unit_test_rdma_flow_SOURCES = $(FLOW_BENCH) tests/unit/test_rdma_flow.c
tests_unit_test_rdma_flow_LDADD = librdma.a $(LDADD)
tests_unit_test_rdma_gid_LDADD = librdma.a $(LDADD)
tests_unit_test_rdma_gpu_SOURCES = $(RDMA_SIM) tests/fakes/accel_sim.c tests/fakes/accel_sim.h \
	tests/fakes/accel_sim_inside.h tests/fakes/accel_sim_memory.c tests/unit/random.h tests/unit/test_rdma_gpu.c
tests_unit_test_rdma_gpu_LDADD = librdma.a libaccel.a $(LDADD)
tests_unit_test_rdma_groups_SOURCES = $(MESH_BENCH) tests/unit/test_rdma_groups.c
tests_unit_test_rdma_groups_LDADD = librdma.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_rdma_many_SOURCES = $(RDMA_SIM) tests/unit/random.h tests/unit/test_rdma_many.c
tests_unit_test_rdma_many_LDADD = librdma.a $(LDADD)
tests_unit_test_rdma_mesh_SOURCES = $(MESH_BENCH) tests/unit/test_rdma_mesh.c
tests_unit_test_rdma_mesh_LDADD = librdma.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_rdma_ports_LDADD = librdma.a $(LDADD)
tests_unit_test_rdma_traffic_LDADD = librdma.a librnic_state.a $(LDADD)
tests_unit_test_rdma_trips_SOURCES = $(FLOW_BENCH) tests/unit/test_rdma_trips.c
tests_unit_test_rdma_trips_LDADD = librdma.a $(LDADD)
tests_unit_test_rdma_users_LDADD = librdma.a $(LDADD)
tests_unit_test_rdma_watch_LDADD = librdma.a $(LDADD)
tests_unit_test_rdma_words_LDADD = librdma.a $(LDADD)
tests_unit_test_reference_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_reference.c
tests_unit_test_reference_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_refusal_SOURCES = $(FLEET_WORLD) tests/unit/test_refusal.c
tests_unit_test_refusal_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_try_child_LDADD = libtopology.a $(LDADD)
tests_unit_test_release_SOURCES = $(FLEET_WORLD) tests/unit/test_release.c
tests_unit_test_release_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_replay_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_process_env_LDADD = libassaydcore.a $(KEEP_LIBS) $(LDADD)
tests_unit_test_trace_queue_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_trace_rules_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_trace_sandbox_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_report_age_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_report_numbers_SOURCES = $(BOTH_READERS) tests/unit/random.h tests/unit/test_report_numbers.c
tests_unit_test_report_read_SOURCES = $(BOTH_READERS) tests/unit/random.h tests/unit/test_report_read.c
tests_unit_test_report_values_SOURCES = $(BOTH_READERS) tests/unit/test_report_values.c
tests_unit_test_rnic_lldp_LDADD = librnic_state.a libprobe.a $(COMMAND_LIBS) $(LDADD)
tests_unit_test_rnic_module_SOURCES = tests/unit/random.h tests/unit/rnic_modules.c tests/unit/rnic_modules.h \
	tests/unit/test_rnic_module.c
tests_unit_test_rnic_module_LDADD = librnic_state.a libprobe.a $(LDADD)
tests_unit_test_rnic_optics_SOURCES = $(RNIC_FIXTURE) tests/unit/rnic_modules.c tests/unit/rnic_modules.h \
	tests/unit/test_rnic_optics.c
tests_unit_test_rnic_optics_LDADD = librnic_state.a libprobe.a $(LDADD)
tests_unit_test_rnic_settings_SOURCES = $(RNIC_FIXTURE) tests/unit/test_rnic_settings.c
tests_unit_test_rnic_settings_LDADD = librnic_state.a libprobe.a $(COMMAND_LIBS) $(LDADD)
tests_unit_test_rnic_state_SOURCES = $(RNIC_FIXTURE) tests/unit/test_rnic_state.c
tests_unit_test_rnic_state_LDADD = librnic_state.a libprobe.a $(LDADD)
tests_unit_test_runner_SOURCES = $(RUNNER_FIXTURE) tests/unit/test_runner.c
tests_unit_test_runner_LDADD = $(RUNNER_TESTS)
tests_unit_test_runner_process_SOURCES = $(RUNNER_FIXTURE) tests/unit/test_runner_process.c
tests_unit_test_runner_process_LDADD = $(RUNNER_TESTS)
tests_unit_test_schedule_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_sensitivity_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_sensitivity.c
tests_unit_test_sensitivity_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_sensitivity_random_SOURCES = tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	tests/unit/test_sensitivity_random.c
tests_unit_test_sensitivity_random_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_show_run_LDADD = $(COMMAND_LIBS) $(LDADD)
tests_unit_test_show_sensitivity_LDADD = $(COMMAND_LIBS) $(LDADD)
tests_unit_test_sku_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_sku_host_LDADD = $(KEEP_LIBS) $(LDADD)
tests_unit_test_sku_rows_SOURCES = $(RDMA_SIM) tests/unit/loopback_fabric.c tests/unit/loopback_fabric.h \
	tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	tests/unit/sku_files.c tests/unit/sku_files.h tests/unit/test_sku_rows.c
tests_unit_test_sku_rows_LDADD = libloopback.a librdma.a librnic_state.a libmemory.a libaccel.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) libprobe.a $(LDADD)
tests_unit_test_spool_LDADD = $(KEEP_LIBS) $(LDADD)
tests_unit_test_standing_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_standing.c
tests_unit_test_standing_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_startup_SOURCES = tests/unit/test_startup.c
tests_unit_test_startup_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_silicon_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_sim_job_window_SOURCES = tests/sim/job_plan.c tests/sim/job_plan.h tests/sim/job_window.c \
	tests/sim/job_window.h tests/sim/noise.c tests/sim/noise.h tests/unit/random.h tests/unit/test_sim_job_window.c
tests_unit_test_sim_job_window_LDADD = libjobs.a $(ATTRIBUTION_LIBS) $(LDADD)
tests_unit_test_job_log_match_SOURCES = tests/unit/test_job_log_match.c
tests_unit_test_job_log_match_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_job_log_owner_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_rhythm_SOURCES = tests/unit/random.h tests/unit/test_rhythm.c
tests_unit_test_rhythm_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_standstill_SOURCES = tests/unit/random.h tests/unit/test_standstill.c
tests_unit_test_standstill_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_suspicion_SOURCES = tests/unit/random.h tests/unit/test_suspicion.c
tests_unit_test_suspicion_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_stats_SOURCES = tests/unit/random.h tests/unit/test_stats.c
tests_unit_test_stats_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_term_LDADD = $(LDADD) -lutil
tests_unit_test_topology_SOURCES = $(TOPOLOGY_FIXTURE) tests/unit/test_topology.c
tests_unit_test_topology_LDADD = $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_topology_draw_SOURCES = $(TOPOLOGY_FIXTURE) tests/unit/test_topology_draw.c
tests_unit_test_topology_draw_LDADD = libtopologycommand.a $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_topology_files_SOURCES = $(TOPOLOGY_FIXTURE) tests/unit/test_topology_files.c
tests_unit_test_topology_files_LDADD = $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_topology_json_SOURCES = $(TOPOLOGY_FIXTURE) tests/unit/test_topology_json.c
tests_unit_test_topology_json_LDADD = $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_topology_pci_LDADD = $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_trace_line_SOURCES = tests/unit/random.h tests/unit/test_trace_line.c
tests_unit_test_trace_line_LDADD = $(LDADD) $(TRACE_LIBS)
tests_unit_test_trace_reader_LDADD = $(LDADD) $(TRACE_LIBS)
tests_unit_test_trace_reader_CPPFLAGS = $(AM_CPPFLAGS) -DTRACES_BESIDE='"$(abs_srcdir)/../shared/traces"'
tests_unit_test_trend_SOURCES = tests/unit/random.h tests/unit/reports.c tests/unit/reports.h tests/unit/test_trend.c
tests_unit_test_trend_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_uplink_LDADD = libassaydcore.a $(GZIP_LIBS) $(LDADD)
tests_unit_test_verdict_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_verdict.c
tests_unit_test_verdict_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_verdict_json_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_verdict_json.c
tests_unit_test_verdict_json_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_verdict_links_SOURCES = tests/unit/mesh.c tests/unit/mesh.h tests/unit/random.h tests/unit/reports.c \
	tests/unit/reports.h tests/unit/test_verdict_links.c
tests_unit_test_verdict_links_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_verdict_random_SOURCES = tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	tests/unit/test_verdict_random.c
tests_unit_test_verdict_random_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_verdict_runs_SOURCES = tests/unit/mesh.c tests/unit/mesh.h tests/unit/random.h tests/unit/reports.c \
	tests/unit/reports.h tests/unit/test_verdict_runs.c
tests_unit_test_verdict_runs_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_watch_random_SOURCES = $(WATCH_FIXTURE) tests/unit/random.h tests/unit/test_watch_random.c
tests_unit_test_watch_random_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_windows_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_words_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_words.c
tests_unit_test_words_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_worker_LDADD = libaccelcuda.a $(LDADD)
if HAVE_LT_HEADER
UNIT_TESTS += tests/unit/test_cuda_abi
tests_unit_test_cuda_abi_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
endif
if HAVE_CBLAS
UNIT_TESTS += tests/unit/test_accel_host tests/unit/test_accel_host_sys
tests_unit_test_accel_host_LDADD = $(ACCEL_LIBS) $(LDADD)
tests_unit_test_accel_host_sys_LDADD = $(ACCEL_LIBS) $(LDADD)
endif
if HAVE_NCCL_HEADER
UNIT_TESTS += tests/unit/test_nccl_abi
tests_unit_test_nccl_abi_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
endif
if HAVE_NVML_HEADER
UNIT_TESTS += tests/unit/test_nvml_abi
tests_unit_test_nvml_abi_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_nvml_abi_LDADD = libgpu_state.a $(LDADD)
endif
if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
UNIT_TESTS += tests/unit/test_advice tests/unit/test_prediction tests/unit/test_actor tests/unit/test_actor_again tests/unit/test_actor_confirm \
	tests/unit/test_actor_drain tests/unit/test_actor_hands tests/unit/test_actor_paired tests/unit/test_actor_queue \
	tests/unit/test_actor_random tests/unit/test_actor_shared tests/unit/test_actor_twins tests/unit/test_anomalies \
	tests/unit/test_accused tests/unit/test_alert tests/unit/test_alert_book tests/unit/test_api_ask tests/unit/test_authz tests/unit/test_beats_kept tests/unit/test_baseline tests/unit/test_baseline_store \
	tests/unit/test_cluster_names tests/unit/test_coverage_codec tests/unit/test_db tests/unit/test_diagnosis_rerun tests/unit/test_drift tests/unit/test_findings tests/unit/test_fleet_view tests/unit/test_group_brought \
	tests/unit/test_host_identity tests/unit/test_ingest tests/unit/test_investigation tests/unit/test_job_facts tests/unit/test_job_rungs tests/unit/test_job_loads tests/unit/test_job_view tests/unit/test_live tests/unit/test_load_shed tests/unit/test_metric_series \
	tests/unit/test_node_record tests/unit/test_node_view tests/unit/test_opinion \
	tests/unit/test_pack tests/unit/test_pair_brought tests/unit/test_peer_quotas tests/unit/test_placement tests/unit/test_rail_map tests/unit/test_report_clock \
	tests/unit/test_reservation tests/unit/test_retention tests/unit/test_host_speeds tests/unit/test_self_baseline tests/unit/test_standing_codec \
	tests/unit/test_store tests/unit/test_store_alerts tests/unit/test_store_crash tests/unit/test_store_investigations tests/unit/test_store_jobs tests/unit/test_store_placements tests/unit/test_store_places tests/unit/test_store_predictions tests/unit/test_store_thin \
	tests/unit/test_summary tests/unit/test_join tests/unit/test_token_buckets tests/unit/test_tokens
tests_unit_test_metric_series_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_investigation_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_alert_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_alert_book_SOURCES = tests/unit/random.h tests/unit/test_alert_book.c
tests_unit_test_alert_book_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_beats_kept_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_accused_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_diagnosis_rerun_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_job_loads_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_advice_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_prediction_LDADD = libjobs.a $(ATTRIBUTION_LIBS) libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_group_brought_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_pair_brought_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_job_rungs_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_job_facts_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_job_view_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_placement_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_store_placements_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_store_alerts_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_store_investigations_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_store_predictions_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_store_jobs_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_summary_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_join_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_tokens_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_SOURCES = tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c \
	tests/unit/reports.h tests/unit/test_actor.c
tests_unit_test_actor_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_again_SOURCES = tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c \
	tests/unit/reports.h tests/unit/test_actor_again.c
tests_unit_test_actor_again_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_again_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_confirm_SOURCES = tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c \
	tests/unit/reports.h tests/unit/test_actor_confirm.c
tests_unit_test_actor_confirm_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_confirm_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_drain_SOURCES = tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c \
	tests/unit/reports.h tests/unit/test_actor_drain.c
tests_unit_test_actor_drain_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_drain_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_hands_SOURCES = tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c \
	tests/unit/reports.h tests/unit/test_actor_hands.c
tests_unit_test_actor_hands_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_hands_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_paired_SOURCES = tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c \
	tests/unit/reports.h tests/unit/test_actor_paired.c
tests_unit_test_actor_paired_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_paired_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_random_SOURCES = tests/unit/act_world.c tests/unit/act_world.h tests/unit/random.h \
	tests/unit/reports.c tests/unit/reports.h tests/unit/test_actor_random.c
tests_unit_test_actor_random_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_random_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_shared_SOURCES = tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c \
	tests/unit/reports.h tests/unit/test_actor_shared.c
tests_unit_test_actor_shared_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_shared_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_twins_SOURCES = tests/unit/act_world.c tests/unit/act_world.h tests/unit/random.h \
	tests/unit/reports.c tests/unit/reports.h tests/unit/test_actor_twins.c
tests_unit_test_actor_twins_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_twins_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_api_ask_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS) $(MICROHTTPD_CFLAGS)
tests_unit_test_api_ask_LDADD = $(CONTROLLER_LIBS) $(LDADD)
tests_unit_test_report_clock_LDADD = libcontroller.a $(LDADD)
tests_unit_test_baseline_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_baseline.c
tests_unit_test_baseline_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_baseline_store_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_baseline_store.c
tests_unit_test_baseline_store_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_cluster_names_LDADD = libcontroller.a $(LDADD)
tests_unit_test_db_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_db_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_drift_LDADD = libcontroller.a $(LDADD)
tests_unit_test_findings_SOURCES = tests/unit/count_incidents.h tests/unit/mesh.c tests/unit/mesh.h tests/unit/random.h tests/unit/reports.c \
	tests/unit/reports.h tests/unit/test_findings.c
tests_unit_test_findings_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_ingest_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_ingest.c
tests_unit_test_ingest_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_standing_codec_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_standing_codec.c
tests_unit_test_standing_codec_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_token_buckets_LDADD = libcontroller.a $(LDADD)
tests_unit_test_live_LDADD = libcontroller.a $(LDADD)
tests_unit_test_fleet_view_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_rail_map_LDADD = $(CONTROLLER_LIBS) $(LDADD)
tests_unit_test_node_record_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_node_record_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_node_view_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_opinion_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_peer_quotas_LDADD = libcontroller.a $(LDADD)
tests_unit_test_pack_LDADD = libcontroller.a $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_queue_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_reservation_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_reservation_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_retention_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_coverage_codec_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_coverage_codec.c
tests_unit_test_coverage_codec_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_load_shed_LDADD = libcontroller.a $(LDADD)
tests_unit_test_anomalies_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_host_identity_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_host_identity.c
tests_unit_test_host_identity_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_store_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_store.c
tests_unit_test_store_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_store_crash_SOURCES = tests/fakes/crash_dump.c tests/fakes/crash_file.c tests/fakes/crash_file.h \
	tests/fakes/crash_vfs.c tests/fakes/crash_vfs.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	tests/unit/test_store_crash.c
tests_unit_test_store_crash_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_crash_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_store_places_SOURCES = tests/unit/reports.c tests/unit/reports.h tests/unit/test_store_places.c
tests_unit_test_store_places_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_places_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_store_thin_SOURCES = tests/unit/count_incidents.h tests/unit/reports.c tests/unit/reports.h tests/unit/test_store_thin.c
tests_unit_test_store_thin_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_authz_LDADD = $(CONTROLLER_LIBS) $(LDADD)
tests_unit_test_host_speeds_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_self_baseline_SOURCES = tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	tests/unit/test_self_baseline.c
tests_unit_test_self_baseline_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
if HAVE_CURL
check_LIBRARIES += libkubefake.a
libkubefake_a_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
libkubefake_a_SOURCES = $(KUBE_NODES_SOURCES) tests/unit/kube_fake.c tests/unit/kube_fake.h tests/unit/kube_world.c \
	tests/unit/kube_world.h
KUBE_FAKE_LIBS = libkubefake.a libcontroller.a $(LDADD) $(SYSTEMD_LIBS)
KUBE_WORLD = tests/unit/cluster_world.c tests/unit/cluster_world.h tests/unit/kube_memory.c tests/unit/kube_memory.h
IDENTITY_WORLD = tests/unit/identity_world.c tests/unit/identity_world.h tests/unit/jwt.c tests/unit/jwt.h

# With a server of its own in the place of kube_send(): so these files, and not the library.
UNIT_TESTS += tests/unit/test_cluster_kube tests/unit/test_cluster_kube_random tests/unit/test_cluster_kube_told \
	tests/unit/test_kube_address tests/unit/test_kube_config tests/unit/test_kube_credentials tests/unit/test_kube_drain \
	tests/unit/test_kube_error tests/unit/test_kube_identity tests/unit/test_kube_identity_flood \
	tests/unit/test_kube_jobs tests/unit/test_kube_lease tests/unit/test_kube_ledger tests/unit/test_kube_node \
	tests/unit/test_kube_patch tests/unit/test_kube_path tests/unit/test_kube_places tests/unit/test_kube_pods tests/unit/test_kube_prefix \
	tests/unit/test_kube_stale tests/unit/test_kube_token tests/unit/test_kube_watch tests/unit/test_kube_watch_random \
	tests/unit/test_lease_random tests/unit/test_lease_state
tests_unit_test_cluster_kube_SOURCES = $(KUBE_WORLD) tests/unit/test_cluster_kube.c
tests_unit_test_cluster_kube_LDADD = $(KUBE_LIBS) libcontroller.a $(LDADD) $(SYSTEMD_LIBS)
tests_unit_test_cluster_kube_random_SOURCES = $(KUBE_WORLD) tests/unit/random.h tests/unit/test_cluster_kube_random.c
tests_unit_test_cluster_kube_random_LDADD = $(KUBE_LIBS) libcontroller.a $(LDADD) $(SYSTEMD_LIBS)
tests_unit_test_cluster_kube_told_SOURCES = $(KUBE_WORLD) tests/unit/test_cluster_kube_told.c
tests_unit_test_cluster_kube_told_LDADD = $(KUBE_LIBS) libcontroller.a $(LDADD) $(SYSTEMD_LIBS)
tests_unit_test_kube_address_LDADD = libkube.a libcontroller.a $(LDADD)
tests_unit_test_kube_config_LDADD = libkube.a $(LDADD)
tests_unit_test_kube_credentials_LDADD = libkube.a $(HTTP_LIBS) $(LDADD)
tests_unit_test_kube_drain_SOURCES = tests/unit/drain_server.c tests/unit/drain_server.h tests/unit/test_kube_drain.c
tests_unit_test_kube_drain_LDADD = $(KUBE_LIBS) libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_kube_error_LDADD = libkube.a $(LDADD)
tests_unit_test_kube_identity_SOURCES = $(IDENTITY_WORLD) tests/unit/test_kube_identity.c
tests_unit_test_kube_identity_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_test_kube_identity_LDADD = $(KUBE_LIBS) $(CONTROLLER_LIBS) $(LDADD)
tests_unit_test_kube_identity_flood_SOURCES = $(IDENTITY_WORLD) tests/unit/test_kube_identity_flood.c
tests_unit_test_kube_identity_flood_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_test_kube_identity_flood_LDADD = $(KUBE_LIBS) $(CONTROLLER_LIBS) $(LDADD)
tests_unit_test_kube_jobs_LDADD = $(KUBE_LIBS) $(JUDGE_LIBS) $(LDADD)
tests_unit_test_kube_lease_SOURCES = tests/unit/lease_fake.c tests/unit/lease_fake.h tests/unit/test_kube_lease.c
tests_unit_test_kube_lease_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_test_kube_lease_LDADD = libkube.a libcontroller.a $(LDADD) $(SYSTEMD_LIBS)
tests_unit_test_kube_ledger_SOURCES = tests/unit/lease_fake.c tests/unit/lease_fake.h tests/unit/test_kube_ledger.c
tests_unit_test_kube_ledger_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_test_kube_ledger_LDADD = libkube.a libcontroller.a $(LDADD) $(SYSTEMD_LIBS)
tests_unit_test_kube_node_LDADD = libkube.a libcontroller.a $(LDADD)
tests_unit_test_kube_patch_LDADD = $(KUBE_LIBS) libcontroller.a $(LDADD)
tests_unit_test_kube_path_LDADD = libkube.a $(LDADD)
tests_unit_test_kube_places_LDADD = $(KUBE_LIBS) $(JUDGE_LIBS) $(LDADD)
tests_unit_test_kube_pods_LDADD = $(KUBE_LIBS) $(JUDGE_LIBS) $(LDADD)
tests_unit_test_kube_prefix_LDADD = $(KUBE_LIBS) libcontroller.a $(LDADD)
tests_unit_test_kube_stale_LDADD = $(KUBE_FAKE_LIBS)
tests_unit_test_kube_token_SOURCES = tests/unit/jwt.c tests/unit/jwt.h tests/unit/test_kube_token.c
tests_unit_test_kube_token_LDADD = $(KUBE_LIBS) $(CONTROLLER_LIBS) $(LDADD)
tests_unit_test_kube_watch_LDADD = $(KUBE_FAKE_LIBS)
tests_unit_test_kube_watch_random_LDADD = $(KUBE_FAKE_LIBS)
tests_unit_test_lease_random_SOURCES = tests/unit/lease_server.c tests/unit/lease_server.h tests/unit/random.h \
	tests/unit/test_lease_random.c
tests_unit_test_lease_random_LDADD = libkube.a $(LDADD)
tests_unit_test_lease_state_SOURCES = tests/unit/lease_server.c tests/unit/lease_server.h \
	tests/unit/test_lease_state.c
tests_unit_test_lease_state_LDADD = libkube.a $(LDADD)
endif
endif
endif
endif

# What assayd sees of jobs that stand still.
UNIT_TESTS += tests/unit/test_hang_document tests/unit/test_hang_sight tests/unit/test_hang_ranks
tests_unit_test_hang_document_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_hang_sight_LDADD = libassaydcore.a $(KEEP_LIBS) $(LDADD) -lpthread
tests_unit_test_hang_ranks_LDADD = libassaydcore.a $(HANG_LIBS) $(KEEP_LIBS) $(LDADD)

# Hangs.
UNIT_TESTS += tests/unit/test_hang tests/unit/test_hang_hosts tests/unit/test_hang_part tests/unit/test_hang_sim
tests_unit_test_hang_LDADD = libhangworld.a $(HANG_LIBS) $(LDADD)
tests_unit_test_hang_hosts_LDADD = $(HANG_LIBS) $(LDADD)
tests_unit_test_hang_part_LDADD = $(HANG_LIBS) $(LDADD)
tests_unit_test_hang_sim_LDADD = libhangworld.a $(HANG_LIBS) $(LDADD)

# RAS and py-spy.
UNIT_TESTS += tests/unit/test_hang_ras tests/unit/test_hang_stack
tests_unit_test_hang_ras_SOURCES = tests/unit/ras_fixture.c tests/unit/ras_fixture.h tests/unit/test_hang_ras.c
tests_unit_test_hang_ras_LDADD = $(HANG_LIBS) $(LDADD)
tests_unit_test_hang_stack_LDADD = $(HANG_LIBS) $(LDADD)
# Rings of the NCCL plug-in, as assayd reads them.
UNIT_TESTS += tests/unit/test_ring_hang tests/unit/test_ring_read tests/unit/test_ring_rules
tests_unit_test_ring_hang_LDADD = libassaydcore.a $(RING_LIBS) $(LDADD)
tests_unit_test_ring_read_SOURCES = tests/unit/random.h tests/unit/ring_forge.c tests/unit/ring_forge.h \
	tests/unit/test_ring_read.c
tests_unit_test_ring_read_LDADD = $(RING_LIBS) $(LDADD)
tests_unit_test_ring_rules_LDADD = libassaydcore.a $(LDADD)
# Hangs in the controller.
UNIT_TESTS += tests/unit/test_hung
tests_unit_test_hung_LDADD = $(JUDGE_LIBS) $(LDADD)
if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
UNIT_TESTS += tests/unit/test_job_hang
tests_unit_test_job_hang_LDADD = $(CONTROLLER_LIBS) $(JUDGE_LIBS) $(LDADD)
tests_unit_test_job_hang_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
endif
endif
endif
EXTRA_DIST += tests/unit/test_hang_asked.c tests/unit/test_hang_touch.c
if HAVE_SYSTEMD
UNIT_TESTS += tests/unit/test_hang_asked
tests_unit_test_hang_asked_SOURCES = agents/assayd/pyspy.c agents/assayd/pyspy.h agents/assayd/ras_client.c \
	agents/assayd/ras_client.h tests/unit/ras_fixture.c tests/unit/ras_fixture.h tests/unit/test_hang_asked.c
tests_unit_test_hang_asked_CPPFLAGS = $(AM_CPPFLAGS) -DFAKES='"$(abs_srcdir)/tests/fakes"'
tests_unit_test_hang_asked_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_test_hang_asked_LDADD = libassaydcore.a $(HANG_LIBS) $(LDADD) $(SYSTEMD_LIBS)
UNIT_TESTS += tests/unit/test_hang_touch
tests_unit_test_hang_touch_SOURCES = agents/assayd/hang_touch.c agents/assayd/hang_touch.h agents/assayd/pyspy.c agents/assayd/pyspy.h \
	agents/assayd/ras_client.c agents/assayd/ras_client.h tests/unit/test_hang_touch.c
tests_unit_test_hang_touch_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_test_hang_touch_LDADD = libassaydcore.a $(HANG_LIBS) $(LDADD) $(SYSTEMD_LIBS)
endif

# Rings of the NCCL plug-in, as assayd reads them.
if HAVE_SYSTEMD
UNIT_TESTS += tests/unit/test_ring_store tests/unit/test_rings
tests_unit_test_ring_store_SOURCES = agents/assayd/ring_store.c tests/unit/ring_forge.c tests/unit/ring_forge.h \
	tests/unit/test_ring_store.c
tests_unit_test_ring_store_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_test_ring_store_LDADD = libassaydcore.a $(RING_LIBS) $(KEEP_LIBS) $(LDADD) $(SYSTEMD_LIBS)
tests_unit_test_rings_SOURCES = agents/assayd/ring_sample.c agents/assayd/ring_socket.c agents/assayd/ring_store.c agents/assayd/rings.c \
	tests/unit/ring_forge.c tests/unit/ring_forge.h tests/unit/test_rings.c
tests_unit_test_rings_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_test_rings_LDADD = libassaydcore.a $(RING_LIBS) $(KEEP_LIBS) $(GZIP_LIBS) $(LDADD) $(SYSTEMD_LIBS)
endif
UNIT_TESTS += tests/unit/test_ring_clock tests/unit/test_ring_late tests/unit/test_ring_optrace tests/unit/test_ring_period
tests_unit_test_ring_clock_LDADD = libringworld.a libjobs.a $(RING_LIBS) $(LDADD)
tests_unit_test_ring_late_LDADD = libringworld.a libjobs.a $(RING_LIBS) $(LDADD)
tests_unit_test_ring_optrace_LDADD = libringworld.a libjobs.a $(RING_LIBS) $(LDADD)
tests_unit_test_ring_period_SOURCES = tests/unit/random.h tests/unit/test_ring_period.c
tests_unit_test_ring_period_LDADD = $(RING_LIBS) $(LDADD)
# What gpu-state reads of NVML.
UNIT_TESTS += tests/unit/test_nvml_field tests/unit/test_nvml_process
tests_unit_test_nvml_field_LDADD = libaccelcuda.a $(LDADD)
tests_unit_test_nvml_process_LDADD = libaccelcuda.a $(LDADD)
# Healthy fleets against the SKU files.
UNIT_TESTS += tests/unit/test_sku_fleet
tests_unit_test_sku_fleet_SOURCES = tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	tests/unit/sku_files.c tests/unit/sku_files.h tests/unit/test_sku_fleet.c
tests_unit_test_sku_fleet_LDADD = $(JUDGE_LIBS) $(LDADD)
# Restarts as evidence.
UNIT_TESTS += tests/unit/test_restarts
tests_unit_test_restarts_SOURCES = tests/unit/random.h tests/unit/test_restarts.c
tests_unit_test_restarts_LDADD = $(JUDGE_LIBS) $(LDADD)
# Clocks of a trace by the ends of its operations.
UNIT_TESTS += tests/unit/test_attribution_ends
tests_unit_test_attribution_ends_LDADD = libjobs.a $(ATTRIBUTION_LIBS) $(LDADD)
# Burns.
UNIT_TESTS += tests/unit/test_burn_queue tests/unit/test_gemm_burn
tests_unit_test_burn_queue_SOURCES = controller/actions/burn_queue.c controller/actions/burn_queue.h tests/unit/test_burn_queue.c
tests_unit_test_gemm_burn_SOURCES = $(GEMM_FIXTURE) tests/unit/random.h tests/unit/test_gemm_burn.c
tests_unit_test_gemm_burn_LDADD = $(GEMM_LIBS) $(LDADD)
# Pairs between memories of GPUs.
UNIT_TESTS += tests/unit/test_pair_gpu
tests_unit_test_pair_gpu_SOURCES = $(PAIR_HOSTS) tests/fakes/accel_sim.c tests/fakes/accel_sim.h \
	tests/fakes/accel_sim_inside.h tests/fakes/accel_sim_memory.c tests/unit/mesh_host.c tests/unit/mesh_host.h \
	tests/unit/random.h tests/unit/test_pair_gpu.c
tests_unit_test_pair_gpu_LDADD = $(PAIR_TEST_LIBS)
UNIT_TESTS += tests/unit/test_pair_lane
tests_unit_test_pair_lane_SOURCES = $(PAIR_FABRIC) tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/random.h \
	tests/unit/reports.c tests/unit/reports.h tests/unit/test_pair_lane.c
tests_unit_test_pair_lane_LDADD = $(JUDGE_LIBS) $(PAIR_TEST_LIBS)
# Launches of a host.
UNIT_TESTS += tests/unit/test_gemm_launch
tests_unit_test_gemm_launch_SOURCES = $(GEMM_FIXTURE) tests/unit/test_gemm_launch.c
tests_unit_test_gemm_launch_LDADD = $(GEMM_LIBS) $(LDADD)
EXTRA_DIST += tests/unit/test_launch_fleet.c
if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
UNIT_TESTS += tests/unit/test_launch_fleet
tests_unit_test_launch_fleet_SOURCES = tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	tests/unit/test_launch_fleet.c
tests_unit_test_launch_fleet_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
endif
endif
endif
# InfiniBand ports without a network device.
UNIT_TESTS += tests/unit/test_mlx5_register
tests_unit_test_mlx5_register_SOURCES = $(RNIC_FIXTURE) tests/unit/random.h tests/unit/rnic_modules.c \
	tests/unit/rnic_modules.h tests/unit/test_mlx5_register.c
tests_unit_test_mlx5_register_LDADD = librnic_state.a libprobe.a $(LDADD)
# The web page, and its sessions.
if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
UNIT_TESTS += tests/unit/test_page tests/unit/test_store_sessions
tests_unit_test_page_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_store_sessions_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
# What a picture of a job needs.
UNIT_TESTS += tests/unit/test_summary_detail
tests_unit_test_summary_detail_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
# What a plan takes of an analysis.
UNIT_TESTS += tests/unit/test_plan_facts
tests_unit_test_plan_facts_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
# What a plan promised, against what came.
UNIT_TESTS += tests/unit/test_plan_check
tests_unit_test_plan_check_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
endif
endif
endif
# Whose removal gains its job most.
UNIT_TESTS += tests/unit/test_decide_gain
tests_unit_test_decide_gain_SOURCES = $(FLEET_WORLD) tests/unit/random.h tests/unit/test_decide_gain.c
tests_unit_test_decide_gain_LDADD = $(JUDGE_LIBS) $(LDADD)
# Ways out for jobs with bad hosts.
UNIT_TESTS += tests/unit/test_remedy
tests_unit_test_remedy_LDADD = $(REMEDY_LIBS) $(LDADD)
# Schedules of pipelines, and spare hosts.
UNIT_TESTS += tests/unit/test_pipe_schedule tests/unit/test_rearrange tests/unit/test_standby
tests_unit_test_pipe_schedule_LDADD = $(REMEDY_LIBS) $(LDADD)
tests_unit_test_rearrange_LDADD = $(REMEDY_LIBS) $(LDADD)
tests_unit_test_standby_LDADD = $(REMEDY_LIBS) $(LDADD)
UNIT_TESTS += tests/unit/test_remedies
tests_unit_test_remedies_SOURCES = tests/unit/random.h tests/unit/test_remedies.c
tests_unit_test_remedies_LDADD = $(REMEDY_LIBS) $(LDADD)
UNIT_TESTS += tests/unit/test_remedies_noise
tests_unit_test_remedies_noise_SOURCES = tests/unit/random.h tests/unit/test_remedies_noise.c
tests_unit_test_remedies_noise_LDADD = $(REMEDY_LIBS) $(LDADD)
# Groups by length of sequence, and their plans.
UNIT_TESTS += tests/unit/test_hotspa_plan
tests_unit_test_hotspa_plan_SOURCES = tests/unit/random.h tests/unit/test_hotspa_plan.c
tests_unit_test_hotspa_plan_LDADD = $(REMEDY_LIBS) $(LDADD)
if HAVE_CUNIT
check_LIBRARIES += libtest.a
libtest_a_SOURCES = tests/unit/test.c tests/unit/test.h
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
LOG_COMPILER = $(EMULATOR)
endif
