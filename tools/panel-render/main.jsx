// Draws a dashboard with Grafana's own code for panels, units, thresholds, mappings and legends. What the package of
// Grafana's components does not hold (state timelines and heatmaps) is drawn here, with Grafana's colors and texts.
import React from 'react';
import { createRoot } from 'react-dom/client';
import {
  createTheme, ThemeContext, applyFieldOverrides, FieldType, toDataFrame, dateTime, Registry, identityOverrideProcessor,
  FieldColorModeId, getFieldDisplayValues, VizOrientation, LoadingState, ThresholdsMode, getDisplayProcessor,
} from '@grafana/data';
import { TimeSeries, BigValue, BarGauge, PanelChrome, VizRepeater, GlobalStyles } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';

const params = new URLSearchParams(location.search);
const theme = createTheme({ colors: { mode: params.get('theme') || 'dark' } });
const weak = theme.colors.text.secondary;
const PROM = params.get('prom') || 'http://127.0.0.1:9090';
const missing = [];

const standard = ['unit', 'decimals', 'min', 'max', 'displayName', 'color', 'thresholds', 'mappings', 'noValue', 'links', 'description', 'actions', 'filterable', 'fieldMinMax', 'displayNameFromDS', 'interval'];
const custom = ['drawStyle', 'lineInterpolation', 'lineWidth', 'fillOpacity', 'gradientMode', 'spanNulls', 'showPoints', 'pointSize', 'stacking', 'axisPlacement', 'axisLabel', 'axisColorMode', 'axisBorderShow', 'scaleDistribution', 'axisCenteredZero', 'hideFrom', 'thresholdsStyle', 'barAlignment', 'barWidthFactor', 'insertNulls', 'lineStyle', 'axisSoftMin', 'axisSoftMax', 'axisWidth', 'axisGridShow', 'transform', 'align', 'cellOptions', 'inspect', 'width', 'minWidth', 'filterable', 'fillBelowTo'];
const item = (id, isCustom) => ({ id: isCustom ? 'custom.' + id : id, path: id, isCustom, name: id, process: identityOverrideProcessor, shouldApply: () => true, override: () => null, editor: () => null, defaultValue: undefined });
const registry = new Registry(() => [...standard.map((s) => item(s, false)), ...custom.map((s) => item(s, true))]);
const graphDefaults = { drawStyle: 'line', lineInterpolation: 'linear', lineWidth: 1, fillOpacity: 0, gradientMode: 'none', spanNulls: false, showPoints: 'auto', pointSize: 5, stacking: { mode: 'none', group: 'A' }, axisPlacement: 'auto', axisColorMode: 'text', axisBorderShow: false, scaleDistribution: { type: 'linear' }, axisCenteredZero: false, hideFrom: { legend: false, tooltip: false, viz: false }, thresholdsStyle: { mode: 'off' }, barAlignment: 0 };
const same = (s) => s;

// interpolate does what Grafana does to variables, with all of them set to All.
function interpolate(expr, step, span) {
  const builtin = { __rate_interval: Math.max(4 * Number(params.get('interval') || 2), step + 2) + 's', __range: span + 's' };
  return expr.replace(/\$\{?(\w+)\}?/g, (_, k) => builtin[k] ?? params.get('var-' + k) ?? '.*');
}

async function ask(panel, target, range) {
  const from = range.from.valueOf() / 1000, to = range.to.valueOf() / 1000, span = Math.round(to - from);
  const step = Math.max(2, Math.round(span / (panel.type === 'heatmap' ? 60 : 240)));
  const query = encodeURIComponent(interpolate(target.expr, step, span));
  const url = target.instant ? `${PROM}/api/v1/query?query=${query}&time=${to}` : `${PROM}/api/v1/query_range?query=${query}&start=${from}&end=${to}&step=${step}`;
  const answer = await (await fetch(url)).json();
  if (answer.status !== 'success') throw new Error(target.expr + ': ' + answer.error);
  if (!answer.data.result.length) missing.push(panel.title + ' / ' + target.refId);
  const grid = [];
  for (let t = from; t <= to + 1e-6; t += step) grid.push(Math.round(t * 1000));
  return answer.data.result.map((s) => {
    const legend = target.legendFormat ? target.legendFormat.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, l) => s.metric[l] ?? '') : undefined;
    let times, values;
    if (target.instant) {
      times = [s.value[0] * 1000];
      values = [Number(s.value[1])];
    } else {
      // Gaps stay gaps: Prometheus leaves steps without a value out.
      const at = new Map(s.values.map((v) => [Math.round(v[0] * 1000), v[1] === 'NaN' ? null : Number(v[1])]));
      times = grid;
      values = grid.map((t) => at.get(t) ?? null);
    }
    return toDataFrame({ refId: target.refId, fields: [
      { name: 'Time', type: FieldType.time, values: times, config: { interval: step * 1000 } },
      { name: 'Value', type: FieldType.number, values, labels: s.metric, config: { displayNameFromDS: legend || (panel.type === 'stat' ? ' ' : undefined) } },
    ] });
  });
}

async function run(panel, range) {
  const frames = [];
  for (const t of panel.targets || []) frames.push(...(await ask(panel, t, range)));
  return frames;
}

// joined does what the transformations merge and organize do to the queries of a table.
function joined(panel, frames) {
  const { indexByName, renameByName, excludeByName } = panel.transformations.find((t) => t.id === 'organize').options;
  const names = Object.keys(indexByName).sort((a, b) => indexByName[a] - indexByName[b]).filter((n) => !excludeByName[n]);
  const labels = names.filter((n) => !n.startsWith('Value'));
  const one = panel.targets.length === 1;
  const rows = new Map();
  for (const f of frames) {
    const v = f.fields[1], key = labels.map((l) => v.labels[l] ?? '').join('\u0000');
    if (!rows.has(key)) rows.set(key, Object.fromEntries(labels.map((l) => [l, v.labels[l] ?? ''])));
    rows.get(key)[one ? 'Value' : 'Value #' + f.refId] = v.values[0];
  }
  const sorted = [...rows.keys()].sort().map((k) => rows.get(k));
  for (const by of panel.options.sortBy || []) {
    const field = names.find((n) => renameByName[n] === by.displayName);
    sorted.sort((a, b) => (by.desc ? -1 : 1) * ((a[field] ?? 0) - (b[field] ?? 0)));
  }
  return toDataFrame({ fields: names.map((n) => ({
    name: renameByName[n], type: n.startsWith('Value') ? FieldType.number : FieldType.string, config: {}, values: sorted.map((r) => r[n] ?? null),
  })) });
}

function configOf(panel) {
  const fc = structuredClone(panel.fieldConfig || { defaults: {}, overrides: [] });
  const levels = (t) => { for (const s of t?.steps || []) if (s.value == null) s.value = -Infinity; };
  if (panel.type === 'timeseries') fc.defaults.custom = { ...graphDefaults, ...fc.defaults.custom };
  fc.defaults.color ??= { mode: panel.type === 'timeseries' ? FieldColorModeId.PaletteClassic : FieldColorModeId.Thresholds };
  fc.defaults.thresholds ??= { mode: ThresholdsMode.Absolute, steps: [{ value: null, color: panel.type === 'table' ? 'text' : 'green' }] };
  levels(fc.defaults.thresholds);
  for (const o of fc.overrides) for (const p of o.properties) if (p.id === 'thresholds') levels(p.value);
  fc.defaults.mappings ??= [];
  return fc;
}

// Timeline draws states over time as Grafana's panel of that name does.
function Timeline({ frames, config, range, width, height }) {
  const from = range.from.valueOf(), to = range.to.valueOf(), legend = 24, axis = 18;
  const rows = [...frames].sort((a, b) => String(a.fields[1].config.displayNameFromDS).localeCompare(b.fields[1].config.displayNameFromDS));
  const names = Math.min(220, width / 3), h = Math.max(10, (height - legend - axis) / Math.max(1, rows.length));
  const x = (t) => names + ((t - from) / (to - from)) * (width - names);
  const used = new Map();
  const bands = rows.map((f, i) => {
    const [time, value] = f.fields;
    const display = getDisplayProcessor({ field: { ...value, config }, theme });
    const step = time.config.interval, out = [];
    for (let j = 0; j < value.values.length; ) {
      let k = j;
      while (k + 1 < value.values.length && value.values[k + 1] === value.values[j]) k++;
      if (value.values[j] != null) {
        const d = display(value.values[j]);
        used.set(d.text, d.color);
        out.push(<div key={j} style={{ position: 'absolute', left: x(time.values[j]), width: Math.max(1, x(Math.min(to, time.values[k] + step)) - x(time.values[j])), top: i * h + h * 0.08, height: h * 0.84, background: d.color, opacity: 0.85, color: '#fff', fontSize: 11, overflow: 'hidden', whiteSpace: 'nowrap', lineHeight: h * 0.84 + 'px', paddingLeft: 4, boxSizing: 'border-box' }}>{d.text}</div>);
      }
      j = k + 1;
    }
    return <div key={i}>{out}<div style={{ position: 'absolute', left: 0, top: i * h, width: names - 8, lineHeight: h + 'px', textAlign: 'right', fontSize: 12, overflow: 'hidden', whiteSpace: 'nowrap', textOverflow: 'ellipsis' }}>{value.config.displayNameFromDS}</div></div>;
  });
  return <div style={{ position: 'relative', width, height }}>{bands}
    {[0, 0.25, 0.5, 0.75, 1].map((p) => <div key={p} style={{ position: 'absolute', top: height - legend - axis, left: names + p * (width - names - 36), fontSize: 11, color: weak }}>{new Date(from + p * (to - from)).toISOString().slice(11, 16)}</div>)}
    <div style={{ position: 'absolute', top: height - legend + 4, fontSize: 12 }}>{[...used].map(([t, c]) => <span key={t} style={{ marginRight: 12 }}><span style={{ display: 'inline-block', width: 14, height: 4, background: c, marginRight: 6, verticalAlign: 'middle' }} />{t}</span>)}</div></div>;
}

// Heatmap draws cumulative buckets as Grafana's panel of that name does.
function Heatmap({ frames, panel, range, width, height }) {
  const bounds = frames.map((f) => ({ le: Number(f.fields[1].labels.le.replace('+Inf', 'Infinity')), f })).sort((a, b) => a.le - b.le);
  for (let i = 1; i < bounds.length; i++) {
    const above = bounds[i].f.fields[1].values, below = bounds[i - 1].f.fields[1].values;
    if (above.some((v, j) => (v ?? 0) < (below[j] ?? 0) - 1e-9)) throw new Error(`${panel.title}: less up to ${bounds[i].le} than up to ${bounds[i - 1].le}`);
  }
  const cells = bounds.map((b, i) => b.f.fields[1].values.map((v, j) => Math.max(0, (v ?? 0) - (i ? bounds[i - 1].f.fields[1].values[j] ?? 0 : 0))));
  let low = cells.findIndex((r) => r.some((v) => v > 1e-9)), high = cells.findLastIndex((r) => r.some((v) => v > 1e-9));
  low = Math.max(0, low - 1); high = Math.min(bounds.length - 1, high + 1);
  const most = Math.max(1e-9, ...cells.flat()), left = 56, bottom = 18, n = high - low + 1, columns = cells[0]?.length || 1;
  const h = (height - bottom) / n, w = (width - left) / columns, from = range.from.valueOf(), to = range.to.valueOf();
  const display = getDisplayProcessor({ field: { type: FieldType.number, config: { unit: panel.fieldConfig.defaults.unit }, values: [] }, theme });
  const text = (v) => { const d = display(v); return v === Infinity ? '+Inf' : d.text + (d.suffix || ''); };
  const color = (v) => { const p = Math.sqrt(v / most); return `rgb(${Math.round(70 + 185 * p)},${Math.round(25 + 155 * p * p)},${Math.round(20 + 60 * p * p * p)})`; };
  const every = Math.ceil(n / Math.max(1, Math.floor((height - bottom) / 15)));
  return <svg width={width} height={height} style={{ fontSize: 11, fill: theme.colors.text.primary }}>
    {cells.slice(low, high + 1).flatMap((r, i) => r.map((v, j) => v > 1e-9 ? <rect key={i + '-' + j} x={left + j * w} y={(n - 1 - i) * h} width={Math.max(1, w - 1)} height={Math.max(1, h - 1)} fill={color(v)} /> : null))}
    {bounds.slice(low, high + 1).map((b, i) => i % every === 0 ? <text key={i} x={left - 6} y={(n - 1 - i) * h + Math.min(h, 12)} textAnchor="end">{text(b.le)}</text> : null)}
    {[0, 0.25, 0.5, 0.75, 1].map((p) => <text key={p} x={left + p * (width - left - 32)} y={height - 4} fill={weak}>{new Date(from + p * (to - from)).toISOString().slice(11, 16)}</text>)}
  </svg>;
}

function View({ panel, frames, range, width, height }) {
  const fc = configOf(panel), o = panel.options || {};
  const overridden = (data) => applyFieldOverrides({ data, fieldConfig: fc, fieldConfigRegistry: registry, replaceVariables: same, theme, timeZone: 'utc' });
  switch (panel.type) {
    case 'timeseries':
      return <TimeSeries frames={overridden(frames)} structureRev={1} timeRange={range} timeZone="utc" width={width} height={height} legend={{ calcs: [], ...o.legend }} options={o} />;
    case 'table':
      return <TableNG data={overridden([joined(panel, frames)])[0]} width={width} height={height} structureRev={1} fieldConfig={fc} cellHeight={o.cellHeight} />;
    case 'state-timeline':
      return <Timeline frames={frames} config={fc.defaults} range={range} width={width} height={height} />;
    case 'heatmap':
      return <Heatmap frames={frames} panel={panel} range={range} width={width} height={height} />;
  }
  const sparkline = panel.type === 'stat' && o.graphMode !== 'none';
  const values = getFieldDisplayValues({ fieldConfig: fc, reduceOptions: { calcs: ['lastNotNull'], values: false, ...o.reduceOptions }, replaceVariables: same, theme, data: overridden(frames), sparkline, timeZone: 'utc' });
  return <VizRepeater source={frames} getValues={() => values} width={width} height={height} orientation={panel.type === 'bargauge' ? VizOrientation.Horizontal : VizOrientation.Auto} itemSpacing={panel.type === 'bargauge' ? 4 : 8} renderCounter={0} minVizHeight={16} maxVizHeight={o.maxVizHeight} minVizWidth={40}
    renderValue={({ value, width, height }) => panel.type === 'bargauge'
      ? <BarGauge value={value.display} text={o.text} namePlacement={o.namePlacement} field={value.field} width={width} height={height} orientation={VizOrientation.Horizontal} theme={theme} displayMode={o.displayMode} showUnfilled display={value.view?.getFieldDisplayProcessor(value.colIndex)} />
      : <BigValue value={value.display} sparkline={value.sparkline} colorMode={o.colorMode} graphMode={o.graphMode} justifyMode="auto" textMode={values.length === 1 ? 'value' : 'value_and_name'} count={values.length} width={width} height={height} theme={theme} />} />;
}

const W = 1600, CW = W / 24, RH = 38;
function Panel({ panel, range }) {
  const [state, set] = React.useState({ loading: true });
  React.useEffect(() => { run(panel, range).then((frames) => set({ frames }), (e) => set({ error: String(e) })); }, []);
  React.useEffect(() => { if (!state.loading) window.__done = (window.__done || 0) + 1; }, [state]);
  const g = panel.gridPos, w = g.w * CW - 8, h = g.h * RH - 8;
  if (panel.type === 'row') return <div style={{ position: 'absolute', left: 4, top: g.y * RH + 8, fontSize: 16, fontWeight: 500, color: theme.colors.text.primary }}>{panel.closed ? '›' : '⌄'} {panel.title}{panel.closed ? <span style={{ color: weak, fontSize: 13, fontWeight: 400 }}> ({panel.closed} panels)</span> : null}</div>;
  return <div style={{ position: 'absolute', left: g.x * CW, top: g.y * RH, width: w, height: h }}>
    <PanelChrome title={panel.title} description={panel.description} width={w} height={h} loadingState={LoadingState.Done}>
      {(iw, ih) => state.error ? <pre className="error" style={{ color: '#ff5555', whiteSpace: 'pre-wrap' }}>{state.error}</pre> : state.loading ? null : state.frames.length === 0 && !['stat', 'bargauge'].includes(panel.type) ? <div style={{ textAlign: 'center', padding: `${ih / 4}px 16px 0`, color: weak }}>{panel.fieldConfig.defaults.noValue}</div> : <View panel={panel} frames={state.frames} range={range} width={iw} height={ih} />}
    </PanelChrome></div>;
}

class Boundary extends React.Component {
  state = {};
  componentDidCatch(e) { this.setState({ e }); window.__done = (window.__done || 0) + 1; (window.__errors ??= []).push(String(e.stack)); }
  render() { return this.state.e ? <pre className="error" style={{ color: 'red' }}>{String(this.state.e)}</pre> : this.props.children; }
}

async function main() {
  const d = await (await fetch('/dashboard.json')).json();
  const now = Date.now(), span = Number(params.get('span') || 600);
  const range = { from: dateTime(now - span * 1000), to: dateTime(now), raw: { from: `now-${span}s`, to: 'now' } };
  // Collapsed rows are drawn as Grafana does, or open if asked for.
  if (!params.has('open')) d.panels = d.panels.map((p) => (p.panels?.length ? { ...p, closed: p.panels.length, panels: [] } : p));
  let down = 0;
  d.panels = d.panels.flatMap((p) => {
    const top = { ...p, gridPos: { ...p.gridPos, y: p.gridPos.y + down } };
    const inside = (p.panels ?? []).map((q) => ({ ...q, gridPos: { ...q.gridPos, y: q.gridPos.y + down } }));
    down += inside.length ? Math.max(...inside.map((q) => q.gridPos.y + q.gridPos.h)) - top.gridPos.y - 1 : 0;
    return [top, ...inside];
  });
  const height = Math.max(...d.panels.map((p) => p.gridPos.y + p.gridPos.h)) * RH;
  document.documentElement.style.background = document.body.style.background = theme.colors.background.canvas;
  document.body.style.color = theme.colors.text.primary;
  window.__want = d.panels.length;
  window.__missing = missing;
  createRoot(document.getElementById('root')).render(<ThemeContext.Provider value={theme}><GlobalStyles /><h3 style={{ margin: '8px', color: theme.colors.text.primary }}>{d.title}</h3><div style={{ position: 'relative', width: W, height }}>{d.panels.map((p) => <Boundary key={p.id}><Panel panel={p} range={range} /></Boundary>)}</div></ThemeContext.Provider>);
}
main();
