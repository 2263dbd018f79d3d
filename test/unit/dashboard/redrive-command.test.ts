import { describe, expect, it } from '@jest/globals'
import { allowing, redriveOf } from '../../../dashboard/ui/letters/redrive-command.ts'
import type { Meant } from '../../../dashboard/api.ts'

const consumer = { id: 'sms/sender', name: 'sender' }
const SAME = 'npx consume-once redrive sender'

describe('the command for the dead letters that a person means', () => {
  it.each<[only: Meant, rest: string]>([
    [{}, '--dry-run'],
    [{ id: 'order-17' }, 'order-17 --dry-run'],
    [{ id: "it's, 1" }, String.raw`'it'\''s, 1' --dry-run`],
    [{ id: '-17' }, '--dry-run -- -17'],
    [{ key: '-nmhO_WlHMIQdRLsEpnZwA' }, '--key=-nmhO_WlHMIQdRLsEpnZwA --dry-run'],
    [
      { reasons: ['in-doubt'], since: 0, until: 60_000 },
      '--reason-is in-doubt --since 1970-01-01T00:00:00.000Z --until 1970-01-01T00:01:00.000Z --dry-run',
    ],
    [{ where: ['/to=b', '/n!=1'] }, "--where '/to=b' --where '/n!=1' --dry-run"],
  ])('%j', (only, rest) => {
    expect(redriveOf(consumer, [consumer], only, '--dry-run')).toBe(`${SAME} ${rest}`)
  })

  it('names each place that is to be allowed', () => {
    expect(allowing({ 'old sms': 2, calls: 1 })).toBe("--allow-destination='old sms' --allow-destination=calls")
  })
})
