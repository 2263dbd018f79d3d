import type { JSX, TargetedKeyboardEvent, TargetedMouseEvent } from 'preact'
import { useRef } from 'preact/hooks'
import type { ConsumerInfo, ListState, RecordRow, SearchedMessage } from '../../api.ts'
import { duration } from '../../format.ts'
import { go } from '../router.ts'
import { PlaceLink } from './found.tsx'
import { Copy, Copyable, KeyLink, Time } from './parts.tsx'

interface Props {
  readonly consumer: ConsumerInfo
  readonly state: ListState
  readonly records: readonly RecordRow[]
  /** Their dead letters, by key, if somebody looked for them. */
  readonly letters: ReadonlyMap<string, SearchedMessage> | undefined
  readonly chosen: ReadonlySet<string>
  /** `undefined`: nothing can be decided here, and nothing is chosen. */
  readonly onChoose: ((chosen: ReadonlySet<string>) => void) | undefined
}

/** Records with a choice of several. Arrow keys move between rows, Space chooses, Enter opens. */
export function RecordTable({ consumer, state, records, letters, chosen, onChoose }: Props): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null)
  const isAllChosen = records.length > 0 && records.every(({ key }) => chosen.has(key))
  const toggle = (key: string): void => {
    const next = new Set(chosen)
    if (!next.delete(key)) next.add(key)
    onChoose?.(next)
  }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTableRowElement>, key: string): void => {
    if (event.target !== event.currentTarget) return
    const rows = [...(body.current?.rows ?? [])]
    const at = rows.indexOf(event.currentTarget)
    const to = new Map([
      ['ArrowDown', at + 1],
      ['ArrowUp', at - 1],
      ['Home', 0],
      ['End', rows.length - 1],
    ]).get(event.key)
    if (to !== undefined) rows[Math.max(0, Math.min(rows.length - 1, to))]?.focus()
    else if (event.key === ' ') toggle(key)
    else if (event.key === 'Enter') go(['message'], { consumer: consumer.id, key })
    else return
    event.preventDefault()
  }
  /** What can be clicked in the row does its own work, and so does the choice of a text. */
  const openAt = (event: TargetedMouseEvent<HTMLTableRowElement>, key: string): void => {
    const isOwn = event.target instanceof Element && event.target.closest('a, button, input') !== null
    if (isOwn || (window.getSelection()?.toString() ?? '') !== '') return
    go(['message'], { consumer: consumer.id, key })
  }
  return (
    <div class="table opens">
      <table aria-label="Records" aria-describedby="record-keys">
        <thead>
          <tr>
            {onChoose !== undefined && (
              <th scope="col">
                <input
                  type="checkbox"
                  aria-label="Choose all on this page"
                  checked={isAllChosen}
                  onChange={() => onChoose(new Set(isAllChosen ? [] : records.map(({ key }) => key)))}
                />
              </th>
            )}
            <th scope="col">{letters === undefined ? 'Key' : 'Message'}</th>
            <th scope="col">{state === 'processing' ? 'Lease left' : 'Reason and last error'}</th>
            {letters !== undefined && (
              <>
                <th scope="col">Dead letter</th>
                <th scope="col">Idempotency key</th>
              </>
            )}
            <th scope="col" class="num">
              Attempts
            </th>
            <th scope="col" class="num">
              Since
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          {records.map((record, at) => (
            <tr
              key={record.key}
              class={chosen.has(record.key) ? 'chosen' : ''}
              tabIndex={at === 0 ? 0 : -1}
              onKeyDown={(event) => onKeyDown(event, record.key)}
              onClick={(event) => openAt(event, record.key)}
            >
              {onChoose !== undefined && (
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Choose ${record.key}`}
                    checked={chosen.has(record.key)}
                    onChange={() => toggle(record.key)}
                  />
                </td>
              )}
              <th scope="row">
                <span class="copyable">
                  <KeyLink of={record.key} id={letters?.get(record.key)?.id} consumer={consumer} />
                  <Copy text={record.key} label={`key ${record.key.slice(0, 12)}`} />
                </span>
              </th>
              <td>
                {record.leaseLeftMs !== undefined && duration(record.leaseLeftMs)}
                {record.reason !== undefined && <strong>{record.reason}</strong>}
                {record.cause !== undefined && <span class="cause">{record.cause}</span>}
              </td>
              {letters !== undefined && <LetterCells of={letters.get(record.key)} />}
              <td class="num">{record.attempt ?? '–'}</td>
              <td class="num">{record.since === undefined ? '–' : <Time at={record.since} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p id="record-keys" class="small muted">
        The store keeps a key made of each message ID, and no ID: Find a message tells which key an ID has. Arrow keys
        move between rows, Enter or a click opens a message{onChoose === undefined ? '' : ', Space chooses it'}.
      </p>
    </div>
  )
}

function LetterCells({ of }: { of: SearchedMessage | undefined }): JSX.Element {
  const key = of?.idempotencyKey
  return (
    <>
      <td>{of === undefined ? 'none found' : <PlaceLink of={of} />}</td>
      <td>{key === undefined ? '–' : <Copyable text={key} label="the idempotency key" show={12} />}</td>
    </>
  )
}
