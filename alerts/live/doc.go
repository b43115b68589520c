// Package live holds the test that the parts work together: a simulated fleet,
// the exporter, Prometheus with the shipped rules, Alertmanager and a webhook.
// It is run by `make e2e-live` and `make panel-truth` with the build tag e2e_live.
package live
