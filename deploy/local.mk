# SPDX-License-Identifier: Apache-2.0
# deploy: Kubernetes, Helm, Prometheus, Grafana, images: data and scripts. Included by Makefile.am.
EXTRA_DIST += deploy/docker/Dockerfile deploy/helm/render

# Installed with the same paths below $(pkgdatadir)/deploy. Add a new file to one of the two lists, and a new folder to the packages.
nobase_dist_pkgdata_SCRIPTS = deploy/kubernetes/make-certificate deploy/kubernetes/remove-marks deploy/npd/assay-npd \
	deploy/slurm/assay-slurm
nobase_dist_pkgdata_DATA = deploy/ansible/hosts.yaml deploy/ansible/roles/assay/defaults/main.yaml \
	deploy/ansible/roles/assay/tasks/main.yaml deploy/grafana/controller.json deploy/grafana/fleet.json \
	deploy/grafana/jobs.json deploy/helm/assay/Chart.yaml deploy/helm/assay/files/assayd.yaml \
	deploy/helm/assay/files/controller.yaml deploy/helm/assay/files/policy.yaml deploy/helm/assay/files/tokens.yaml \
	deploy/helm/assay/templates/admission-policy.yaml deploy/helm/assay/templates/agent.yaml \
	deploy/helm/assay/templates/config-agent.yaml deploy/helm/assay/templates/config-controller.yaml \
	deploy/helm/assay/templates/controller.yaml deploy/helm/assay/templates/cordon-rbac.yaml \
	deploy/helm/assay/templates/disruption-budget.yaml deploy/helm/assay/templates/drain-rbac.yaml \
	deploy/helm/assay/templates/flow-schema.yaml deploy/helm/assay/templates/namespaces.yaml \
	deploy/helm/assay/templates/prometheus-rules.yaml deploy/helm/assay/templates/prometheus-service-monitor.yaml \
	deploy/helm/assay/templates/rbac.yaml deploy/helm/assay/values.yaml deploy/kubernetes/base/agent.yaml \
	deploy/kubernetes/base/controller.yaml deploy/kubernetes/base/files/assayd.yaml \
	deploy/kubernetes/base/files/controller.yaml deploy/kubernetes/base/files/policy.yaml \
	deploy/kubernetes/base/files/tokens.yaml deploy/kubernetes/base/kustomization.yaml \
	deploy/kubernetes/base/namespaces.yaml deploy/kubernetes/base/rbac.yaml \
	deploy/kubernetes/components/admission-policy/admission-policy.yaml \
	deploy/kubernetes/components/admission-policy/kustomization.yaml \
	deploy/kubernetes/components/cordon/kustomization.yaml deploy/kubernetes/components/cordon/rbac.yaml \
	deploy/kubernetes/components/disruption-budget/disruption-budget.yaml \
	deploy/kubernetes/components/disruption-budget/kustomization.yaml \
	deploy/kubernetes/components/drain/kustomization.yaml deploy/kubernetes/components/drain/rbac.yaml \
	deploy/kubernetes/components/flow-schema/flow-schema.yaml \
	deploy/kubernetes/components/flow-schema/kustomization.yaml \
	deploy/kubernetes/components/privileged-agent/kustomization.yaml \
	deploy/kubernetes/components/prometheus/kustomization.yaml deploy/kubernetes/components/prometheus/rules.yaml \
	deploy/kubernetes/components/prometheus/service-monitor.yaml deploy/kubernetes/examples/init-container.yaml \
	deploy/kubernetes/overlays/drain/kustomization.yaml deploy/kubernetes/overlays/dry-run/kustomization.yaml \
	deploy/kubernetes/overlays/enforce/kustomization.yaml deploy/kubernetes/overlays/site/kustomization.yaml \
	deploy/npd/assay-custom-plugin.json deploy/prometheus/assay-rules.yaml deploy/slurm/slurm.conf
