import { describe, expect, it } from '@jest/globals'
import type { LiveAnswer, LiveConsumer, OutboxesAnswer, SessionInfo } from '../../../dashboard/api.ts'
import { alarmsOf } from '../../../dashboard/ui/alarms.ts'
import { combine, limitsOf, runningOf, spanOf, total } from '../../../dashboard/ui/live-view.ts'

const NOW = 1_700_000_000_000
const STEP = 10_000
const NONE = { count: 0, p50Ms: undefined, p99Ms: undefined, maxMs: undefined }

const HEALTHY = {
  consumer: 'sms',
  live: true,
  ready: true,
  state: 'running',
  checks: {},
  partitions: [],
  counts: {},
  inFlight: 0,
  claimed: 0,
  slots: 64,
  oldestUnfinishedMs: 0,
} as const

const LIVE: LiveConsumer = {
  consumer: 'sms',
  group: 'g',
  scope: 's',
  retentionMs: 86_400_000,
  leaseMs: 30_000,
  startedAt: NOW,
  stoppedAt: undefined,
  health: HEALTHY,
  storeDownSince: undefined,
  storeError: undefined,
  outcomes: {
    handled: 0,
    skipped: 0,
    duplicate: 0,
    joined: 0,
    'handed-back': 0,
    failed: 0,
    'settle-refused': 0,
    'dead-lettered': 0,
    parked: 0,
    'lease-lost': 0,
  },
  counts: {},
  reasons: {},
  series: {
    stepMs: STEP,
    at: [NOW - 2 * STEP, NOW - STEP, NOW],
    outcomes: { handled: [1, 2, 3], duplicate: [0, 1, 0] },
    attemptsFailed: [0, 0, 4],
    handlerP50Ms: [null, 5, 6],
    handlerP99Ms: [null, 50, 60],
    endToEndP99Ms: [null, null, 600],
  },
  handler: NONE,
  endToEnd: NONE,
  store: {},
  duplicateAge: NONE,
  recent: [],
  events: [],
}

const SESSION = {
  consumers: [{ id: 'g/sms', name: 'sms', group: 'g' }],
} as unknown as SessionInfo

describe('the live signals of several instances', () => {
  it('add up in the same steps, whatever their clocks are, and keep the worst latency', () => {
    const both = runningOf(
      answer(LIVE, { ...LIVE, series: { ...LIVE.series, at: LIVE.series.at.map((at) => at + 300) } }),
    )
    const all = combine(both)
    expect(all.at).toHaveLength(360)
    expect(all.outcomes.handled.slice(-3)).toEqual([2, 4, 6])
    expect(all.attemptsFailed.at(-1)).toBe(8)
    expect(all.handlerP99Ms.slice(-3)).toEqual([null, 50, 60])
  })

  it('lose nothing when several steps become one column', () => {
    const columns = combine(runningOf(answer(LIVE)), 60, 60)
    expect(columns.stepMs).toBe(60_000)
    expect(total(columns.outcomes.handled)).toBe(6)
    expect(columns.at.every((at) => at % 60_000 === 0)).toBe(true)
    expect(Math.max(...columns.handlerP99Ms.map((value) => value ?? 0))).toBe(60)
  })

  it('are shown over 10 or 30 minutes, or an hour: as long as something is known', () => {
    expect([1, 9, 12, 29, 31, 59].map(spanOfLast)).toEqual([10, 10, 30, 30, 60, 60])
    expect(spanOf(combine([]))).toBe(10)
  })
})

describe('alarms', () => {
  it('are none while everything is well', () => {
    expect(titles(LIVE)).toEqual([])
  })

  it('tell that a store is down, and not that its consumer is not ready because of that', () => {
    const health = { ...HEALTHY, ready: false } as const
    expect(titles({ ...LIVE, health, storeDownSince: NOW - 5_000 })).toEqual([
      'sms: its store has not answered for 5 s',
    ])
  })

  it('tell what makes no progress although it has work', () => {
    const checks = { source: 'consuming', progress: 'sms/3: 2 messages wait for their dead letter' }
    const health = { ...HEALTHY, ready: false, state: 'stalled', checks } as const
    const [alarm, ...more] = alarmsOf(SESSION, undefined, answer({ ...LIVE, health }))
    expect(alarm).toMatchObject({ tone: 'alarm', title: 'sms: stalled', about: checks.progress })
    expect(more).toEqual([])
  })

  it('tell that nothing but failures comes through', () => {
    const checks = {
      source: 'consuming',
      hold: 'holding for 12 s: 50 messages or more in a row ended without their effect',
    }
    const health = { ...HEALTHY, ready: false, state: 'holding', checks } as const
    const [alarm, ...more] = alarmsOf(SESSION, undefined, answer({ ...LIVE, health }))
    expect(alarm).toMatchObject({ tone: 'alarm', about: checks.hold })
    expect(more).toEqual([])
  })

  it('tell of a partition that has not moved for three leases, and of duplicates near the end of retention', () => {
    const partition = {
      name: 'sms/3',
      watermark: '7',
      committed: '7',
      lag: 10,
      committedLag: 10,
      watermarkAgeMs: 100_000,
      inFlight: 1,
      bytesInFlight: 10,
      paused: [],
    }
    const health = { ...HEALTHY, partitions: [partition] } as const
    const late = { count: 3, p50Ms: 50_000_000, p99Ms: 50_000_000, maxMs: 50_000_000 }
    expect(titles({ ...LIVE, health, duplicateAge: late })).toEqual([
      'sms: sms/3 has not moved for 1.7 min',
      'sms: duplicates come 14 h after the mark',
    ])
  })

  it('tell of a partition that waits for a limit as such, and do not alarm', () => {
    const partition = {
      name: 'sms/3',
      watermark: '7',
      committed: '7',
      lag: 10,
      committedLag: 10,
      watermarkAgeMs: 100_000,
      inFlight: 9,
      bytesInFlight: 10,
      paused: [],
    }
    const checks = { limit: '8 wait for the limit of 1 a second' }
    const health = { ...HEALTHY, limited: 8, checks, partitions: [partition] } as const
    expect(alarmsOf(SESSION, undefined, answer({ ...LIVE, health }))).toMatchObject([
      { tone: 'watch', about: '8 messages of the consumer: 8 wait for the limit of 1 a second' },
    ])
  })

  it('tell what is parked in an outbox, what is not published, and which one does not answer', () => {
    const some = { consumers: ['g/sms'], waiting: 0, parked: 0, oldestMs: 0, error: undefined }
    expect(ofOutboxes(some, { ...some, waiting: 5, oldestMs: 59_000 })).toEqual([])
    expect(ofOutboxes({ ...some, waiting: 5, parked: 2, oldestMs: 90_000 })).toEqual([
      'sms: 2 outgoing messages parked',
      'sms: 5 outgoing messages not published, the oldest for 1.5 min',
    ])
    const error = { status: 503, code: 'STORE_UNREACHABLE', message: 'no answer' }
    expect(ofOutboxes({ ...some, error })).toEqual(['sms: its outbox does not answer the dashboard'])
  })

  it('tell of a conflict, and lead to the message that was refused', () => {
    const place = { consumer: 'sms', key: 'k', system: 'kafka', destination: 'sms', origin: 'sms', position: '3@7' }
    const refused = { ...place, type: 'delivery', at: NOW, outcome: 'dead-lettered', reason: 'conflict' } as const
    const [alarm] = alarmsOf(
      SESSION,
      undefined,
      answer({ ...LIVE, reasons: { conflict: 1, schema: 2 }, recent: [refused] }),
    )
    expect(alarm).toMatchObject({ tone: 'alarm', title: 'sms: 1 message had the ID of another one' })
    expect(alarm?.link?.href).toBe('#/message?consumer=g%2Fsms&key=k')
  })

  it('tell that a guarantee is broken, and why', () => {
    expect(ofGuarantee('broken', ['Redis may evict records.'])).toEqual([
      'alarm sms: the guarantee does not hold: Redis may evict records. #/doctor?consumer=g%2Fsms',
    ])
    expect([...ofGuarantee('weaker'), ...ofGuarantee(undefined)]).toEqual([])
  })

  it('of waiting messages lead to their list, the most urgent first', () => {
    const none = { count: 0, isAtLeast: false }
    const counts = {
      processing: none,
      'in-doubt': none,
      parked: { count: 1_000, isAtLeast: true },
      'given-up': { count: 1, isAtLeast: false },
    }
    const found = alarmsOf(
      SESSION,
      { now: NOW, consumers: [{ consumer: 'g/sms', counts, at: NOW, error: undefined }] },
      undefined,
    )
    expect(found.map(({ tone, title }) => `${tone} ${title}`)).toEqual([
      'alarm sms: 1,000+ messages are parked',
      'alarm sms: 1 message is given up',
    ])
    expect(found[0]?.link?.href).toBe('#/records/parked?consumer=g%2Fsms')
  })
})

/** For something that happened so many minutes ago, and now. */
function spanOfLast(minutes: number): number {
  const at = [NOW - minutes * 60_000, NOW]
  const series = { ...LIVE.series, at, outcomes: { handled: [1, 1] }, attemptsFailed: [0, 0] }
  return spanOf(combine(runningOf(answer({ ...LIVE, series }))))
}

function answer(...consumers: readonly LiveConsumer[]): LiveAnswer {
  return {
    now: NOW,
    instances: consumers.map((live, at) => ({
      name: `instance ${at}`,
      state: 'ok',
      snapshot: { schemaVersion: 1, instance: String(at), at: NOW, since: NOW - 60_000, consumers: [live] },
    })),
  }
}

describe('limits', () => {
  it('are those of running consumers, the most waiting first, with since when', () => {
    const health = {
      ...HEALTHY,
      limited: 3,
      oldestLimitedMs: 4_000,
      checks: { limit: '3 wait for the limit of 1 a second' },
    }
    const idle = { ...HEALTHY, limited: 0, oldestLimitedMs: 0, checks: { limit: 'ok' } }
    const found = limitsOf(
      answer(
        { ...LIVE, health: HEALTHY },
        { ...LIVE, health: idle },
        { ...LIVE, health },
        { ...LIVE, health, stoppedAt: NOW },
      ),
    )
    expect(found.map(({ waiting, oldestMs, check }) => [waiting, oldestMs, check])).toEqual([
      [3, 4_000, '3 wait for the limit of 1 a second'],
      [0, 0, 'ok'],
    ])
    expect(limitsOf(undefined)).toEqual([])
  })
})

function ofOutboxes(...outboxes: OutboxesAnswer['outboxes']): readonly string[] {
  return alarmsOf(SESSION, undefined, undefined, undefined, { now: NOW, outboxes }).map(({ title }) => title)
}

function titles(live: LiveConsumer): readonly string[] {
  return alarmsOf(SESSION, undefined, answer(live)).map(({ title }) => title)
}

function ofGuarantee(verdict: 'broken' | 'weaker' | undefined, broken: readonly string[] = []): readonly string[] {
  const consumers = [{ consumer: 'g/sms', verdict, broken }]
  return alarmsOf(SESSION, undefined, undefined, { now: NOW, consumers }).map(
    ({ tone, title, about, link }) => `${tone} ${title}: ${about} ${link?.href}`,
  )
}
