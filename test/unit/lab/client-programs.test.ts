import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { LOWEST, OF_NEST, PROGRAMS } from '../../../lab/package/client-programs.ts'

const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  peerDependencies: Record<string, string>
}

it('names the lowest version of each range, and has a program for each client', () => {
  const clients = Object.entries(peerDependencies).filter(([name]) => !OF_NEST.has(name))
  expect(Object.keys(LOWEST).toSorted()).toEqual(clients.map(([name]) => name).toSorted())
  for (const [name, range] of clients) {
    const [lowest = ''] = /[\d.]+/.exec(range) ?? []
    expect([name, LOWEST[name]?.startsWith(lowest)]).toEqual([name, true])
  }
  expect(PROGRAMS.map(([client]) => client).toSorted()).toEqual(Object.keys(LOWEST).toSorted())
})
