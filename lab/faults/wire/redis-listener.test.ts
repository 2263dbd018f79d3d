import { describe, expect, it } from '@jest/globals'
import { CLAIM } from '../../../adapters/redis/scripts/claim.ts'
import { MARK } from '../../../adapters/redis/scripts/mark.ts'
import { redisListener } from './redis-listener.ts'

const KEY = 'key-of-the-target'

function momentsIn(...calls: readonly (readonly [sha: string, key: string])[]): readonly string[] {
  const piece = calls.map(([sha, key]) => `*4\r\nEVALSHA\r\n${sha}\r\n1\r\n${key}\r\n`).join('')
  return redisListener({ id: 'target', key: KEY })
    .fromClient(Buffer.from(piece))
    .map(({ moment }) => moment)
}

describe('the wire of Redis', () => {
  it('shows the call that names the target, also where one piece holds others', () => {
    expect(momentsIn([CLAIM.sha, 'another'], [MARK.sha, KEY])).toEqual(['mark sent'])
    expect(momentsIn([MARK.sha, 'another'], [CLAIM.sha, KEY])).toEqual(['claim sent'])
    expect(momentsIn([CLAIM.sha, 'another'], [MARK.sha, 'another'])).toEqual([])
  })
})
