import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useTheme } from '../shell/theme.js';
import { Teach } from './small.js';
import { duration, type Tone } from './words.js';

export interface Series {
  name: string;
  tone: Tone | 'accent';
  values: readonly (number | null | undefined)[];
}

interface ChartProps {
  title: string;
  at: readonly string[];
  series: readonly Series[];
  /** Writes a value of the axis. */
  write: (value: number) => string;
  empty: string;
}

const heightPx = 180;
/** A line of fewer says nothing. */
const fewestPoints = 3;
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
/** Distances of an axis of milliseconds that people count in. */
const durationSteps = [1, 2, 5]
  .flatMap((one) => [1, 10, 100, 1_000].map((unit) => one * unit))
  .concat(
    [1, 2, 5, 10, 20, 30].map((minutes) => minutes * 60_000),
    [10_000, 20_000, 30_000],
    [1, 2, 4, 8, 12, 24, 48, 96, 240].map((hours) => hours * 3_600_000),
  )
  .sort((a, b) => a - b);
const variable: Readonly<Record<Series['tone'], string>> = {
  ok: '--ok',
  wait: '--wait',
  held: '--held',
  unsure: '--unsure',
  dead: '--dead',
  late: '--late',
  quiet: '--quiet',
  accent: '--accent',
};

/** A canvas knows no CSS: a colour is read from the page as it is now. */
function colour(name: string, probe: HTMLElement): string {
  probe.style.color = `var(${name})`;
  const value = getComputedStyle(probe).color;
  probe.style.color = '';
  return value;
}

function draw(host: HTMLElement, { at, series, write }: ChartProps): uPlot {
  const axis = {
    stroke: colour('--ink-3', host),
    grid: { stroke: colour('--line', host), width: 1 },
    ticks: { show: false },
    font: '11px IBM Plex Sans',
  };
  const options: uPlot.Options = {
    width: host.clientWidth,
    height: heightPx,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    axes: [
      { ...axis, space: 64, values: (_plot, splits) => splits.map((seconds) => clock.format(seconds * 1_000)) },
      {
        ...axis,
        size: 62,
        values: (_plot, splits) => splits.map((value) => write(value)),
        ...(write === duration && { incrs: durationSteps }),
      },
    ],
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.15)] } },
    series: [
      {},
      ...series.map(({ name, tone }) => ({
        label: name,
        stroke: colour(variable[tone], host),
        width: 1.75,
        points: { show: false },
        spanGaps: true,
      })),
    ],
  };
  const data = [at.map((time) => Date.parse(time) / 1_000), ...series.map(({ values }) => values.map((value) => value ?? null))];
  return new uPlot(options, data as uPlot.AlignedData, host);
}

/** Lines over time. The same figures stand in a table below it, for whoever cannot or would not read lines. */
export function Chart(props: ChartProps) {
  const { title, at, series, write, empty } = props;
  const host = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a theme changes what the colours of the page are
  useEffect(() => {
    const element = host.current;
    if (element === null || at.length < fewestPoints) return;
    const plot = draw(element, props);
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: heightPx }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [props, theme]);
  if (at.length < fewestPoints) return <Teach title={title}>{<p>{empty}</p>}</Teach>;
  return (
    <figure className="chart">
      <div className="row spread">
        <h3>{title}</h3>
        <div className="key">
          {series.map(({ name, tone }) => (
            <span key={name} className={`tone-${tone}`}>
              <i style={tone === 'accent' ? { background: 'var(--accent)' } : undefined} />
              {name}
            </span>
          ))}
        </div>
      </div>
      <div ref={host} className="plot" aria-hidden="true" />
      <details>
        <summary>{title}: the figures</summary>
        <Figures at={at} series={series} write={write} />
      </details>
    </figure>
  );
}

function Figures({ at, series, write }: Pick<ChartProps, 'at' | 'series' | 'write'>) {
  return (
    <div className="table-wrap">
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ name }) => (
              <th key={name} scope="col" className="num">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {at.map((time, index) => (
            <tr key={time}>
              <td>{new Date(time).toLocaleString()}</td>
              {series.map(({ name, values }) => {
                const value = values[index];
                return (
                  <td key={name} className="num">
                    {value === null || value === undefined ? '–' : write(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
