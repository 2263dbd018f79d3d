import type { JSX } from 'preact'
import type { ConsumerInfo } from '../../api.ts'
import { useShared } from '../context.ts'
import { go, useRoute } from '../router.ts'

/** The title of a screen, what it is about, and the choice of its consumer. */
export function Head({
  title,
  about,
  consumer,
  hasAll = false,
}: {
  title: string
  about?: string
  consumer?: ConsumerInfo | undefined
  /** The screen can be about all consumers: it is, without `consumer`. */
  hasAll?: boolean
}): JSX.Element {
  return (
    <div class="head">
      <h1 class="wrap">{title}</h1>
      {about !== undefined && <p>{about}</p>}
      {(consumer !== undefined || hasAll) && <ConsumerPicker consumer={consumer} hasAll={hasAll} />}
    </div>
  )
}

/** Chooses the consumer that a screen is about. */
function ConsumerPicker({ consumer, hasAll }: { consumer: ConsumerInfo | undefined; hasAll: boolean }): JSX.Element {
  const { session } = useShared()
  const { path, query } = useRoute()
  const asked = path[0] === 'message' ? (query.get('id') ?? '') : ''
  const isAmbiguous = new Set(session.consumers.map(({ name }) => name)).size < session.consumers.length
  return (
    <div class="end">
      <label>
        <span class="visually-hidden">Consumer</span>
        <select
          value={consumer?.id ?? ''}
          onChange={(event) => go(path.slice(0, 2), { consumer: event.currentTarget.value, id: asked })}
        >
          {hasAll && <option value="">all consumers</option>}
          {session.consumers.map(({ id, name }) => (
            <option key={id} value={id}>
              {isAmbiguous ? id : name}
            </option>
          ))}
        </select>
      </label>
    </div>
  )
}
