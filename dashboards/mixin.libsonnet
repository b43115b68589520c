// Dashboards, alerts and recording rules as a monitoring mixin. It needs only this repository; a test compares its output with that of
// `trtllm_exporter rules` and the chart.
//
//   (import 'github.com/trtllm-exporter/trtllm_exporter/dashboards/mixin.libsonnet') { _config+:: { clusterLabel: 'k8s_cluster' } }

// The values of values.yaml; numbers keep their text.
local defaults = {
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
  importstr '../alerts/rules/latency.yaml',
  importstr '../alerts/rules/saturation.yaml',
];
local boards = {
  'trtllm-fleet.json': importstr 'json/trtllm-fleet.json',
  'trtllm-replica.json': importstr 'json/trtllm-replica.json',
  'trtllm-latency.json': importstr 'json/trtllm-latency.json',
  'trtllm-capacity.json': importstr 'json/trtllm-capacity.json',
  'trtllm-disaggregation.json': importstr 'json/trtllm-disaggregation.json',
  'trtllm-gpu.json': importstr 'json/trtllm-gpu.json',
  'trtllm-versions.json': importstr 'json/trtllm-versions.json',
  'trtllm-exporter.json': importstr 'json/trtllm-exporter.json',
};

// Converts minutes and seconds to seconds.
local seconds(text) =
  local parts = std.split(text, 'm');
  local number(t) = if t == '' then 0 else std.parseInt(std.rstripChars(t, 's'));
  if std.length(parts) == 2 then 60 * number(parts[0]) + number(parts[1]) else number(parts[0]);
local duration(s) =
  (if s >= 60 then '%dm' % std.floor(s / 60) else '') + (if s % 60 > 0 then '%ds' % (s % 60) else '');

// Applies replacements in order.
local replace(text, pairs) = std.foldl(function(t, pair) std.strReplace(t, pair[0], pair[1]), pairs, text);

// Returns an address, which leads somewhere only with its scheme; '' is none.
local url(key, text) =
  assert text == '' || std.startsWith(text, 'http://') || std.startsWith(text, 'https://') :
         '%s: "%s" has no scheme http or https; did you mean "http://%s"?' % [key, text, std.lstripChars(text, '/')];
  text;

{
  local config = self._config,
  _config+:: {
    // The job that scrapes the exporter, and its interval, 5s to 1m.
    exporterJob: defaults.exporter_job,
    scrapeInterval: defaults.scrape_interval,
    // The cluster label, '' for none.
    clusterLabel: defaults.cluster_label,
    // The address of your own runbook for alerts and dashboards; # and the name of the alert are appended. '' for that of the exporter, if
    // its address is set.
    runbookURL: defaults.runbook,
    // The address of Grafana, for links from alerts to dashboards; '' for no links.
    grafanaURL: defaults.grafana,
    // The address of the exporter, for links from alerts and dashboards to status pages; '' for no links.
    exporterURL: defaults.exporter,
    // Other keys of alerts/values.yaml: windows and thresholds, as text.
    values: {},
    // Alerts to exclude.
    disabledAlerts: [],
    // Tags of the dashboards (the first links them to each other), additional links, refresh interval and start of the time range.
    dashboardTags: ['trtllm-exporter', 'llm', 'tensorrt-llm', 'triton'],
    dashboardLinks: [],
    dashboardRefresh: '30s',
    dashboardTimeFrom: 'now-1h',
  },

  local chosen = std.foldl(
    function(v, key) if std.objectHas(defaults, key) then v { [key]: config.values[key] } else error 'values.%s: alerts/values.yaml has no such key' % key,
    std.objectFields(config.values),
    defaults {
      exporter_job: config.exporterJob,
      scrape_interval: config.scrapeInterval,
      cluster_label: config.clusterLabel,
      runbook: if config.exporterURL != '' && config.runbookURL == '' then config.exporterURL + '/runbook' else url('runbookURL', config.runbookURL),
      grafana: url('grafanaURL', config.grafanaURL),
      exporter: url('exporterURL', config.exporterURL),
    },
  ),
  local scrape = seconds(chosen.scrape_interval),
  local evaluation = seconds(chosen.evaluation_interval),
  local values =
    assert scrape <= 60 : 'scrapeInterval: %s is longer than 1m, but the rules need four scrapes in five minutes' % chosen.scrape_interval;
    chosen {
      rate_window: duration(std.max(4 * scrape, evaluation)),
      evaluation_seconds: '%d' % evaluation,
      cluster: if chosen.cluster_label == '' then '' else chosen.cluster_label + ', ',
    },
  // Annotations without address are dropped.
  local absent = [link[1] for link in [['grafana', 'dashboard_url: '], ['exporter', 'status_url: '], ['runbook', 'runbook_url: ']] if chosen[link[0]] == ''],
  local dropLinks(text) = std.join('\n', [
    line
    for line in std.split(text, '\n')
    if !std.any([std.startsWith(std.lstripChars(line, ' '), link) for link in absent])
  ]),
  local groups = std.flattenArrays([
    std.parseYaml(replace(dropLinks(file), [['${%s}' % key, '%s' % values[key]] for key in std.objectFields(values)])).groups
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

  // Package dashboards and the chart replace the same texts.
  local withClusterLabel(text) =
    local label = config.clusterLabel;
    if label == '' then replace(text, [
      ['{cluster=~\\"$cluster\\",', '{'],
      ['{cluster=~\\"$cluster\\"}', ''],
      ['(cluster, ', '('],
      ['{{cluster}} ', ''],
      ['${cluster:queryparam}&', ''],
    ]) else if label == 'cluster' then text else replace(text, [
      ['{cluster=~\\"$cluster\\"', '{' + label + '=~\\"$cluster\\"'],
      ['(cluster, ', '(' + label + ', '],
      ['{{cluster}} ', '{{' + label + '}} '],
      [', cluster)', ', ' + label + ')'],
      ['"cluster": ', '"' + label + '": '],
    ]),
  local withAddresses(text) =
    local before(title, first, address) =
      local anchor = '"title": "%s",' % title;
      [anchor, '"title": "%s", "url": "%s" }, { %s' % [first, address, anchor]];
    replace(text, (if chosen.exporter == '' then [] else [
      before('Latency of the pool', 'Status page', chosen.exporter + '/?pool=${__value.raw}'),
      before('Dashboard of the replica', 'Status page', chosen.exporter + '/replica?target=${__data.fields.Pool}/${__value.raw}'),
      before('Replica ${__field.labels.replica_id}', 'Status page', chosen.exporter + '/replica?target=${__field.labels.pool_id}/${__field.labels.replica_id}'),
    ]) + (if chosen.runbook == '' then [] else [
      before('Pool on Fleet', 'Runbook', chosen.runbook + '#${__value.raw}'),
    ])),
  local dashboard(text) =
    local d = std.parseJson(withAddresses(withClusterLabel(text)));
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
