import { afterEach, describe, expect, it } from '@jest/globals'
import type { Logger } from '../../../../src/ports/logger.ts'
import { endRigs, startRig, STYLES } from '../../../kit/rig.ts'

afterEach(endRigs)

const quiet = (): void => {}
const noisy = (): never => {
  throw new Error('the observer is broken')
}

describe.each(STYLES)('what a consumer tells ($strategy, $handler)', (style) => {
  it('is one outcome for each delivery, whatever the observer does', async () => {
    const rig = await startRig({
      style,
      observe: noisy,
      maxAttempts: 1,
      effect: (work) => (work.id === 'bad' ? Promise.reject(new Error('broken')) : work.apply()),
    })
    const deliveries = await rig.deliver('a', 'bad', '', 'a')
    await rig.clock.advance(1_000)
    expect(deliveries.map(({ settled }) => settled)).toEqual([1, 1, 1, 1])
    expect(rig.outcomes().toSorted()).toEqual(['dead-lettered', 'dead-lettered', 'handled', 'joined'])
    expect(rig.running.health().checks['handlers']).toBe('0 in flight')
  })

  it('is the same when the logger throws', async () => {
    const log: Logger = { debug: noisy, info: noisy, warn: noisy, error: noisy }
    const rig = await startRig({ style, log, observe: noisy, effect: (work) => work.apply() })
    const [delivery] = await rig.deliver('a')
    expect(delivery?.settled).toBe(1)
  })

  it('says in the log that the observer threw', async () => {
    const errors: string[] = []
    const log: Logger = { debug: quiet, info: quiet, warn: quiet, error: (_, message) => void errors.push(message) }
    const rig = await startRig({ style, log, observe: noisy, effect: (work) => work.apply() })
    await rig.deliver('a')
    expect(new Set(errors)).toEqual(new Set(['the observer threw']))
  })

  it('holds no payload and no raw ID', async () => {
    const lines: string[] = []
    const keep = (fields: object, message: string): void => void lines.push(JSON.stringify(fields) + message)
    const log: Logger = { debug: keep, info: keep, warn: keep, error: keep }
    const rig = await startRig({
      style,
      log,
      maxAttempts: 1,
      effect: (work) => (work.id === '+79161234567' ? Promise.reject(new Error('broken')) : work.apply()),
    })
    rig.source.publishFailures = 1
    await rig.deliver({ id: '+79161234567', payload: 'secret' }, { id: '+79167654321', payload: 'secret' })
    await rig.clock.advance(1_000)
    expect(lines.length).toBeGreaterThan(2)
    expect(lines.filter((line) => /7916|secret/.test(line))).toEqual([])
  })
})
