import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Strangers, WITHIN_MS } from './installed.ts'

const strangers = new Strangers()
beforeAll(async () => {
  await strangers.pack()
  for (const copy of ['one', 'two']) {
    strangers.write(`${copy}/README.md`, '')
    await strangers.run(copy, 'tar', ['-xzf', strangers.tarball])
  }
}, WITHIN_MS)
afterAll(() => strangers[Symbol.dispose]())

it(
  'a consumer of one copy is refused by the other with what to do',
  async () => {
    const program = `
    const { defineConsumer } = require('./one/package/dist/index.js')
    const { MemoryBroker, memoryStore, runMemory } = require('./two/package/dist/memory.js')
    const sms = defineConsumer({ name: 'sms', id: () => '1', store: memoryStore(), handle() {} })
    void (async () => {
      try {
        await runMemory(new MemoryBroker(), sms, { topic: 'sms', group: 'sms' })
      } catch (error) {
        console.log(error.message)
      }
    })()
  `
    const told = await strangers.run('.', 'node', ['-e', program])
    expect(told).toContain('got that of another copy of consume-once; npm ls consume-once')
  },
  WITHIN_MS,
)
