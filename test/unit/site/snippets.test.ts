// No snippet of the documentation can rot: each is part of a file that runs, or output that a test compares.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import type { Command, Option } from 'commander'
import { newProgram } from '../../../cli/program.ts'
import { proseOf } from '../../../site/markdown.ts'
import { ALL_PAGES, blocksOf, regionsOf, type Block } from '../../kit/readme.ts'

const { scripts, peerDependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Readonly<
  Record<'scripts' | 'peerDependencies' | 'devDependencies', Readonly<Record<string, string>>>
>
const OF_SQS = JSON.parse(readFileSync('examples/sqs/package.json', 'utf8')) as {
  readonly dependencies: Readonly<Record<string, string>>
}
const BLOCKS = ALL_PAGES.flatMap((page) => blocksOf(page, readFileSync(page, 'utf8')))
/** `npm run examples` runs all but that of `sqs`, which lab/sqs runs with a server of its own. */
const EXAMPLES = ['', 'orm/', 'sqs/'].flatMap((folder) =>
  readdirSync(`examples/${folder}`)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}${name}`),
)

/** Code that no example can hold, by the page and its first line, and why. */
const NOT_EXAMPLES: ReadonlyMap<string, string> = new Map(
  ['/** Stands for your SMS provider, and keeps what it was asked to send. */', "import { it } from 'node:test'"].map(
    (line) => [`docs/first-hour.md: ${line}`, 'beside what init writes: lab/cli/first-hour.test.ts runs it'],
  ),
)

/** Tests that compare the output in the consoles of a page with that of a real run. */
const COMPARED_BY: Readonly<Record<string, string>> = {
  'README.md': 'lab/replay/page.test.ts',
  'docs/deploy.md': 'test/cli/console-pages.test.ts',
  'docs/migrate.md': 'test/cli/console-pages.test.ts',
  'docs/operations.md': 'test/cli/console-pages.test.ts',
  'docs/quick-start.md': 'test/cli/quick-starts.test.ts',
  'docs/replay.md': 'lab/replay/page.test.ts',
}

const inLanguage = (...languages: readonly string[]): readonly Block[] =>
  BLOCKS.filter(({ language }) => languages.includes(language))

const placeOf = ({ page, line }: Block): string => `${page}:${line}`

describe('a TypeScript snippet of the documentation', () => {
  it('is a region of an example that is run', () => {
    const others = inLanguage('ts', 'typescript', 'js', 'tsx').filter(({ page, source, text }) => {
      const [, file = '', region] = /^example: ([\w./-]+\.ts)(?: (\w+))?$/.exec(source ?? '') ?? []
      const isExample = EXAMPLES.includes(file) && text === regionsOf(file, region)
      return !isExample && !NOT_EXAMPLES.has(`${page}: ${text.split('\n')[0]}`)
    })
    expect(others.map((block) => `${placeOf(block)}: ${block.text.split('\n')[0]}`)).toEqual([])
  })

  it('is found', () => {
    expect(inLanguage('ts').length).toBeGreaterThan(70)
    const page = 'a\n\n```ts\nconst one = 1\n```\n\n- b\n\n  ```ts\n  const two = 2\n  ```\n'
    expect(blocksOf('p.md', page).map(({ line, language }) => [line, language])).toEqual([
      [3, 'ts'],
      [9, 'ts'],
    ])
  })
})

describe('an example', () => {
  const shown = new Set(inLanguage('ts').map(({ source }) => source))

  it.each(EXAMPLES)('%s marks only regions that a page shows', (file) => {
    const regions = [...readFileSync(`examples/${file}`, 'utf8').matchAll(/\/\/ #region (\w+)$/gm)].map(
      ([, region = '']) => (region === 'readme' ? `example: ${file}` : `example: ${file} ${region}`),
    )
    expect(regions.filter((region) => !shown.has(region))).toEqual([])
  })

  it('is run by `npm run examples`, whatever its name', () => {
    expect(scripts['examples']).toContain(String.raw`printf '%s\n' examples/*.ts examples/orm/*.ts | xargs`)
    expect(readFileSync('.ci/run', 'utf8')).toContain('npm run --silent with-servers -- npm run --silent examples')
  })
})

describe('the output of a command', () => {
  const withOutput = inLanguage('console').filter(({ text }) =>
    text.split('\n').some((line) => line !== '' && !line.startsWith('$ ')),
  )

  it.each([...new Set(withOutput.map(({ page }) => page))])('in %s is compared with a real run', (page) => {
    const test = COMPARED_BY[page]
    expect(test).toBeDefined()
    expect(readFileSync(test ?? '', 'utf8')).toMatch(new RegExp(page.replace(/^docs\//, '').replace(/\.md$/, '')))
  })
})

describe('a command', () => {
  const commands = inLanguage('sh', 'console', 'bash').flatMap((block) => commandsIn(block))

  it.each(commands.map((one) => [one.place, one.words.join(' '), one.words] as const))(
    '%s: %s can be typed',
    (_, __, words) => {
      expect(problemWith(words)).toBeUndefined()
    },
  )

  it('in a sentence names a command and options that exist', () => {
    const problems = ALL_PAGES.flatMap((page) => {
      const prose = proseOf(readFileSync(page, 'utf8'))
      return [...prose.matchAll(/`(?:npx )?(consume-once [^`]+)`/g)].flatMap(([, typed = '']) => {
        const problem = problemWithOptions(wordsOf(typed.replace(/ [|>] .*/, '')).slice(1))
        return problem === undefined ? [] : [`${page}: ${typed}: ${problem}`]
      })
    })
    expect(problems).toEqual([])
  })

  it('that cannot be typed is found', () => {
    const problems = [
      'npm run nothing',
      'npx consume-once look',
      'consume-once inspect a --nothing',
      'npx tsx examples/no.ts',
      'npm install left-pad',
      'make all',
    ].map((typed) => problemWith(wordsOf(typed)))
    expect(problems.filter((problem) => problem === undefined)).toEqual([])
  })
})

describe('a configuration', () => {
  it.each(inLanguage('json').map((block) => [placeOf(block), block] as const))('%s is JSON', (_, { text }) => {
    expect(() => JSON.parse(text) as unknown).not.toThrow()
  })

  it.each(inLanguage('yaml', 'yml').map((block) => [placeOf(block), block] as const))(
    '%s is YAML, and names files of the package',
    (_, { text }) => {
      expect(parse(text)).toEqual(expect.anything())
      const files = [...text.matchAll(/node_modules\/consume-once\/([\w./-]+)/g)].map(([, file = '']) => file)
      expect(files.filter((file) => !existsSync(file))).toEqual([])
    },
  )
})

it('no block is in a language that nothing checks', () => {
  const checked = ['ts', 'sh', 'console', 'json', 'yaml', 'mermaid', 'sql', '']
  expect(BLOCKS.filter(({ language }) => !checked.includes(language)).map(placeOf)).toEqual([])
})

interface Typed {
  readonly place: string
  readonly words: readonly string[]
}

/** What a person would type; comments and output left out. */
function commandsIn(block: Block): readonly Typed[] {
  const lines = block.text.split('\n').filter((line) => line.trim() !== '')
  const typed = block.language === 'console' ? lines.flatMap((line) => /^\$ (.*)$/.exec(line)?.[1] ?? []) : lines
  return typed.flatMap((line) =>
    line
      .replace(/(^|\s)#.*$| [|>] .*$| &$/, '')
      .replace(/^(?:[A-Z_]+=\S+ )+/, '')
      .split(' && ')
      .map((one) => ({ place: placeOf(block), words: wordsOf(one) }))
      .filter(({ words }) => words.length > 0),
  )
}

/** As a shell takes them apart. */
function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

/** `undefined`: it would work. */
function problemWith([program, ...rest]: readonly string[]): string | undefined {
  switch (program) {
    case 'npx':
      return problemWith(rest)
    case 'consume-once':
      return problemWithOptions(rest)
    case 'npm':
      return problemWithNpm(rest)
    case 'jest':
      return rest.every(hasTests) ? undefined : 'no test has this path'
    case 'node':
    case 'tsx': {
      const file = rest.findLast((word) => !word.startsWith('-')) ?? ''
      return existsSync(file) || isMadeOnThePage(file) ? undefined : `no file ${file}`
    }
    case 'docker': {
      const file = rest[rest.indexOf('-f') + 1]?.replace('node_modules/consume-once/', '') ?? ''
      return existsSync(file) ? undefined : `no file ${file}`
    }
    case 'kill':
    case 'curl':
    case 'promtool':
      return undefined
    case 'mkdir':
    case 'cd':
      return rest.length === 1 ? undefined : 'one folder expected'
    case undefined:
    default:
      return `nothing is known of ${program}`
  }
}

/** Jest takes a part of a path. */
function hasTests(path: string): boolean {
  return readdirSync(dirname(path)).some((name) => name.startsWith(basename(path)))
}

function problemWithNpm([what, ...names]: readonly string[]): string | undefined {
  switch (what) {
    case 'ci':
    case 'init':
      return undefined
    case 'run':
      return names[0] !== undefined && names[0] in scripts ? undefined : `no script ${names[0]}`
    case 'install': {
      const known = { ...peerDependencies, ...devDependencies, ...OF_SQS.dependencies, 'consume-once': '' }
      const unknown = names.filter((name) => !name.startsWith('-') && !(name in known))
      return unknown.length === 0 ? undefined : `no package of ours, and none that it works with: ${unknown.join(', ')}`
    }
    case undefined:
    default:
      return `nothing is known of npm ${what}`
  }
}

/** The files that a quick start has its reader write, and those of init. */
function isMadeOnThePage(file: string): boolean {
  return ['payments.mts', 'sms.mts', 'sms.test.ts', 'worker.ts', 'send-twice.ts'].includes(file)
}

/** Nothing is run: commands and options are looked up in those of the tool. */
function problemWithOptions(words: readonly string[]): string | undefined {
  let command: Command = newProgram(() => {})
  const rest = [...words]
  for (let next = childOf(command, rest[0]); next !== undefined; next = childOf(command, rest[0])) {
    command = next
    rest.shift()
  }
  if (command.commands.length > 0 && rest[0] !== undefined && /^[a-z-]+$/.test(rest[0])) {
    return `${command.name()} has no command ${rest[0]}`
  }
  const known = new Set(command.options.flatMap(({ short, long }: Option) => [short, long]))
  const given = rest.slice(0, rest.includes('--') ? rest.indexOf('--') : rest.length)
  const unknown = given.filter((word) => /^--?[a-z]/.test(word) && !known.has(word) && word !== '--help')
  return unknown.length === 0 ? undefined : `${command.name()} has no option ${unknown.join(', ')}`
}

function childOf(command: Command, name: string | undefined): Command | undefined {
  return command.commands.find((child) => child.name() === name)
}
