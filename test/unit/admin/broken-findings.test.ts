import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { checkFindings, refusalsOf } from '../../../src/internal.ts'

const ROOT = join(__dirname, '../../..')
const MAKER = 'src/foundation/check-findings.ts'

describe('a finding that doctor calls broken', () => {
  const { broken, weaker, weakerByDefault, unknown, holds } = checkFindings('server', {
    'disk full': { startsBecause: 'It is emptied soon.' },
    role: 'refused',
  })

  it('is a reason not to start, unless the table of its server says why the start goes on', () => {
    const accepted = broken('disk full', 'full', 'Nothing is written.')
    expect(accepted).toEqual({
      check: 'server.disk',
      verdict: 'broken',
      found: 'full',
      meaning: 'Nothing is written.',
      startsBecause: 'It is emptied soon.',
    })
    const others = [weaker('a', 'b', 'c'), unknown('a', 'b', 'c'), holds('a', 'b')]
    expect(refusalsOf([accepted, ...others, broken('role', 'role replica', 'Take the primary.')])).toEqual([
      'role replica. Take the primary.',
    ])
  })

  it('is told apart from one that only is what the server has where nobody sets it', () => {
    expect(weakerByDefault('a', 'b', 'c')).toEqual({ ...weaker('a', 'b', 'c'), isServerDefault: true })
    expect(refusalsOf([weakerByDefault('a', 'b', 'c')])).toEqual([])
  })

  it('is made by nothing but the function that asks that table', () => {
    const files = ['src', 'adapters'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => join(folder, name)),
    )
    expect(files).toContain(MAKER)
    const others = files.filter((file) => /verdict: ['"]broken/.test(readFileSync(join(ROOT, file), 'utf8')))
    expect(others).toEqual([MAKER])
  })
})
