import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { LiveEntry, Outcome } from '../../api.ts'
import { clockTime, duration, exact, known, place, plural } from '../../format.ts'
import { timeAxis, type Span } from '../time-axis.ts'
import { OUTCOMES } from '../words.ts'
import { fill } from './parts.tsx'
import { Table } from './table.tsx'

type Entry = LiveEntry & { readonly instance: string }

const STEPS = [
  ['wait', 'waited for a claim', 'waitMs'],
  ['claim', 'claimed', 'claimMs'],
  ['handler', 'handled', 'handlerMs'],
  ['mark', 'marked', 'markMs'],
  ['settle', 'settled', 'settleMs'],
] as const

/** Beside the bars; in a narrow window above them, where they stay in sight. */
const WIDE = { labels: 172, row: 38, bar: 0, top: 30 }
const NARROW = { labels: 0, row: 62, bar: 34, top: 46 }
const NARROW_BELOW = 620

type Shape = typeof WIDE

/** More rows push what follows off the screen, and the newest tell most. */
const MOST_DRAWN = 12

/** The latest deliveries of one message on one axis: claimed, handled, marked, settled, each redelivery in a row of its own. */
export function Timeline({ entries: all }: { entries: readonly Entry[] }): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const [room, setRoom] = useState(900)
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const observer = new ResizeObserver(() => setRoom(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  const earlier = Math.max(0, all.length - MOST_DRAWN)
  const entries = all.slice(earlier)
  const newest = entries.at(-1)?.at
  useEffect(() => box.current?.scrollTo({ left: box.current.scrollWidth }), [newest, room])

  const sent = entries.map(({ timestamp }) => timestamp).find((at) => at !== undefined)
  const first = Math.min(...entries.map((entry) => spanOf(entry).from))
  const marks: readonly Span[] = sent === undefined || sent > first ? [] : [{ from: sent, to: sent }]
  const shape = room < NARROW_BELOW ? NARROW : WIDE
  const axis = timeAxis([...marks, ...entries.map(spanOf)], Math.max(240, room - shape.labels - 24))
  const { top } = shape
  const height = top + entries.length * shape.row + 28
  const width = shape.labels + axis.width + 24
  return (
    <figure aria-label="Time line of this message">
      <div class="timeline" ref={box} tabIndex={0} role="region" aria-label="Time line, drawn">
        <svg width={width} height={height} aria-hidden="true">
          <g transform={`translate(${shape.labels} 0)`}>
            {axis.gaps.map((gap) => (
              <g key={gap.from}>
                <rect
                  class="gap"
                  x={gap.left + 6}
                  y={top - 6}
                  width={gap.right - gap.left - 12}
                  height={height - top - 14}
                />
                <path
                  class="gap-edge"
                  d={`M${gap.left + 6} ${top - 6}V${height - 20}M${gap.right - 6} ${top - 6}V${height - 20}`}
                />
                <text x={(gap.left + gap.right) / 2} y={14} text-anchor="middle">
                  {duration(gap.ms)}
                </text>
              </g>
            ))}
            {axis.stretches.map(({ from, left }) => (
              <text key={from} x={left} y={height - 5}>
                {clockTime(from)}
              </text>
            ))}
            {marks.map(({ from }) => (
              <g key="sent">
                <path class="rule" d={`M${axis.place(from)} ${top - 8}V${height - 20}`} />
                <text x={axis.place(from) + 4} y={top + (shape.labels > 0 ? 4 : -12)}>
                  sent
                </text>
              </g>
            ))}
          </g>
          {entries.map((entry, at) => (
            <Row
              key={at}
              entry={entry}
              number={earlier + at + 1}
              y={top + at * shape.row}
              shape={shape}
              placeOf={axis.place}
            />
          ))}
        </svg>
      </div>
      <ul class="legend" aria-hidden="true">
        {STEPS.map(([step, title]) => (
          <li key={step}>
            <span {...fill(step, 'swatch')} />
            {title}
          </li>
        ))}
        {endsOf(entries).map((outcome) => (
          <li key={`end ${outcome}`}>
            <span {...fill(outcome, 'swatch end-of')} />
            ended: {OUTCOMES[outcome].title}
          </li>
        ))}
      </ul>
      <details>
        <summary>
          Time line as a table{earlier > 0 && `, with ${plural(earlier, 'earlier entry', 'earlier entries')}`}
        </summary>
        <StepTable entries={all} />
      </details>
    </figure>
  )
}

function Row({
  entry,
  number,
  y: top,
  shape: { labels, row, bar },
  placeOf,
}: {
  entry: Entry
  number: number
  y: number
  shape: Shape
  placeOf: (at: number) => number
}): JSX.Element {
  const { from, to } = spanOf(entry)
  const left = placeOf(from) + labels
  const right = Math.max(left + 4, placeOf(to) + labels)
  const y = top + bar
  return (
    <g>
      <title>{`${titleOf(entry)}, ${exact(from)} to ${exact(to)}`}</title>
      {labels > 0 && <path class="rule" d={`M0 ${top + row - 4}H${labels - 12}`} />}
      <text class="strong" x={0} y={top + 14}>{`${number}  ${titleOf(entry)}`}</text>
      <text x={18} y={top + 28}>
        {subtitleOf(entry)}
      </text>
      {entry.type === 'delivery' ? (
        <>
          <rect {...fill('wait')} x={left} y={y + 10} width={right - left} height={5} rx="2" opacity="0.7" />
          {partsOf(entry).map(({ step, begin, end }) => (
            <rect
              key={step}
              {...fill(step)}
              x={placeOf(begin) + labels}
              y={y + (step === 'wait' ? 10 : 3)}
              width={Math.max(step === 'wait' ? 0 : 3, placeOf(end) - placeOf(begin))}
              height={step === 'wait' ? 5 : 19}
              rx="2"
            />
          ))}
          <circle {...fill(entry.outcome)} cx={right + 8} cy={y + 12.5} r="5" />
        </>
      ) : (
        <path {...fill('failed')} d={`M${left} ${y + 3}l9 16h-18z`} />
      )}
    </g>
  )
}

function endsOf(entries: readonly Entry[]): readonly Outcome[] {
  return [...new Set(entries.flatMap((entry) => (entry.type === 'delivery' ? [entry.outcome] : [])))]
}

/** A delivery from its arrival to its end; other events are points. */
function spanOf(entry: Entry): Span {
  return { from: entry.at - (entry.type === 'delivery' ? (entry.durations?.totalMs ?? 0) : 0), to: entry.at }
}

/** The steps of a delivery, one after the other from its arrival; the settle ends with it. */
function partsOf(entry: Extract<Entry, { type: 'delivery' }>): readonly { step: string; begin: number; end: number }[] {
  let at = spanOf(entry).from
  return STEPS.flatMap(([step, , field]) => {
    const ms = entry.durations?.[field]
    if (ms === undefined) return []
    const begin = step === 'settle' ? Math.max(at, entry.at - ms) : at
    at = Math.min(entry.at, begin + ms)
    return [{ step, begin, end: at }]
  })
}

function titleOf(entry: Entry): string {
  return entry.type === 'delivery' ? OUTCOMES[entry.outcome].title : entry.type.replaceAll('-', ' ')
}

function subtitleOf(entry: Entry): string {
  if (entry.type !== 'delivery') return entry.attempt === undefined ? '' : `attempt ${entry.attempt}`
  const total = entry.durations === undefined ? '' : `, ${duration(entry.durations.totalMs)}`
  return `${entry.redelivered === true ? 'redelivered' : 'delivered'}${total}`
}

function StepTable({ entries }: { entries: readonly Entry[] }): JSX.Element {
  return (
    <Table
      caption="Deliveries of this message and their steps"
      rows={entries}
      keyOf={(_, at) => String(at)}
      columns={[
        { title: 'Ended', cell: (entry) => exact(entry.at) },
        { title: 'What', cell: titleOf },
        { title: 'Place', cell: place },
        ...STEPS.map(([, title, field]) => ({
          title,
          isNumber: true,
          cell: (entry: Entry) => known(entry.type === 'delivery' ? entry.durations?.[field] : undefined, duration),
        })),
        { title: 'Process', cell: (entry) => entry.instance },
        {
          title: 'Detail',
          cell: (entry) => (
            <span class="wrap">{entry.detail ?? (entry.type === 'delivery' ? (entry.reason ?? '') : '')}</span>
          ),
        },
      ]}
    />
  )
}
