# SPDX-License-Identifier: Apache-2.0
# tests/unit: CUnit, one suite per module and one program per area, which runs each suite in its own process (run.c).
# Included by Makefile.am. Add a new test file to the list of its area; other files that its suites need are below.
LDADD = libtest.a $(BASE_LIBS) $(CUNIT_LIBS)

# lib/base, lib/json, lib/net, lib/report, lib/sys and lib/topology.
UNIT_TESTS += tests/unit/base
tests_unit_base_SOURCES = \
	tests/unit/test_base64.c tests/unit/test_circle.c tests/unit/test_clock.c tests/unit/test_clock_pair.c tests/unit/test_cpuinfo.c \
	tests/unit/test_err.c tests/unit/test_file.c tests/unit/test_glob.c tests/unit/test_host_parts.c tests/unit/test_http_date.c tests/unit/test_json.c \
	tests/unit/test_jval.c tests/unit/test_kernel_rules.c tests/unit/test_kmsg.c tests/unit/test_kv.c tests/unit/test_lock.c tests/unit/test_log_limit.c \
	tests/unit/test_machine.c tests/unit/test_map.c tests/unit/test_paths.c tests/unit/test_report.c tests/unit/test_report_numbers.c \
	tests/unit/test_report_read.c tests/unit/test_report_values.c tests/unit/test_sha256.c tests/unit/test_start.c tests/unit/test_state.c \
	tests/unit/test_strbuf.c tests/unit/test_table.c tests/unit/test_term.c tests/unit/test_topology.c tests/unit/test_topology_draw.c \
	tests/unit/test_topology_file.c tests/unit/test_topology_files.c tests/unit/test_topology_json.c tests/unit/test_topology_pci.c \
	tests/unit/test_try_child.c tests/unit/test_url.c tests/unit/test_utf8.c tests/unit/test_watched.c tests/unit/test_writers.c tests/unit/test_yaml.c \
	tests/unit/both_readers.c tests/unit/both_readers.h tests/unit/random.h tests/unit/topology_fixture.c tests/unit/topology_fixture.h
tests_unit_base_LDADD = libtopologycommand.a $(TOPOLOGY_LIBS) $(LDADD) -lutil

# lib/judge.
UNIT_TESTS += tests/unit/judge
tests_unit_judge_SOURCES = \
	tests/unit/test_admit.c tests/unit/test_bad_run.c tests/unit/test_compared.c tests/unit/test_link_words.c tests/unit/test_localise.c \
	tests/unit/test_localise_mesh.c tests/unit/test_localise_small.c tests/unit/test_localise_strangers.c tests/unit/test_missing.c \
	tests/unit/test_reference.c tests/unit/test_rhythm.c tests/unit/test_sensitivity.c tests/unit/test_sensitivity_random.c tests/unit/test_silicon.c \
	tests/unit/test_sku.c tests/unit/test_sku_fleet.c tests/unit/test_standing.c tests/unit/test_startup.c tests/unit/test_stats.c \
	tests/unit/test_trend.c tests/unit/test_verdict.c tests/unit/test_verdict_json.c tests/unit/test_verdict_links.c tests/unit/test_verdict_random.c \
	tests/unit/test_verdict_runs.c tests/unit/test_words.c \
	tests/unit/mesh.c tests/unit/mesh.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h tests/unit/sku_files.c tests/unit/sku_files.h
tests_unit_judge_LDADD = $(JUDGE_LIBS) $(LDADD)

# lib/policy, lib/pairing and controller/campaign.
UNIT_TESTS += tests/unit/policy
tests_unit_policy_SOURCES = \
	tests/unit/test_blame.c tests/unit/test_breaker.c tests/unit/test_campaign.c tests/unit/test_campaign_keep.c tests/unit/test_campaign_random.c \
	tests/unit/test_campaign_says.c tests/unit/test_decide.c tests/unit/test_decide_domain.c tests/unit/test_decide_drain.c tests/unit/test_decide_gain.c \
	tests/unit/test_decide_groups.c tests/unit/test_decide_link.c tests/unit/test_decide_random.c tests/unit/test_decide_rungs.c \
	tests/unit/test_decide_runs.c tests/unit/test_decide_shared.c tests/unit/test_diagnosis.c tests/unit/test_fleet_jobs.c tests/unit/test_hold.c \
	tests/unit/test_hung.c tests/unit/test_job_groups.c tests/unit/test_job_judge.c tests/unit/test_job_slow.c tests/unit/test_manual_rate.c \
	tests/unit/test_pair_rungs.c tests/unit/test_pairing.c tests/unit/test_pairing_random.c tests/unit/test_pairing_sim.c tests/unit/test_policy.c \
	tests/unit/test_policy_jobs.c tests/unit/test_refusal.c tests/unit/test_release.c tests/unit/test_replay.c tests/unit/test_restarts.c \
	tests/unit/test_rungs.c tests/unit/test_standstill.c tests/unit/test_suspicion.c tests/unit/test_windows.c \
	tests/unit/campaign_lab.c tests/unit/campaign_lab.h tests/unit/fleet_books.c tests/unit/fleet_books.h tests/unit/fleet_world.c \
	tests/unit/fleet_world.h tests/unit/job_scene.h tests/unit/pairing_world.c tests/unit/pairing_world.h tests/unit/random.h tests/unit/reports.c \
	tests/unit/reports.h
tests_unit_policy_LDADD = $(CAMPAIGN_LIBS) $(LDADD)

# probes/harness, probes/gpu_state, probes/host_state and probes/rnic_state.
UNIT_TESTS += tests/unit/probes
tests_unit_probes_SOURCES = \
	tests/unit/test_counter.c tests/unit/test_cpu_use.c tests/unit/test_gpu_state.c tests/unit/test_host_state_known.c tests/unit/test_host_state_pci.c \
	tests/unit/test_mlx5_register.c tests/unit/test_rnic_lldp.c tests/unit/test_rnic_module.c tests/unit/test_rnic_optics.c \
	tests/unit/test_rnic_settings.c tests/unit/test_rnic_state.c \
	tests/unit/random.h tests/unit/rnic_fixture.c tests/unit/rnic_fixture.h tests/unit/rnic_modules.c tests/unit/rnic_modules.h
tests_unit_probes_LDADD = libgpu_state.a libhost_state.a librnic_state.a libaccelcuda.a libaccel.a libprobe.a $(COMMAND_LIBS) $(LDADD)

# probes/accel, probes/gemm and probes/memory.
UNIT_TESTS += tests/unit/gpu
tests_unit_gpu_SOURCES = \
	tests/unit/test_accel.c tests/unit/test_accel_cuda.c tests/unit/test_gemm_ballot.c tests/unit/test_gemm_burn.c tests/unit/test_gemm_cause.c tests/unit/test_gemm_check.c \
	tests/unit/test_gemm_launch.c tests/unit/test_gemm_rate.c tests/unit/test_gemm_verify.c tests/unit/test_gemm_vote.c tests/unit/test_gpu_users.c \
	tests/unit/test_memory_contention.c tests/unit/test_memory_gpu.c tests/unit/test_memory_numa.c tests/unit/test_memory_pattern.c \
	tests/unit/test_memory_rate.c tests/unit/test_memory_sizing.c tests/unit/test_nvml_field.c tests/unit/test_nvml_process.c tests/unit/test_worker.c \
	tests/fakes/accel_sim.c tests/fakes/accel_sim.h tests/fakes/accel_sim_inside.h tests/fakes/accel_sim_memory.c tests/unit/gemm_fixture.c \
	tests/unit/gemm_fixture.h tests/unit/memory_tree.c tests/unit/memory_tree.h tests/unit/random.h
if HAVE_CBLAS
tests_unit_gpu_SOURCES += \
	tests/unit/test_accel_host.c tests/unit/test_accel_host_sys.c
endif
if HAVE_LT_HEADER
tests_unit_gpu_SOURCES += \
	tests/unit/test_cuda_abi.c
endif
if HAVE_NCCL_HEADER
tests_unit_gpu_SOURCES += \
	tests/unit/test_nccl_abi.c
endif
if HAVE_NVML_HEADER
tests_unit_gpu_SOURCES += \
	tests/unit/test_nvml_abi.c
endif
tests_unit_gpu_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_gpu_LDADD = libgpu_state.a libmemorygpu.a $(GEMM_LIBS) $(TOPOLOGY_LIBS) $(ACCEL_LIBS) $(LDADD)

# Measurements through RNICs: probes/rdma, loopback, rnic_pair, coll, all_reduce and all_to_all.
UNIT_TESTS += tests/unit/rdma
tests_unit_rdma_SOURCES = \
	tests/unit/test_all_reduce.c tests/unit/test_all_reduce_words.c tests/unit/test_all_to_all.c tests/unit/test_all_to_all_rnics.c \
	tests/unit/test_coll.c tests/unit/test_coll_blame.c tests/unit/test_exchange.c tests/unit/test_loopback_answers.c tests/unit/test_loopback_data.c \
	tests/unit/test_loopback_gpu.c tests/unit/test_loopback_gpu_mesh.c tests/unit/test_loopback_mesh.c tests/unit/test_oob.c tests/unit/test_pair.c \
	tests/unit/test_pair_gpu.c tests/unit/test_pair_guard.c tests/unit/test_pair_lane.c tests/unit/test_pair_plan.c tests/unit/test_pair_reading.c \
	tests/unit/test_pair_rounds.c tests/unit/test_pair_schedule.c tests/unit/test_pair_session.c tests/unit/test_rdma_flow.c tests/unit/test_rdma_gid.c \
	tests/unit/test_rdma_gpu.c tests/unit/test_rdma_groups.c tests/unit/test_rdma_many.c tests/unit/test_rdma_mesh.c tests/unit/test_rdma_ports.c \
	tests/unit/test_rdma_traffic.c tests/unit/test_rdma_trips.c tests/unit/test_rdma_users.c tests/unit/test_rdma_watch.c tests/unit/test_rdma_words.c \
	tests/unit/test_sku_rows.c \
	tests/fakes/accel_sim.c tests/fakes/accel_sim.h tests/fakes/accel_sim_inside.h tests/fakes/accel_sim_memory.c tests/unit/flow_bench.c \
	tests/unit/flow_bench.h tests/unit/loopback_fabric.c tests/unit/loopback_fabric.h tests/unit/mesh_bench.c tests/unit/mesh_bench.h \
	tests/unit/mesh_host.c tests/unit/mesh_host.h tests/unit/pair_fabric.c tests/unit/pair_fabric.h tests/unit/pair_hosts.c tests/unit/pair_hosts.h \
	tests/unit/random.h tests/unit/reduce_fleet.c tests/unit/reduce_fleet.h tests/unit/reports.c tests/unit/reports.h tests/unit/sku_files.c \
	tests/unit/sku_files.h $(RDMA_SIM)
tests_unit_rdma_LDADD = liball_reduce.a libcollnccl.a $(ALL_TO_ALL_LIBS) librdma.a librnic_state.a libmemory.a libaccel.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) libprobe.a $(LDADD)

# agents/run, agents/assay and cli.
UNIT_TESTS += tests/unit/agent
tests_unit_agent_SOURCES = \
	tests/unit/test_again.c tests/unit/test_bad_probes.c tests/unit/test_ctl.c tests/unit/test_history.c tests/unit/test_plan.c \
	tests/unit/test_probe_output.c tests/unit/test_probe_problem.c tests/unit/test_process_tree.c tests/unit/test_profiles.c tests/unit/test_runner.c \
	tests/unit/test_runner_process.c tests/unit/test_selector.c tests/unit/test_show_run.c tests/unit/test_show_sensitivity.c tests/unit/test_sku_host.c \
	tests/unit/test_spool.c \
	tests/unit/reports.c tests/unit/reports.h tests/unit/runner_fixture.c tests/unit/runner_fixture.h
tests_unit_agent_LDADD = $(CTL_LIBS) $(COMMAND_LIBS) $(LDADD)

# agents/assayd.
UNIT_TESTS += tests/unit/assayd
tests_unit_assayd_SOURCES = \
	tests/unit/test_hang_document.c tests/unit/test_hang_ranks.c tests/unit/test_hang_sight.c tests/unit/test_job_log_match.c \
	tests/unit/test_job_log_owner.c tests/unit/test_link_message.c tests/unit/test_link_watch.c tests/unit/test_log_watch.c \
	tests/unit/test_order_meeting.c tests/unit/test_orders.c tests/unit/test_permit_file.c tests/unit/test_process_env.c tests/unit/test_report_age.c \
	tests/unit/test_ring_hang.c tests/unit/test_ring_rules.c tests/unit/test_schedule.c tests/unit/test_trace_queue.c tests/unit/test_trace_rules.c \
	tests/unit/test_trace_sandbox.c tests/unit/test_uplink.c tests/unit/test_watch_random.c \
	tests/unit/random.h tests/unit/watch_fixture.c tests/unit/watch_fixture.h
if HAVE_SYSTEMD
tests_unit_assayd_SOURCES += \
	tests/unit/test_hang_asked.c tests/unit/test_hang_touch.c tests/unit/test_ring_store.c tests/unit/test_rings.c \
	agents/assayd/hang_touch.c agents/assayd/hang_touch.h agents/assayd/pyspy.c agents/assayd/pyspy.h agents/assayd/ras_client.c \
	agents/assayd/ras_client.h agents/assayd/ring_sample.c agents/assayd/ring_socket.c agents/assayd/ring_store.c agents/assayd/rings.c \
	tests/unit/ras_fixture.c tests/unit/ras_fixture.h tests/unit/ring_forge.c tests/unit/ring_forge.h
endif
tests_unit_assayd_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_assayd_LDADD = libassaydcore.a liball_reduce.a librdma.a $(HANG_LIBS) $(RING_LIBS) $(KEEP_LIBS) $(GZIP_LIBS) $(LDADD) $(SYSTEMD_LIBS) -lpthread

# attribution, lib/hang, lib/remedy and lib/ring.
UNIT_TESTS += tests/unit/attribution
tests_unit_attribution_SOURCES = \
	tests/unit/test_attribution.c tests/unit/test_attribution_bootstrap.c tests/unit/test_attribution_ends.c tests/unit/test_attribution_graph.c \
	tests/unit/test_attribution_labels.c tests/unit/test_attribution_lottery.c tests/unit/test_attribution_simulate.c \
	tests/unit/test_attribution_speeds.c tests/unit/test_attribution_summary.c tests/unit/test_attribution_suspects.c tests/unit/test_attribution_trace.c \
	tests/unit/test_hang.c tests/unit/test_hang_hosts.c tests/unit/test_hang_part.c tests/unit/test_hang_ras.c tests/unit/test_hang_sim.c \
	tests/unit/test_hang_stack.c tests/unit/test_hotspa_plan.c tests/unit/test_pipe_schedule.c tests/unit/test_rearrange.c tests/unit/test_remedies.c \
	tests/unit/test_remedies_noise.c tests/unit/test_remedy.c tests/unit/test_ring_clock.c tests/unit/test_ring_late.c tests/unit/test_ring_optrace.c \
	tests/unit/test_ring_period.c tests/unit/test_ring_read.c tests/unit/test_sim_job_window.c tests/unit/test_standby.c tests/unit/test_trace_line.c \
	tests/unit/test_trace_reader.c \
	tests/sim/job_plan.c tests/sim/job_plan.h tests/sim/job_window.c tests/sim/job_window.h tests/sim/noise.c tests/sim/noise.h tests/unit/operations.c \
	tests/unit/operations.h tests/unit/pipeline.c tests/unit/pipeline.h tests/unit/random.h tests/unit/ras_fixture.c tests/unit/ras_fixture.h \
	tests/unit/ring_forge.c tests/unit/ring_forge.h
tests_unit_attribution_LDADD = libhangworld.a libringworld.a libjobs.a $(HANG_LIBS) $(TRACE_LIBS) $(LDADD)

# These replace getrandom(), poll() and getaddrinfo(), which affects the whole program.
UNIT_TESTS += tests/unit/random
tests_unit_random_SOURCES = \
	tests/unit/test_random.c

UNIT_TESTS += tests/unit/oob_lookup
tests_unit_oob_lookup_SOURCES = \
	tests/unit/test_oob_lookup.c
tests_unit_oob_lookup_LDADD = librdma.a $(LDADD)

if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
# controller/actions.
UNIT_TESTS += tests/unit/actions
tests_unit_actions_SOURCES = \
	tests/unit/test_actor.c tests/unit/test_actor_again.c tests/unit/test_actor_confirm.c tests/unit/test_actor_drain.c tests/unit/test_actor_hands.c \
	tests/unit/test_actor_paired.c tests/unit/test_actor_queue.c tests/unit/test_actor_random.c tests/unit/test_actor_shared.c \
	tests/unit/test_actor_twins.c tests/unit/test_burn_queue.c tests/unit/test_node_record.c tests/unit/test_node_view.c tests/unit/test_reservation.c \
	tests/unit/act_world.c tests/unit/act_world.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
tests_unit_actions_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_actions_LDADD = $(CONTROLLER_LIBS) $(LDADD)

# controller/store.
UNIT_TESTS += tests/unit/store
tests_unit_store_SOURCES = \
	tests/unit/test_coverage_codec.c tests/unit/test_db.c tests/unit/test_pack.c tests/unit/test_retention.c tests/unit/test_standing_codec.c \
	tests/unit/test_store.c tests/unit/test_store_alerts.c tests/unit/test_store_crash.c tests/unit/test_store_investigations.c \
	tests/unit/test_store_jobs.c tests/unit/test_store_placements.c tests/unit/test_store_places.c tests/unit/test_store_predictions.c \
	tests/unit/test_store_sessions.c tests/unit/test_store_thin.c \
	tests/fakes/crash_dump.c tests/fakes/crash_file.c tests/fakes/crash_file.h tests/fakes/crash_vfs.c tests/fakes/crash_vfs.h \
	tests/unit/count_incidents.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
tests_unit_store_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_store_LDADD = $(CONTROLLER_LIBS) $(LDADD)

# controller/job.
UNIT_TESTS += tests/unit/jobs
tests_unit_jobs_SOURCES = \
	tests/unit/test_accused.c tests/unit/test_advice.c tests/unit/test_beats_kept.c tests/unit/test_diagnosis_rerun.c tests/unit/test_group_brought.c \
	tests/unit/test_investigation.c tests/unit/test_job_facts.c tests/unit/test_job_hang.c tests/unit/test_job_loads.c tests/unit/test_job_rungs.c \
	tests/unit/test_job_view.c tests/unit/test_pair_brought.c tests/unit/test_placement.c tests/unit/test_plan_check.c tests/unit/test_plan_facts.c \
	tests/unit/test_prediction.c tests/unit/test_summary.c tests/unit/test_summary_detail.c
tests_unit_jobs_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_jobs_LDADD = libjobs.a $(CONTROLLER_LIBS) $(LDADD)

# controller/fleet, and the rest of the controller: alerts, auth, config, http, ingest, routes.
UNIT_TESTS += tests/unit/fleet
tests_unit_fleet_SOURCES = \
	tests/unit/test_alert.c tests/unit/test_alert_book.c tests/unit/test_anomalies.c tests/unit/test_api_ask.c tests/unit/test_authz.c \
	tests/unit/test_baseline.c tests/unit/test_baseline_store.c tests/unit/test_cluster_names.c tests/unit/test_drift.c tests/unit/test_findings.c \
	tests/unit/test_fleet_view.c tests/unit/test_host_identity.c tests/unit/test_host_speeds.c tests/unit/test_ingest.c tests/unit/test_join.c \
	tests/unit/test_launch_fleet.c tests/unit/test_live.c tests/unit/test_load_shed.c tests/unit/test_metric_series.c tests/unit/test_opinion.c \
	tests/unit/test_page.c tests/unit/test_peer_quotas.c tests/unit/test_rail_map.c tests/unit/test_report_clock.c tests/unit/test_self_baseline.c \
	tests/unit/test_token_buckets.c tests/unit/test_tokens.c \
	tests/unit/count_incidents.h tests/unit/mesh.c tests/unit/mesh.h tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
tests_unit_fleet_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS) $(MICROHTTPD_CFLAGS)
tests_unit_fleet_LDADD = $(CONTROLLER_LIBS) $(LDADD)

if HAVE_CURL
# controller/cluster/kube. Four more replace kube_send() with their own server, of which a program can have only one.
UNIT_TESTS += tests/unit/kube
tests_unit_kube_SOURCES = \
	tests/unit/test_kube_address.c tests/unit/test_kube_config.c tests/unit/test_kube_credentials.c tests/unit/test_kube_error.c \
	tests/unit/test_kube_identity.c tests/unit/test_kube_identity_flood.c tests/unit/test_kube_jobs.c tests/unit/test_kube_node.c \
	tests/unit/test_kube_patch.c tests/unit/test_kube_path.c tests/unit/test_kube_places.c tests/unit/test_kube_pods.c tests/unit/test_kube_prefix.c \
	tests/unit/test_kube_token.c tests/unit/test_lease_random.c tests/unit/test_lease_state.c \
	tests/unit/identity_world.c tests/unit/identity_world.h tests/unit/jwt.c tests/unit/jwt.h tests/unit/lease_server.c tests/unit/lease_server.h \
	tests/unit/random.h
tests_unit_kube_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_kube_LDADD = $(KUBE_LIBS) $(CONTROLLER_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/cluster_kube
tests_unit_cluster_kube_SOURCES = \
	tests/unit/test_cluster_kube.c tests/unit/test_cluster_kube_random.c tests/unit/test_cluster_kube_told.c \
	tests/unit/cluster_world.c tests/unit/cluster_world.h tests/unit/kube_memory.c tests/unit/kube_memory.h tests/unit/random.h
tests_unit_cluster_kube_LDADD = $(KUBE_LIBS) libcontroller.a $(LDADD) $(SYSTEMD_LIBS)

UNIT_TESTS += tests/unit/kube_drain
tests_unit_kube_drain_SOURCES = \
	tests/unit/test_kube_drain.c \
	tests/unit/drain_server.c tests/unit/drain_server.h
tests_unit_kube_drain_LDADD = $(KUBE_LIBS) libcontroller.a $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/kube_lease
tests_unit_kube_lease_SOURCES = \
	tests/unit/test_kube_lease.c tests/unit/test_kube_ledger.c \
	tests/unit/lease_fake.c tests/unit/lease_fake.h
tests_unit_kube_lease_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_kube_lease_LDADD = libkube.a libcontroller.a $(LDADD) $(SYSTEMD_LIBS)

check_LIBRARIES += libkubefake.a
libkubefake_a_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
libkubefake_a_SOURCES = $(KUBE_NODES_SOURCES) tests/unit/kube_fake.c tests/unit/kube_fake.h tests/unit/kube_world.c \
	tests/unit/kube_world.h
UNIT_TESTS += tests/unit/kube_watch
tests_unit_kube_watch_SOURCES = \
	tests/unit/test_kube_stale.c tests/unit/test_kube_watch.c tests/unit/test_kube_watch_random.c
tests_unit_kube_watch_LDADD = libkubefake.a libcontroller.a $(LDADD) $(SYSTEMD_LIBS)
endif
endif
endif
endif

if HAVE_CUNIT
check_LIBRARIES += libtest.a
libtest_a_SOURCES = tests/unit/run.c tests/unit/test.c tests/unit/test.h
libtest_a_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_SRCDIR='"$(abs_srcdir)"'
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
LOG_COMPILER = $(EMULATOR)
endif
