import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'

const EXAMPLES = 'examples'
const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly files: readonly string[] }

/** Written by `prisma generate`, on the reader's machine too. */
const GENERATED = `${EXAMPLES}/prisma/client/`

/** By the ways that `files` of package.json names them: a whole folder, a file, all of a folder with one ending. */
function isPacked(path: string): boolean {
  return files.some((entry) => {
    const [folder = '', ending] = entry.split('*')
    if (ending === undefined) return path === entry || path.startsWith(`${entry}/`)
    return path.startsWith(folder) && path.endsWith(ending) && !path.slice(folder.length).includes('/')
  })
}

describe('an example in the package', () => {
  const packed = readdirSync(EXAMPLES).filter((name) => name.endsWith('.ts') && isPacked(`${EXAMPLES}/${name}`))

  it('is found', () => {
    expect(packed).toContain('kafka-replay.ts')
  })

  it.each(packed)('reads and imports only files that are in the package: %s', (name) => {
    const text = readFileSync(`${EXAMPLES}/${name}`, 'utf8')
    const imports = [...text.matchAll(/from '\.\/([^']+)'/g)]
    const reads = [...text.matchAll(/new URL\('([^':]+)', import\.meta\.url\)/g)]
    const paths = [...imports, ...reads].map(([, path]) => `${EXAMPLES}/${path}`)
    expect(paths.filter((path) => existsSync(path) && !isPacked(path) && !path.startsWith(GENERATED))).toEqual([])
  })
})
