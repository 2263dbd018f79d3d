import type { JSX } from 'preact'
import type { ConsumerInfo, RedriveResult } from '../../api.ts'
import { plural } from '../../format.ts'
import { href } from '../place.ts'

/** What a redrive did. Its page has what it left, and why. */
export function Sent({ consumer, sent }: { consumer: ConsumerInfo; sent: RedriveResult }): JSX.Element {
  const { id, totals, because, stopped } = sent
  return (
    <div class="notice">
      <p class="wrap">
        {plural(totals.redriven, 'dead letter')} sent back by{' '}
        <a href={href(['replays', id], { consumer: consumer.id })}>{id}</a>
        {stopped && `, which ended before it had sent all: ${because}`}.
      </p>
    </div>
  )
}
