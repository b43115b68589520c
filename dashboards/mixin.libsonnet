// For those who deploy with jsonnet: dashboards, alerts and recording rules in the shape of a monitoring mixin.
// Other thresholds: trtllm_exporter rules --values mine.yaml > alerts/rules.yml
local dashboards = {
  'trtllm-fleet.json': import 'json/trtllm-fleet.json',
  'trtllm-replica.json': import 'json/trtllm-replica.json',
  'trtllm-latency.json': import 'json/trtllm-latency.json',
  'trtllm-capacity.json': import 'json/trtllm-capacity.json',
  'trtllm-gpu.json': import 'json/trtllm-gpu.json',
  'trtllm-versions.json': import 'json/trtllm-versions.json',
  'trtllm-exporter.json': import 'json/trtllm-exporter.json',
};
local groups = std.parseYaml(importstr '../alerts/rules.yml').groups;
local only(kind) = {
  groups: [
    group { rules: [rule for rule in group.rules if kind in rule] }
    for group in groups
    if std.length([rule for rule in group.rules if kind in rule]) > 0
  ],
};

{
  grafanaDashboards+:: dashboards,
  prometheusAlerts+:: only('alert'),
  prometheusRules+:: only('record'),
}
