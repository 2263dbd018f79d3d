import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { clockTime, known } from '../../format.ts'
import { fill } from './parts.tsx'
import { Table } from './table.tsx'

export interface Line {
  readonly title: string
  /** Name of its colour, as for `fill`. */
  readonly color: string
  readonly values: readonly (number | null)[]
}

interface Props {
  readonly title: string
  /** When each column begins, in milliseconds. */
  readonly at: readonly number[]
  readonly lines: readonly Line[]
  readonly text: (value: number) => string
  /** Stacked columns, or lines. */
  readonly kind: 'stack' | 'lines'
  /** To draw anew with other colours. */
  readonly theme: string
}

const HEIGHT = 220

/** A chart with a legend that shows the values under the pointer, and the same numbers as a table. */
export function Chart({ title, at, lines, text, kind, theme }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const [under, setUnder] = useState<number>()
  const shape = lines.map((line) => line.title).join()

  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const width = Math.max(240, element.clientWidth)
    const made = new uPlot(optionsOf(kind, lines, text, width, setUnder), dataOf(kind, at, lines), element)
    plot.current = made
    const observer = new ResizeObserver(() =>
      made.setSize({ width: Math.max(240, element.clientWidth), height: HEIGHT }),
    )
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [kind, shape, theme])
  useEffect(() => plot.current?.setData(dataOf(kind, at, lines)), [at, lines])

  const index = under ?? at.length - 1
  return (
    <figure aria-label={title}>
      <div class="chart" ref={box} aria-hidden="true" />
      <ul class="legend" aria-hidden="true">
        <li class="muted">{clockTime(at[index] ?? 0)}</li>
        {lines.map(({ title: name, color: its, values }) => (
          <li key={name}>
            <span {...fill(its, 'swatch')} />
            {name} <b>{known(values[index], text)}</b>
          </li>
        ))}
      </ul>
      <details>
        <summary>{title} as a table</summary>
        <ChartTable title={title} at={at} lines={lines} text={text} />
      </details>
    </figure>
  )
}

/** The newest first. */
function ChartTable({ title, at, lines, text }: Pick<Props, 'title' | 'at' | 'lines' | 'text'>): JSX.Element {
  const rows = at.map((time, index) => ({ time, index })).toReversed()
  return (
    <Table
      caption={title}
      rows={rows}
      keyOf={({ time }) => String(time)}
      columns={[
        { title: 'Time', cell: ({ time }) => clockTime(time) },
        ...lines.map((line) => ({
          title: line.title,
          isNumber: true,
          cell: ({ index }: { index: number }) => known(line.values[index], text),
        })),
      ]}
    />
  )
}

/** Stacked: the sum of a line and all below it. The highest is drawn first, and the others over it. */
function dataOf(kind: Props['kind'], at: readonly number[], lines: readonly Line[]): uPlot.AlignedData {
  const seconds = at.map((ms) => ms / 1_000)
  if (kind === 'lines') return [seconds, ...lines.map(({ values }) => [...values])] as uPlot.AlignedData
  const sums: number[][] = []
  for (const { values } of lines) {
    const below = sums.at(-1)
    sums.push(values.map((value, index) => (value ?? 0) + (below?.[index] ?? 0)))
  }
  return [seconds, ...sums.toReversed()] as uPlot.AlignedData
}

function optionsOf(
  kind: Props['kind'],
  lines: readonly Line[],
  text: Props['text'],
  width: number,
  onCursor: (index: number | undefined) => void,
): uPlot.Options {
  const axis = { stroke: color('text-2'), font: '11px Inter, system-ui, sans-serif', ticks: { show: false } }
  const grid = { stroke: color('line'), width: 1 }
  const ordered = kind === 'stack' ? lines.toReversed() : lines
  const bars = uPlot.paths.bars?.({ size: [0.82, 22] })
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: kind === 'lines' }, drag: { x: false, y: false } },
    scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(kind === 'stack' ? 4 : 10, most * 1.08)] } },
    axes: [
      {
        ...axis,
        size: 30,
        grid: { show: false },
        values: (_, ticks) => ticks.map((seconds) => clockTime(seconds * 1_000).slice(0, 5)),
        space: 70,
      },
      {
        ...axis,
        grid,
        size: 62,
        space: 34,
        values: (_, ticks) => ticks.map((value) => (kind === 'stack' && value % 1 !== 0 ? '' : text(value))),
      },
    ],
    series: [
      {},
      ...ordered.map((line): uPlot.Series => ({
        label: line.title,
        stroke: color(`fill-${line.color}`),
        width: kind === 'stack' ? 0 : 2,
        points: { show: kind === 'lines', size: 4 },
        spanGaps: false,
        ...(kind === 'stack'
          ? { fill: color(`fill-${line.color}`), ...(bars === undefined ? {} : { paths: bars }) }
          : {}),
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onCursor(cursor.idx ?? undefined)] },
  }
}

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}
