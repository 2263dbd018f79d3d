import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire } from 'node:module'
import { describe, expect, it } from '@jest/globals'

interface Environment {
  teardown(): Promise<void>
}
type EnvironmentClass = new (config: object, context: object) => Environment

const Environment = createRequire(import.meta.url)('../../kit/environment.cjs') as EnvironmentClass

const newEnvironment = (): Environment =>
  new Environment(
    { globalConfig: {}, projectConfig: { testEnvironmentOptions: {}, fakeTimers: {} } },
    { console, docblockPragmas: {}, testPath: import.meta.filename },
  )

describe('the environment of a test file', () => {
  it.each(['run', 'enterWith'] as const)('ends the storages that were started in the file: %s', async (start) => {
    const [before, within] = [new AsyncLocalStorage<number>(), new AsyncLocalStorage<number>()]
    await before.run(1, async () => {
      const environment = newEnvironment()
      const ended = async (): Promise<void> => {
        expect(within.getStore()).toBe(2)
        await environment.teardown()
        expect(within.getStore()).toBeUndefined()
        expect(before.getStore()).toBe(1)
      }
      if (start === 'run') return within.run(2, ended)
      within.enterWith(2)
      return ended()
    })
    expect(within.run(3, () => within.getStore())).toBe(3)
  })
})
