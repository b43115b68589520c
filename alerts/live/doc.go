// Package live tests the whole chain: a simulated fleet, the exporter, Prometheus with the
// shipped rules, Alertmanager and a webhook. `make e2e-live` and `make panel-truth` run it
// with the build tag e2e_live.
package live
