// What a person on call should look at first. Pure.

import type { CountsAnswer, GuaranteesAnswer, LiveAnswer, OutboxesAnswer, SessionInfo, StateCount } from '../api.ts'
import { count, duration, plural } from '../format.ts'
import { runningOf, type Running } from './live-view.ts'
import { href } from './place.ts'
import { infoOf, titleIn } from './where.ts'
import type { Tone } from './words.ts'

export interface Alarm {
  readonly tone: Extract<Tone, 'alarm' | 'watch'>
  readonly id: string
  readonly title: string
  /** What it means and what to do first. */
  readonly about: string
  readonly link: { readonly href: string; readonly text: string } | undefined
}

export function alarmsOf(
  session: SessionInfo,
  counts: CountsAnswer | undefined,
  live: LiveAnswer | undefined,
  guarantees?: GuaranteesAnswer,
  outboxes?: OutboxesAnswer,
): readonly Alarm[] {
  const running = live === undefined ? [] : runningOf(live)
  const all = [
    ...(live?.instances ?? []).flatMap(unreachable),
    ...running.flatMap((one) => ofRunning(one, session)),
    ...(guarantees?.consumers ?? []).flatMap((one) => ofGuarantee(one, session)),
    ...ofCounts(session, counts),
    ...(outboxes?.outboxes ?? []).flatMap((one) => ofOutbox(one, session)),
  ]
  return all.toSorted((a, b) => rank(a) - rank(b))
}

function rank({ tone }: Alarm): number {
  return tone === 'alarm' ? 0 : 1
}

function unreachable({ name, state, error, snapshot }: LiveAnswer['instances'][number]): readonly Alarm[] {
  if (state === 'ok') return []
  const seen = snapshot === undefined ? 'It was never reached.' : 'What is shown of it is the last that was known.'
  return [
    {
      tone: 'watch',
      id: `instance ${name}`,
      title: `${name} does not answer`,
      about: `${error ?? 'No answer.'} ${seen} See whether the process runs.`,
      link: undefined,
    },
  ]
}

function ofRunning({ live, instance, isReachable, at, since }: Running, session: SessionInfo): readonly Alarm[] {
  if (!isReachable || live.stoppedAt !== undefined) return []
  const alarms: Alarm[] = []
  const { consumer, health, counts } = live
  const info = infoOf(session, live)
  const look = { href: href(['consumers'], { consumer: info?.id }), text: 'Look at the consumer' }
  const raise = (tone: Alarm['tone'], what: string, title: string, about: string, link: Alarm['link'] = look): void => {
    alarms.push({ tone, id: `${instance} ${consumer} ${what}`, title: `${consumer}: ${title}`, about, link })
  }
  const ago = `in the last ${duration(Math.max(0, at - since))} of ${instance}`

  if (live.storeDownSince !== undefined) {
    const down = duration(at - live.storeDownSince)
    raise(
      'alarm',
      'store',
      `its store has not answered for ${down}`,
      `Nothing is handled and nothing is lost: the consumer waits and goes on by itself. ${live.storeError ?? ''} Mend the store.`,
    )
  }
  if (health?.live === false)
    raise('alarm', 'live', 'a restart would help', `State ${health.state}. ${checks(health.checks)}`)
  else if (health?.state === 'stalled')
    raise('alarm', 'stalled', 'stalled', health.checks['progress'] ?? checks(health.checks))
  else if (health?.state === 'holding')
    raise(
      'alarm',
      'holding',
      'holds: nothing but failures came through',
      health.checks['hold'] ?? checks(health.checks),
    )
  else if (health?.ready === false && live.storeDownSince === undefined)
    raise('watch', 'ready', `not ready (${health.state})`, checks(health.checks))
  const lease = live.leaseMs
  for (const { name, watermarkAgeMs, inFlight } of health?.partitions ?? []) {
    if (lease === undefined || watermarkAgeMs <= lease * 3) continue
    // What waits for its provider's rate gets on, slowly.
    const isLimited = (health?.limited ?? 0) > 0
    raise(
      isLimited ? 'watch' : 'alarm',
      `stuck ${name}`,
      `${name} has not moved for ${duration(watermarkAgeMs)}`,
      isLimited
        ? `${plural(health?.limited ?? 0, 'message')} of the consumer: ${health?.checks['limit'] ?? ''}`
        : `${plural(inFlight, 'message')} under way. See the handler's time limit, and the message at the watermark.`,
    )
  }
  const happened = (name: string): number => counts[name] ?? 0
  if (happened('stuck') > 0)
    raise(
      'alarm',
      'handler',
      `${plural(happened('stuck'), 'handler')} ignored the signal to stop`,
      `They ran past their time limit ${ago}. A handler must end when its signal aborts.`,
    )
  if (happened('invariant-broken') > 0)
    raise(
      'alarm',
      'invariant',
      'a rule of the library was broken',
      `${plural(happened('invariant-broken'), 'time')} ${ago}. Nothing wrong was sent. Report it, with the log.`,
    )
  const conflicts = live.reasons['conflict'] ?? 0
  if (conflicts > 0) {
    const last = live.recent.find((entry) => entry.type === 'delivery' && entry.reason === 'conflict')
    raise(
      'alarm',
      'conflict',
      `${plural(conflicts, 'message')} had the ID of another one`,
      `Conflicts ${ago}: the same ID, another payload. They did not go out, and the dead letters have them. Let the producer publish them under IDs of their own.`,
      info === undefined
        ? undefined
        : last === undefined
          ? { href: href(['dead-letters'], { consumer: info.id }), text: 'Look at the dead letters' }
          : { href: href(['message'], { consumer: info.id, key: last.key }), text: 'Look at the latest' },
    )
  }
  if (live.outcomes['lease-lost'] > 0)
    raise(
      'alarm',
      'lease',
      `${plural(live.outcomes['lease-lost'], 'lease')} lost while a handler ran`,
      `Counted ${ago}. Such an effect may happen twice. Is the lease too short, or the process starved of CPU?`,
    )
  if (happened('publish-failed') > 0)
    raise(
      'watch',
      'publish',
      `${plural(happened('publish-failed'), 'copy', 'copies')} could not be published`,
      `Counted ${ago}. They are tried again; until then their messages are not settled. See the dead-letter and retry places.`,
    )
  if (happened('purge-failed') > 0)
    raise(
      'watch',
      'purge',
      `${plural(happened('purge-failed'), 'purge')} failed`,
      `Counted ${ago}. Old records stay until one succeeds.`,
    )
  const oldest = live.duplicateAge.p99Ms
  if (oldest !== undefined && live.retentionMs !== undefined && oldest > live.retentionMs / 2) {
    raise(
      'watch',
      'retention',
      `duplicates come ${duration(oldest)} after the mark`,
      `Retention is ${duration(live.retentionMs)}: a duplicate that comes later runs again. Raise retentionMs before you replay.`,
    )
  }
  return alarms
}

function checks(all: Readonly<Record<string, string>>): string {
  return Object.entries(all)
    .map(([name, text]) => `${name}: ${text}`)
    .join('. ')
}

function ofGuarantee(
  { consumer, verdict, broken }: GuaranteesAnswer['consumers'][number],
  session: SessionInfo,
): readonly Alarm[] {
  if (verdict !== 'broken') return []
  const name = titleIn(session, consumer)
  return [
    {
      tone: 'alarm',
      id: `guarantee ${consumer}`,
      title: `${name}: the guarantee does not hold`,
      about: broken.join(' '),
      link: { href: href(['doctor'], { consumer }), text: 'See why' },
    },
  ]
}

/** A relay publishes within milliseconds. */
export const OUTBOX_LATE_MS = 60_000

function ofOutbox(
  { consumers, waiting, parked, oldestMs, error }: OutboxesAnswer['outboxes'][number],
  session: SessionInfo,
): readonly Alarm[] {
  const [consumer = ''] = consumers
  const name = consumers.map((id) => titleIn(session, id)).join(', ')
  const link = { href: href(['outbox'], { consumer }), text: 'Look at the outbox' }
  const raise = (what: string, title: string, about: string): Alarm => {
    return { tone: 'alarm', id: `outbox ${consumer} ${what}`, title: `${name}: ${title}`, about, link }
  }
  if (error !== undefined) return [raise('error', 'its outbox does not answer the dashboard', error.message)]
  return [
    ...(parked === 0
      ? []
      : [
          raise(
            'parked',
            `${plural(parked, 'outgoing message')} parked`,
            'Their broker refused them for good, so nobody gets them until a person acts. See why, then publish them again.',
          ),
        ]),
    ...(oldestMs < OUTBOX_LATE_MS
      ? []
      : [
          raise(
            'late',
            `${plural(waiting, 'outgoing message')} not published, the oldest for ${duration(oldestMs)}`,
            'They are committed and wait for a relay. See whether one runs, and whether their broker takes messages.',
          ),
        ]),
  ]
}

const WAITING = [
  [
    'parked',
    'alarm',
    'parked',
    'The effect may have happened, and no copy runs. Find out whether it happened, then decide.',
  ],
  [
    'in-doubt',
    'alarm',
    'in doubt',
    'An attempt has no known end. The next delivery follows onInDoubt; if none comes, a person decides.',
  ],
  [
    'given-up',
    'alarm',
    'given up',
    'Certainly nothing went out, and no copy runs. Read why: some run after a redrive, others need a corrected message.',
  ],
] as const

function ofCounts(session: SessionInfo, answer: CountsAnswer | undefined): readonly Alarm[] {
  return (answer?.consumers ?? []).flatMap(({ consumer, counts, error }): readonly Alarm[] => {
    const name = titleIn(session, consumer)
    if (error !== undefined) {
      return [
        {
          tone: 'alarm',
          id: `counts ${consumer}`,
          title: `${name}: its store does not answer the dashboard`,
          about: `${error.message} This page asks again by itself.`,
          link: undefined,
        },
      ]
    }
    return WAITING.flatMap(([state, tone, words, about]): readonly Alarm[] => {
      const found = counts?.[state]
      if (found === undefined || found.count === 0) return []
      const isOne = found.count === 1 && !found.isAtLeast
      return [
        {
          tone,
          id: `${consumer} ${state}`,
          title: `${name}: ${countText(found)} ${isOne ? 'message is' : 'messages are'} ${words}`,
          about,
          link: { href: href(['records', state], { consumer }), text: isOne ? 'Look at it' : 'Look at them' },
        },
      ]
    })
  })
}

export function countText({ count: found, isAtLeast }: StateCount): string {
  return `${count(found)}${isAtLeast ? '+' : ''}`
}
