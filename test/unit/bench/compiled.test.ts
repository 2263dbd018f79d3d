import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { withFilesOfToday } from '../../../bench/compiled.ts'

describe('the tree of an older commit', () => {
  let tree = ''
  afterEach(() => rmSync(tree, { recursive: true }))

  it('has what contenders import today, as far as it had that under another name', () => {
    tree = mkdtempSync(join(tmpdir(), 'consume-once-tree-'))
    const had = ['adapters/redis/ioredis/index.ts', 'src/index.ts', 'src/memory/index.ts']
    for (const file of had) {
      mkdirSync(dirname(join(tree, file)), { recursive: true })
      writeFileSync(join(tree, file), 'its own')
    }
    withFilesOfToday(tree)
    expect(readFileSync(join(tree, 'adapters/redis/index.ts'), 'utf8')).toBe("export * from './ioredis/index.ts'\n")
    expect(readFileSync(join(tree, 'src/memory/index.ts'), 'utf8')).toBe('its own')
    expect(readFileSync(join(tree, 'package.json'), 'utf8')).toContain('"./redis"')
  })
})
