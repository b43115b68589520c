// Package probes puts those who decide in front of the exporter's probes: the
// prober of a kubelet and an Envoy, with the very examples of docs/probes.md,
// the chart, the overlay and deploy/envoy, while simulated servers fail in many
// ways. It has a module of its own because the kubelet's code is heavier than the
// exporter; it must not know how the exporter judges.
package probes
