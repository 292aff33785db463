# SPDX-License-Identifier: Apache-2.0
# tests/system: pytest, real programs. Included by Makefile.am.
EXTRA_DIST += tests/system/abuse.py tests/system/alertmanager_stub.py tests/system/assayd_fixtures.py tests/system/attribution_fixtures.py \
	tests/system/booted.py tests/system/campaign_hosts.py tests/system/chart_render.go tests/system/clock_fixtures.py \
	tests/system/collective_fixtures.py tests/system/conftest.py tests/system/controller_stub.py tests/system/cpu_groups.py tests/system/disk.py tests/system/fake_host.py \
	tests/system/fake_rnic.py tests/system/fixtures_controller.py tests/system/fixtures_programs.py tests/system/gpu_fixtures.py \
	tests/system/guest_steps.py tests/system/kube_fake.py tests/system/kustomized.py tests/system/localise_hosts.py tests/system/machines.py \
	tests/system/nccl_hosts.py tests/system/openapi.py tests/system/processes.py tests/system/promtool.py tests/system/stub_jobs.py tests/system/stub_lists.py \
	tests/system/tutorials.py tests/system/waiting.py tests/system/watch_fixtures.py tests/system/test_abi.py tests/system/test_actor_driver.py \
	tests/system/test_admit.py tests/system/test_admit_believed.py tests/system/test_alerts.py tests/system/test_alerts_jobs.py \
	tests/system/test_alerts_real.py tests/system/test_alerts_stopped.py tests/system/test_all_reduce.py tests/system/test_all_reduce_nccl.py tests/system/test_all_to_all.py \
	tests/system/test_all_to_all_rnics.py tests/system/test_assay_plan.py tests/system/test_assay_plan_brute.py tests/system/test_remedy_random.py tests/system/test_attribute_hotspa.py tests/system/test_hotspa_random.py tests/system/test_assayctl.py tests/system/test_assayctl_act.py tests/system/test_assayctl_act_words.py \
	tests/system/test_assayctl_campaign.py tests/system/test_assayctl_daily.py tests/system/test_assayctl_diagnose.py \
	tests/system/test_assayctl_doctor.py tests/system/test_assayctl_hosts.py tests/system/test_assayctl_investigations.py \
	tests/system/test_assayctl_job.py tests/system/test_assayctl_rude.py tests/system/test_assayctl_shell.py tests/system/test_assayctl_submit.py \
	tests/system/test_assayctl_views.py tests/system/test_assayctl_watch.py tests/system/test_assayd.py tests/system/test_assayd_collective.py \
	tests/system/test_assayd_collective_bad.py tests/system/test_assayd_collective_campaign.py tests/system/test_assayd_controller.py \
	tests/system/test_assayd_liveness.py tests/system/test_assayd_name.py tests/system/test_assayd_net.py tests/system/test_assayd_orders.py \
	tests/system/test_assayd_schedule.py tests/system/test_assayd_spool.py tests/system/test_assayd_unit.py tests/system/test_attribute.py \
	tests/system/test_attribute_bad.py tests/system/test_attribute_forms.py tests/system/test_attribute_hang.py tests/system/test_attribute_progress.py \
	tests/system/test_attribute_published.py tests/system/test_attribute_remedies.py tests/system/test_attribute_summary.py tests/system/test_bad_probes.py tests/system/test_budget_manual.py \
	tests/system/test_burns.py tests/system/test_campaigns.py tests/system/test_campaigns_abuse.py tests/system/test_campaigns_anew.py tests/system/test_campaigns_assayd.py tests/system/test_canary.py \
	tests/system/test_campaigns_observe.py tests/system/test_clock.py tests/system/test_controller.py tests/system/test_controller_abuse.py \
	tests/system/test_controller_access.py tests/system/test_controller_act_kill.py tests/system/test_controller_burst.py \
	tests/system/test_controller_certificates.py tests/system/test_controller_kept.py tests/system/test_controller_kill.py \
	tests/system/test_controller_life.py tests/system/test_controller_metrics.py tests/system/test_controller_reload.py \
	tests/system/test_controller_sent.py tests/system/test_controller_series.py tests/system/test_controller_store.py \
	tests/system/test_controller_unit.py tests/system/test_controller_upgrade.py tests/system/test_controller_views.py tests/system/test_cuda_places.py \
	tests/system/test_deploy_alerts.py tests/system/test_deploy_chart.py tests/system/test_deploy_grafana.py tests/system/test_deploy_kubernetes.py \
	tests/system/test_deploy_newer.py tests/system/test_deploy_npd.py tests/system/test_diagnose.py tests/system/test_diagnose_rerun.py \
	tests/system/test_disk_full.py tests/system/test_docs.py tests/system/test_doctor.py tests/system/test_explain.py tests/system/test_first_look.py \
	tests/system/test_fleet.py tests/system/test_fleet_opinion.py tests/system/test_fleet_routes.py tests/system/test_gemm.py tests/system/test_gemm_burn.py tests/system/test_gemm_gpu.py \
	tests/system/test_gemm_launch.py tests/system/test_gemm_overlap.py tests/system/test_gemm_users.py tests/system/test_gemm_vote.py tests/system/test_gpu_calls.py \
	tests/system/test_gpu_faults.py tests/system/test_gpu_hidden.py tests/system/test_gpu_shares.py tests/system/test_gpu_start.py tests/system/test_gpu_state.py \
	tests/system/test_guest.py tests/system/test_guest_fleet.py tests/system/test_hang_look.py tests/system/test_held_out.py \
	tests/system/test_host_state.py tests/system/test_host_state_log.py tests/system/test_investigations.py tests/system/test_investigations_ends.py \
	tests/system/test_investigations_kill.py tests/system/test_job_acquitted.py tests/system/test_job_advice.py tests/system/test_job_beats.py \
	tests/system/test_job_groups.py tests/system/test_job_hangs.py tests/system/test_job_judged.py tests/system/test_job_links.py \
	tests/system/test_job_logs.py tests/system/test_job_gain.py tests/system/test_job_plan.py tests/system/test_job_rungs.py tests/system/test_job_trace.py tests/system/test_job_withheld.py \
	tests/system/test_jobs.py tests/system/test_jobs_forged.py tests/system/test_jobs_kill.py tests/system/test_jobs_labels.py tests/system/test_jobs_same.py \
	tests/system/test_jobs_scale.py tests/system/test_jobs_traces.py tests/system/test_join.py tests/system/test_joined.py \
	tests/system/test_kube_call.py tests/system/test_lateness.py tests/system/test_lint.py tests/system/test_list.py tests/system/test_localise.py \
	tests/system/test_localise_hosts.py tests/system/test_loopback.py tests/system/test_man.py tests/system/test_memory.py \
	tests/system/test_memory_gpu.py tests/system/test_on_gpu.py tests/system/test_openapi.py tests/system/test_optrace.py tests/system/test_outage.py \
	tests/system/test_packaging.py tests/system/test_part_names.py tests/system/test_placement.py tests/system/test_power_loss.py \
	tests/system/test_processes.py tests/system/test_quick.py tests/system/test_quickstart.py tests/system/test_real_job.py tests/system/test_real_time.py \
	tests/system/test_rdma_kinds.py tests/system/test_replaced.py tests/system/test_rhythm.py tests/system/test_ring_attribution.py tests/system/test_rnic_pair.py \
	tests/system/test_rnic_settings.py tests/system/test_rnic_state.py tests/system/test_run.py tests/system/test_run_again.py \
	tests/system/test_run_words.py tests/system/test_same_code.py tests/system/test_scripts.py tests/system/test_settings.py tests/system/test_sim.py tests/system/test_slurm.py \
	tests/system/test_slurm_real.py tests/system/test_start.py tests/system/test_statements.py tests/system/test_store_backup.py \
	tests/system/test_store_damage.py tests/system/test_systemd.py tests/system/test_systemd_run.py tests/system/test_tables_filled.py \
	tests/system/test_topology.py tests/system/test_trace_directory.py tests/system/test_tutorials.py tests/system/test_unit_programs.py tests/system/test_usage.py \
	tests/system/test_verbs_missing.py tests/system/test_watch.py tests/system/test_watch_links.py

EXTRA_DIST += tests/system/test_nccl_plugin.py
# Rings of the NCCL plug-in.
EXTRA_DIST += tests/system/ring_job.py tests/system/service_manager.py tests/system/test_ring_lateness.py tests/system/test_rings.py \
	tests/system/test_rings_plugin.py tests/system/test_rings_restart.py
EXTRA_DIST += tests/system/test_job_restarts.py tests/system/test_real_hang.py
# The web page.
EXTRA_DIST += tests/system/page_fake.py tests/system/test_page_http.py tests/system/test_page_views.py
# The web page, in a real Chromium.
EXTRA_DIST += tests/system/browser.py tests/system/test_page_flow.py tests/system/test_page_jobs.py tests/system/test_page_model.py tests/system/test_page_fleet.py
EXTRA_DIST += tests/system/test_page_hang.py tests/system/test_act_guards.py tests/system/test_page_acting.py tests/system/test_page_patterns.py tests/system/test_page_plan.py tests/system/test_page_tree.py tests/system/test_page_replay.py
