// For those who deploy with jsonnet: dashboards, alerts and recording rules in the shape of a monitoring mixin. It needs this
// repository and no program of it; what it makes is what `trtllm_exporter rules` and the chart make, which a test compares.
//
//   (import 'github.com/trtllm-exporter/trtllm_exporter/dashboards/mixin.libsonnet') { _config+:: { clusterLabel: 'k8s_cluster' } }

// The thresholds as they are written in values.yaml: the text of a number stays.
local written = {
  [std.substr(line, 0, std.findSubstr(': ', line)[0])]:
    std.stripChars(std.substr(line, std.findSubstr(': ', line)[0] + 2, std.length(line)), '"')
  for line in std.split(importstr '../alerts/values.yaml', '\n')
  if std.length(line) > 0 && line[0] != '#'
};
local files = [
  importstr '../alerts/rules/recording.yaml',
  importstr '../alerts/rules/availability.yaml',
  importstr '../alerts/rules/canary.yaml',
  importstr '../alerts/rules/correctness.yaml',
  importstr '../alerts/rules/exporter.yaml',
  importstr '../alerts/rules/gpu.yaml',
  importstr '../alerts/rules/kv.yaml',
  importstr '../alerts/rules/latency.yaml',
  importstr '../alerts/rules/saturation.yaml',
];
local boards = {
  'trtllm-fleet.json': importstr 'json/trtllm-fleet.json',
  'trtllm-replica.json': importstr 'json/trtllm-replica.json',
  'trtllm-latency.json': importstr 'json/trtllm-latency.json',
  'trtllm-capacity.json': importstr 'json/trtllm-capacity.json',
  'trtllm-gpu.json': importstr 'json/trtllm-gpu.json',
  'trtllm-versions.json': importstr 'json/trtllm-versions.json',
  'trtllm-exporter.json': importstr 'json/trtllm-exporter.json',
};

// A time in seconds, of minutes and seconds.
local seconds(text) =
  local parts = std.split(text, 'm');
  local number(t) = if t == '' then 0 else std.parseInt(std.rstripChars(t, 's'));
  if std.length(parts) == 2 then 60 * number(parts[0]) + number(parts[1]) else number(parts[0]);
local duration(s) =
  (if s >= 60 then '%dm' % std.floor(s / 60) else '') + (if s % 60 > 0 then '%ds' % (s % 60) else '');

// Texts replaced one after the other.
local replaced(text, pairs) = std.foldl(function(t, pair) std.strReplace(t, pair[0], pair[1]), pairs, text);

{
  local config = self._config,
  _config+:: {
    // The job that scrapes the exporter, and how often it does, 5s to 1m.
    exporterJob: written.exporter_job,
    scrapeInterval: written.scrape_interval,
    // The label of clusters, '' for none.
    clusterLabel: written.cluster_label,
    // The address of the runbook, to which # and the alert's name are added, of alerts and dashboards.
    runbookURL: written.runbook,
    // The address of Grafana, for the dashboard that each alert links to; '' for no links.
    grafanaURL: written.grafana,
    // The address of the exporter, for its page about each alert; '' for no links.
    exporterURL: written.exporter,
    // Any of the other keys of alerts/values.yaml: windows and thresholds, as text.
    values: {},
    // Names of alerts to leave out.
    disabledAlerts: [],
    // Of the dashboards: tags, the first of which links them to each other, further links, and what they open with.
    dashboardTags: ['trtllm-exporter', 'llm', 'tensorrt-llm', 'triton'],
    dashboardLinks: [],
    dashboardRefresh: '30s',
    dashboardTimeFrom: 'now-1h',
  },

  local known = std.foldl(
    function(v, key) if std.objectHas(written, key) then v { [key]: config.values[key] } else error 'values.%s: alerts/values.yaml has no such key' % key,
    std.objectFields(config.values),
    written {
      exporter_job: config.exporterJob,
      scrape_interval: config.scrapeInterval,
      cluster_label: config.clusterLabel,
      runbook: config.runbookURL,
      grafana: config.grafanaURL,
      exporter: config.exporterURL,
    },
  ),
  local scrape = seconds(known.scrape_interval),
  local evaluation = seconds(known.evaluation_interval),
  local values =
    assert scrape <= 60 : 'scrapeInterval: %s is longer than 1m, and the rules need four scrapes in five minutes' % known.scrape_interval;
    known {
      rate_window: duration(std.max(4 * scrape, evaluation)),
      evaluation_seconds: '%d' % evaluation,
      cluster: if known.cluster_label == '' then '' else known.cluster_label + ', ',
    },
  // Links to what has no address are left out.
  local absent = [link[1] for link in [['grafana', 'dashboard_url: '], ['exporter', 'status_url: ']] if known[link[0]] == ''],
  local linked(text) = std.join('\n', [
    line
    for line in std.split(text, '\n')
    if !std.any([std.startsWith(std.lstripChars(line, ' '), link) for link in absent])
  ]),
  local groups = std.flattenArrays([
    std.parseYaml(replaced(linked(file), [['${%s}' % key, '%s' % values[key]] for key in std.objectFields(values)])).groups
    for file in files
  ]),
  local only(kind) = {
    groups: [
      group { rules: [rule for rule in group.rules if wanted(rule)] }
      for group in groups
      if std.length([rule for rule in group.rules if wanted(rule)]) > 0
    ],
    local wanted(rule) = kind in rule && !(kind == 'alert' && std.member(config.disabledAlerts, rule.alert)),
  },

  // The same texts as package dashboards and the chart replace.
  local labelled(text) =
    local label = config.clusterLabel;
    if label == '' then replaced(text, [
      ['{cluster=~\\"$cluster\\",', '{'],
      ['{cluster=~\\"$cluster\\"}', ''],
      ['(cluster, ', '('],
      ['{{cluster}} ', ''],
      ['${cluster:queryparam}&', ''],
    ]) else if label == 'cluster' then text else replaced(text, [
      ['{cluster=~\\"$cluster\\"', '{' + label + '=~\\"$cluster\\"'],
      ['(cluster, ', '(' + label + ', '],
      ['{{cluster}} ', '{{' + label + '}} '],
      [', cluster)', ', ' + label + ')'],
      ['"cluster": ', '"' + label + '": '],
    ]),
  local dashboard(text) =
    local d = std.parseJson(std.strReplace(labelled(text), written.runbook + '#', config.runbookURL + '#'));
    d {
      tags: config.dashboardTags,
      links: [d.links[0] { tags: [config.dashboardTags[0]] }] + config.dashboardLinks,
      refresh: config.dashboardRefresh,
      time+: { from: config.dashboardTimeFrom },
      templating+: { list: [v for v in d.templating.list if config.clusterLabel != '' || v.name != 'cluster'] },
    },

  grafanaDashboards+:: { [name]: dashboard(boards[name]) for name in std.objectFields(boards) },
  prometheusAlerts+:: only('alert'),
  prometheusRules+:: only('record'),
}
