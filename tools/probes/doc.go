// Package probes tests the exporter's probes with a kubelet's prober and Envoy, with the
// examples of docs/probes.md, the chart, the overlay and deploy/envoy, while simulated servers
// fail. It must not know how the exporter judges. It is a module of its own because the
// kubelet's code is larger than the exporter.
package probes
