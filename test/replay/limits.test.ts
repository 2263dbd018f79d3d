// What a person says to limit a replay or a redrive holds on real servers.
import { describe, expect, it, jest } from '@jest/globals'
import type { ReplayPlan, RunResult } from '../../src/replay/index.ts'
import { WITHIN_MS } from '../kit/cli-process.ts'
import { backends } from '../kit/backends.ts'
import { Incident, sms } from './incident.ts'

jest.setTimeout(WITHIN_MS)

const onRabbit = backends.has('rabbitmq') && backends.has('redis') ? describe : describe.skip
const WHY = ['--reason', 'OPS-812', '--yes']

onRabbit('on RabbitMQ', () => {
  it('messages without a timestamp are in no range of time, and happen again only if somebody takes them', async () => {
    await using incident = await Incident.on('rabbitmq', 'redis')
    await incident.send(sms(4), false)
    await incident.live(incident.hasEffects(4))
    await incident.send(sms(4), false)
    const january = ['--since', '2025-01-01T00:00Z', '--until', '2025-01-02T00:00Z']
    const asked = ['replay', 'plan', 'sms', '--from', incident.from, ...january, '--again']
    const out = incident.cli.path('plan.json')
    const planned = await incident.run([...asked, '--out', out])
    expect(planned.stdout).toMatch(/4 messages, 0 to handle\n.*\nundated +4 +skip +no time, .*--include undated/)
    const run = await incident.json<RunResult>(['replay', 'run', out, ...WHY])
    expect(run).toMatchObject({ status: 'finished', totals: { handled: 0, skipped: 4 } })
    expect(await incident.effects()).toHaveLength(4)
    const { plan } = await incident.json<{ plan: ReplayPlan }>([...asked, '--include', 'undated'])
    expect(plan.toHandle).toBe(4)
  })
})
