import { describe, expect, it } from '@jest/globals'
import { parseBackends } from '../../kit/backends.ts'

describe('BACKENDS', () => {
  it('narrows to the names given', () => {
    expect([...parseBackends('memory, redis')]).toEqual(['memory', 'redis'])
    expect(parseBackends('memory').has('redis')).toBe(false)
  })

  it.each([undefined, '', ' '])('leaves all of them when it is %p', (text) => {
    expect([...parseBackends(text)]).toEqual(['memory', 'pglite', 'redis', 'postgres', 'mariadb', 'rabbitmq', 'kafka'])
  })

  it('refuses a name it does not know', () => {
    expect(() => parseBackends('memory,reddis')).toThrow(/got reddis/)
  })
})
