import { beforeAll, describe, expect, it } from '@jest/globals'
import { bytesOf, ENGINE, foldersWith, MOST_BYTES, WITHOUT_ENGINE } from './kit/chunks.ts'

// lab/package asks the packed package the same.
describe('of the published files', () => {
  let folders: Awaited<ReturnType<typeof foldersWith>>

  beforeAll(async () => {
    const adapters = WITHOUT_ENGINE.map((name) => [name, `export * from './adapters/${name}/index.ts'`] as const)
    const alone = "export { defineConsumer } from './src/index.ts'"
    folders = await foldersWith({ ...Object.fromEntries(adapters), alone })
  }, 60_000)

  it('defineConsumer brings four, within the bytes that its page says', async () => {
    const brought = folders.get('alone') ?? []
    expect(brought).toEqual(['src/consumer', 'src/core', 'src/foundation', 'src/identity'])
    expect(await bytesOf(brought)).toBeLessThan(MOST_BYTES)
  })

  it.each(WITHOUT_ENGINE)('%s brings none of the engine', (name) => {
    expect(folders.get(name)).toContain(`adapters/${name}`)
    expect(folders.get(name)?.filter((folder) => ENGINE.some((of) => folder === `src/${of}`))).toEqual([])
  })
})
